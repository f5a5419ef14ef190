package server

import (
	"errors"
	"fmt"

	"seen/internal/store"
)

const (
	noTopK         = "TopK: key does not exist"
	topKExists     = "TopK: key already exists"
	topKNoMemory   = "ERR Insufficient memory to create topk data structure"
	topKNotCreated = "ERR could not create the top-k"
	noWithCount    = "WITHCOUNT keyword expected"
)

// topK returns the top-k of the key, or writes an error.
func (c *call) topK() (*store.TopK, bool) {
	v := c.store().Get(c.args[1])
	t, ok := v.(*store.TopK)
	if !ok {
		c.notThere(v, noTopK)
	}
	return t, ok
}

func topkReserve(c *call) {
	if len(c.args) != 3 && len(c.args) != 6 {
		c.out.Error(wrongArity(c.args))
		return
	}
	for !c.taken(c.args[1], anything, topKExists) {
		o, problem := parseTopKReserve(c.args)
		if problem != "" {
			c.out.Error(problem)
			return
		}
		_, at, err := c.store().CreateTopK(c.args[1], store.TopKConfig{K: int(o.k), Width: int(o.width), Depth: int(o.depth), Decay: o.decay})
		c.after(at)
		switch {
		case err == nil:
			c.out.OK()
			return
		case errors.Is(err, store.ErrExists):
			continue
		case errors.Is(err, store.ErrMemory) && c.store().MaxMemory() == 0:
			c.out.Error(topKNoMemory)
		case refusesAll(err):
			c.out.Error(storeError(err))
		default:
			c.out.Error(fmt.Sprintf("%s: %s", topKNotCreated, err))
		}
		return
	}
}

func topkAdd(c *call) {
	c.addToTopK(func() (keys [][]byte, by []uint32, problems []string) { return c.args[2:], nil, nil })
}

// topkIncrBy counts every pair that is right and answers each that is not with an
// error in its place, so that there are as many answers as were announced.
func topkIncrBy(c *call) {
	if len(c.args)%2 != 0 {
		c.out.Error(wrongArity(c.args))
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

// addToTopK counts keys and writes, for each, the key that left the list because
// of it, or nothing. Where there are problems, one for each answer, the keys are
// those without.
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
		failed := func(from int) int { // writes the errors that come next
			for from < len(problems) && problems[from] != "" {
				c.out.Error(problems[from])
				from++
			}
			return from
		}
		next := failed(0)
		done, err := 0, error(nil)
		c.together(len(keys), func() {
			stopped := c.inParts(len(keys), t.AddCost(by), func(from, to int) bool {
				var at store.LSN
				var times []uint32
				if by != nil {
					times = by[from:to]
				}
				at, err = t.Add(keys[from:to], times, func(_ int, expelled []byte, ok bool) {
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
				return err == nil
			})
			if err == nil {
				err = stopped
			}
		})
		if err == nil {
			return
		}
		c.out.Truncate(start)
		if !errors.Is(err, store.ErrGone) || done > 0 { // it is not to count the first ones again
			c.out.Error(storeError(err))
			return
		}
	}
}

func topkQuery(c *call) {
	t, ok := c.topK()
	if !ok {
		return
	}
	found := c.answers(len(c.args) - 2)
	depth := func() int { return t.Config().Depth }
	if c.ask(len(found), depth, func(from, to int) store.LSN { return t.Has(found[from:to], c.args[2+from:2+to]) }) {
		c.bools(found)
	}
}

func topkCount(c *call) {
	t, ok := c.topK()
	if !ok {
		return
	}
	counts := make([]uint32, len(c.args)-2)
	depth := func() int { return t.Config().Depth }
	if !c.ask(len(counts), depth, func(from, to int) store.LSN { return t.Count(counts[from:to], c.args[2+from:2+to]) }) {
		return
	}
	c.out.Array(len(counts))
	for _, n := range counts {
		c.out.Int(int64(n))
	}
}

func topkList(c *call) {
	if len(c.args) > 3 {
		c.out.Error(wrongArity(c.args))
		return
	}
	t, ok := c.topK()
	if !ok {
		return
	}
	withCount := len(c.args) == 3
	if withCount && !isWord(c.args[2], "WITHCOUNT") {
		c.out.Error(noWithCount)
		return
	}
	entries, at := t.List()
	c.after(at)
	if !withCount {
		c.out.Array(len(entries))
		for _, e := range entries {
			c.out.Bulk(e.Key)
		}
		return
	}
	c.out.Array(2 * len(entries))
	for _, e := range entries {
		c.out.Bulk(e.Key)
		c.out.Int(int64(e.Count))
	}
}

func topkInfo(c *call) {
	t, ok := c.topK()
	if !ok {
		return
	}
	c.after(t.LSN())
	o := t.Config()
	c.out.Map(4)
	for _, field := range []integer{{"k", uint64(o.K)}, {"width", uint64(o.Width)}, {"depth", uint64(o.Depth)}} {
		c.out.Simple(field.name)
		c.out.Int(int64(field.n))
	}
	c.out.Simple("decay")
	c.out.Double(o.Decay)
}
