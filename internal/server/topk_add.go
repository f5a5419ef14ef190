package server

import (
	"errors"

	"seen/internal/server/args"
	"seen/internal/store"
)

var topkAddCommand = command{
	name: "topk.add", arity: -3, flags: writer, handle: topkAdd, since: "2.0.0", complexity: "O(n * (k + d)), n items and d rows",
	summary: "Counts items in a top-k.",
	syntax:  "key item [item ...]",
}

var topkIncrByCommand = command{
	name: "topk.incrby", arity: -4, flags: writer, handle: topkIncrBy, since: "2.0.0", complexity: "O(n * (k + d * i)), n items, d rows and the increment i",
	summary: "Counts each item in a top-k several times.",
	syntax:  "key item increment [item increment ...]",
}

func topkAdd(c *call) {
	c.addToTopK(func() (keys [][]byte, by []uint32, problems []string) { return c.args[2:], nil, nil })
}

// topkIncrBy counts every correct pair and replies to each wrong pair with an error in its
// place, so that the number of answers is as announced.
func topkIncrBy(c *call) {
	if len(c.args)%2 != 0 {
		c.wrongArity()
		return
	}
	c.addToTopK(func() (keys [][]byte, by []uint32, problems []string) {
		for pairs := c.args[2:]; len(pairs) > 0; pairs = pairs[2:] {
			n, problem := parseIncrement(pairs[1])
			if problem == "" {
				keys, by = append(keys, pairs[0]), append(by, n)
			}
			problems = append(problems, problem)
		}
		return keys, by, problems
	})
}

// addToTopK counts keys and replies, for each, with the key that it displaced, or null.
// problems has an entry for each answer; keys are those without a problem.
func (c *call) addToTopK(parse func() (keys [][]byte, by []uint32, problems []string)) {
	for {
		t, ok := c.topK()
		if !ok {
			return
		}
		keys, by, problems := parse()
		start := c.out.Len()
		if problems == nil {
			problems = make([]string, len(keys))
		}
		c.out.Array(len(problems))
		failed := func(from int) int { // writes the next errors
			for from < len(problems) && problems[from] != "" {
				c.out.Error(problems[from])
				from++
			}
			return from
		}
		next := failed(0)
		done, err := 0, error(nil)
		c.together(len(keys), func() {
			err = c.inParts(len(keys), t.AddCost(by), func(from, to int) error {
				var times []uint32
				if by != nil {
					times = by[from:to]
				}
				at, err := t.Add(keys[from:to], times, func(_ int, expelled []byte, ok bool) {
					if ok {
						c.out.Bulk(expelled)
					} else {
						c.out.Null()
					}
					next = failed(next + 1)
				})
				c.after(at)
				if err == nil {
					done = to
				}
				return err
			})
		})
		if err == nil {
			return
		}
		c.out.Truncate(start)
		if !errors.Is(err, store.ErrGone) || done > 0 { // retrying would count the first items twice
			c.out.Error(c.storeError(err))
			return
		}
	}
}

// maxIncrement is the largest increment of TOPK.INCRBY.
const maxIncrement = 100_000

const badIncrement = "TopK: increment must be an integer greater or equal to 0 and smaller or equal to 100,000"

func parseIncrement(arg []byte) (n uint32, problem string) {
	increment, ok := args.Int(arg, 0, maxIncrement)
	if !ok {
		return 0, badIncrement
	}
	return uint32(increment), ""
}
