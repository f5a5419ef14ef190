package cluster

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"
)

// makeSlices creates the slices of a layer. One command makes a slice whole: adding
// 0 to its last byte gives it its length, and changes nothing in a slice that is
// there.
func (c *core) makeSlices(ctx context.Context, l *layer, expireAt int64) error {
	last := strconv.FormatUint((l.sliceBytes()-1)*8, 10)
	epoch := strconv.FormatUint(uint64(l.head)>>8, 10)
	layer := strconv.Itoa(l.index)
	var numbers text
	err := c.eachSlice(ctx, l, func(key string) rueidis.Completed {
		return c.client.B().Arbitrary("BITFIELD").Keys(key).Args(
			"INCRBY", "u8", last, "0",
			"SET", "u56", epochAt, epoch,
			"SET", "u32", layerAt, layer,
			"SET", "u32", indexAt, numbers.number(l.indexOf(key)),
		).Build()
	}, nil)
	if err != nil || expireAt == 0 {
		return err
	}
	return c.eachSlice(ctx, l, c.expireCommand(expireAt), nil)
}

// indexOf returns the index of the slice of the given key, which is of this layer.
func (l *layer) indexOf(key string) (index uint64) {
	for _, digit := range []byte(key[len(l.prefix):]) {
		index = index*10 + uint64(digit-'0')
	}
	return index
}

// expireCommand returns the command that makes a key expire at the given time.
func (c *core) expireCommand(at int64) func(key string) rueidis.Completed {
	return func(key string) rueidis.Completed {
		return c.client.B().Pexpireat().Key(key).MillisecondsTimestamp(at).Build()
	}
}

// seal marks all slices of a layer, so that nothing is decided in them any more.
func (c *core) seal(ctx context.Context, l *layer) error {
	return c.eachSlice(ctx, l, func(key string) rueidis.Completed {
		return c.client.B().Arbitrary("BITFIELD").Keys(key).Args(
			"GET", "i64", epochAt, "SET", "u8", stateAt, strconv.Itoa(stateSealed),
		).Build()
	}, func(key string, r rueidis.RedisResult) error {
		answers, err := r.AsIntSlice()
		if err != nil {
			return explain(key, err)
		}
		if !l.owns(answers[0]) {
			return missingSlice(key)
		}
		return nil
	})
}

// owns reports whether head is that of a slice of the layer, open or sealed.
func (l *layer) owns(head int64) bool { return head>>8 == l.head>>8 }

// unlink deletes the slices of a generation, those that are only being made
// included.
func (c *core) unlink(ctx context.Context, g *generation) error {
	for i := range g.Layers {
		err := c.eachSlice(ctx, c.newLayer(g, i, false), func(key string) rueidis.Completed {
			return c.client.B().Unlink().Key(key).Build()
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}
