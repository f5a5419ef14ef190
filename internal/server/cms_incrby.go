package server

import (
	"errors"

	"seen/internal/resp"
	"seen/internal/store"
)

const countMinOverflow = "CMS: INCRBY overflow"

var cmsIncrByCommand = command{
	name: "cms.incrby", arity: -4, flags: writer, handle: cmsIncrBy, since: "2.0.0", complexity: "O(n * d), n items and d rows",
	summary: "Counts items in a count-min sketch.",
	syntax:  "key item increment [item increment ...]",
}

func cmsIncrBy(c *call) {
	if len(c.args)%2 != 0 {
		c.wrongArity()
		return
	}
	for {
		s, ok := c.countMin(c.args[1])
		if !ok {
			return
		}
		items, increments, problem := parseCounts(c.args)
		if problem != "" {
			c.out.Error(problem)
			return
		}
		counts, done := make([]uint32, len(items)), 0
		var err error
		c.together(len(items), func() {
			err = c.inParts(len(items), s.Depth, func(from, to int) error {
				at, err := s.Increment(counts[from:to], items[from:to], increments[from:to])
				if err == nil {
					done = to
				}
				c.after(at)
				return err
			})
		})
		switch {
		case err == nil:
			c.counts(counts, countMinOverflow)
			return
		case !errors.Is(err, store.ErrGone) || done > 0: // retrying would count the first items twice
			c.out.Error(c.storeError(err))
			return
		}
	}
}

// parseCounts reads the pairs of
//
//	CMS.INCRBY key item increment [item increment ...]
//
// into items and increments.
func parseCounts(words [][]byte) (items [][]byte, increments []uint64, problem string) {
	pairs := words[2:]
	items, increments = make([][]byte, 0, len(pairs)/2), make([]uint64, 0, len(pairs)/2)
	for ; len(pairs) > 1; pairs = pairs[2:] {
		n, ok := resp.ParseInt(pairs[1])
		if !ok {
			return nil, nil, "CMS: Cannot parse number"
		}
		if n < 0 {
			return nil, nil, "CMS: Number cannot be negative"
		}
		items, increments = append(items, pairs[0]), append(increments, uint64(n))
	}
	return items, increments, ""
}
