package server

import (
	"math"

	"seen/internal/store"
)

const countMinSaturated = math.MaxUint32

var cmsQueryCommand = command{
	name: "cms.query", arity: -3, flags: slowReader, handle: cmsQuery, since: "2.0.0", complexity: "O(n * d), n items and d rows",
	summary: "Estimates how often items were counted in a count-min sketch.",
	syntax:  "key item [item ...]",
}

func cmsQuery(c *call) {
	if s, ok := c.countMin(c.args[1]); ok {
		c.askCounts(s.Depth, s.Count)
	}
}

// askCounts replies with the estimates of count for the items of the command.
func (c *call) askCounts(units func() int, count func(counts []uint32, keys [][]byte) store.LSN) {
	counts := make([]uint32, len(c.args)-2)
	if c.ask(len(counts), units, func(from, to int) store.LSN { return count(counts[from:to], c.args[2+from:2+to]) }) {
		c.counts(counts, "")
	}
}

// counts replies with estimates. If overflow is not "", it is the error for a counter that
// has reached its maximum.
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

var cmsInfoCommand = command{
	name: "cms.info", arity: 2, flags: slowReader, handle: shows(func(c *call) (*store.CountMin, bool) { return c.countMin(c.args[1]) }, cmsInfo), since: "2.0.0", complexity: "O(1)",
	summary: "Describes a count-min sketch.",
	syntax:  "key",
}

func cmsInfo(c *call, s *store.CountMin) {
	c.integers(3, []integer{{"width", s.Width()}, {"depth", uint64(s.Depth())}, {"count", s.Total()}})
}
