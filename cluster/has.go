package cluster

import "context"

// mostRounds bounds how often a call starts again because another client has changed the
// filter meanwhile.
const mostRounds = 1000

// Has reports for each key whether it may have been added, to a window within the last
// span. False is certain; true is wrong with the filter's error rate. Errors are those of
// [Filter.Add]; nothing is changed. A call costs one round trip to each node.
func (c *core) Has(ctx context.Context, keys ...[]byte) ([]bool, error) {
	return c.HasHashes(ctx, c.hashes(keys))
}

// HasHashes is Has for keys of the given hashes.
func (c *core) HasHashes(ctx context.Context, hs []uint64) ([]bool, error) {
	return inBatches(hs, func(b *batch) {
		forgotten, err := c.look(ctx)
		if err != nil {
			b.failAll(err)
			return
		}
		b.startAfter(forgotten)
		c.hasBatch(ctx, b)
	})
}

func (c *core) hasBatch(ctx context.Context, b *batch) {
	s := c.current.Load()
	for round := 0; len(b.items) > 0; round++ {
		if err := ctx.Err(); err != nil {
			b.failAll(err)
			return
		}
		b.beginRound()
		b.read(ctx, c, s)
		b.keep(func(it *item) bool {
			switch {
			case it.found != nowhere:
				b.answers[it.at] = true
			case it.doubt == failed:
				b.undecide(it)
			case it.doubt == lost, it.doubt == sealed && !s.record.Fixed:
				return true
			}
			// Others may add the key, but it was not there when the call began.
			return false
		})
		if len(b.items) == 0 {
			return
		}
		next, err := c.refresh(ctx)
		switch {
		case err != nil:
			b.failAll(err)
		case next != s && round < mostRounds:
			b.restart(s, next)
			s = next
		case b.missing != nil:
			b.keep(func(it *item) bool {
				if it.doubt == lost {
					b.fail(it, b.missing)
				}
				return false
			})
		default:
			b.items = b.items[:0]
		}
	}
}

// restart prepares the items to be read again in the snapshot next, in place of before.
func (b *batch) restart(before, next *snapshot) {
	if next.follows(before) {
		return
	}
	for i := range b.items {
		b.items[i].after, b.items[i].found, b.items[i].late = b.from, nowhere, false
	}
}
