package server

import (
	"errors"
	"math"

	"seen/internal/store"
)

const (
	countMinExists    = "CMS: key already exists"
	countMinNoMemory  = "CMS: Insufficient memory to create the key"
	countMinOverflow  = "CMS: INCRBY overflow"
	mergeOverflow     = "CMS: MERGE overflow"
	countMinUnlike    = "CMS: width/depth is not equal"
	countMinSaturated = math.MaxUint32
)

// countMin returns the sketch of the key, or writes an error.
func (c *call) countMin(key []byte) (*store.CountMin, bool) {
	v := c.store().Get(key)
	s, ok := v.(*store.CountMin)
	if !ok {
		c.notThere(v, noCountMin)
	}
	return s, ok
}

func cmsInitByDim(c *call)  { c.initCountMin(parseCountMinByDim) }
func cmsInitByProb(c *call) { c.initCountMin(parseCountMinByProb) }

// anything is for commands that say of every value that it is there already.
func anything(store.Value) bool { return true }

func (c *call) initCountMin(parse func(args [][]byte) (width, depth int64, problem string)) {
	for !c.taken(c.args[1], anything, countMinExists) {
		width, depth, problem := parse(c.args)
		if problem != "" {
			c.out.Error(problem)
			return
		}
		_, at, err := c.store().CreateCountMin(c.args[1], store.CountMinConfig{Width: uint64(width), Depth: int(depth)})
		c.after(at)
		switch {
		case err == nil:
			c.out.OK()
			return
		case errors.Is(err, store.ErrExists):
			continue
		case refusesAll(err) && !(errors.Is(err, store.ErrMemory) && c.store().MaxMemory() == 0):
			c.out.Error(storeError(err))
		default: // so many counters that no machine has the memory
			c.out.Error(countMinNoMemory)
		}
		return
	}
}

func cmsIncrBy(c *call) {
	if len(c.args)%2 != 0 {
		c.out.Error(wrongArity(c.args))
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
			stopped := c.inParts(len(items), s.Depth, func(from, to int) bool {
				var at store.LSN
				if at, err = s.Increment(counts[from:to], items[from:to], increments[from:to]); err == nil {
					done = to
				}
				c.after(at)
				return err == nil
			})
			if err == nil {
				err = stopped
			}
		})
		switch {
		case err == nil:
			c.counts(counts, countMinOverflow)
			return
		case !errors.Is(err, store.ErrGone) || done > 0: // it is not to count the first ones again
			c.out.Error(storeError(err))
			return
		}
	}
}

// counts writes estimates. One that has reached the end of its counters is an
// error, if overflow says which.
func (c *call) counts(counts []uint32, overflow string) {
	c.out.Array(len(counts))
	for _, n := range counts {
		if n == countMinSaturated && overflow != "" {
			c.out.Error(overflow)
		} else {
			c.out.Int(int64(n))
		}
	}
}

func cmsQuery(c *call) {
	s, ok := c.countMin(c.args[1])
	if !ok {
		return
	}
	counts := make([]uint32, len(c.args)-2)
	if c.ask(len(counts), s.Depth, func(from, to int) store.LSN { return s.Count(counts[from:to], c.args[2+from:2+to]) }) {
		c.counts(counts, "")
	}
}

func cmsMerge(c *call) {
	m, problem := parseCountMinMerge(c.args)
	if problem != "" {
		c.out.Error(problem)
		return
	}
	for {
		dest, ok := c.countMin(c.args[1])
		if !ok {
			return
		}
		sources, weights, ok := c.mergeSources(dest, m)
		if !ok {
			return
		}
		at, err := c.store().MergeCountMin(c.work, dest, sources, weights)
		c.after(at)
		switch {
		case err == nil:
			c.out.OK()
		case errors.Is(err, store.ErrGone):
			continue
		case errors.Is(err, store.ErrOverflow):
			c.out.Error(mergeOverflow)
		case errors.Is(err, store.ErrUnlike):
			c.out.Error(countMinUnlike)
		default:
			c.out.Error(storeError(err))
		}
		return
	}
}

// mergeSources returns what is to be added up, or writes an error.
func (c *call) mergeSources(dest *store.CountMin, m countMinMerge) (sources []*store.CountMin, weights []int64, ok bool) {
	for i, name := range m.sources {
		weight, problem := m.weight(i)
		if problem != "" {
			c.out.Error(problem)
			return nil, nil, false
		}
		source, ok := c.countMin(name)
		if !ok {
			return nil, nil, false
		}
		c.after(source.LSN())
		if source.Width() != dest.Width() || source.Depth() != dest.Depth() {
			c.out.Error(countMinUnlike)
			return nil, nil, false
		}
		sources, weights = append(sources, source), append(weights, weight)
	}
	return sources, weights, true
}

func cmsInfo(c *call) {
	s, ok := c.countMin(c.args[1])
	if !ok {
		return
	}
	c.after(s.LSN())
	c.integers([]integer{{"width", s.Width()}, {"depth", uint64(s.Depth())}, {"count", s.Total()}})
}
