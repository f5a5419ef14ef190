package server

import (
	"math"

	"seen/internal/store"
	"seen/sizing"
)

var bfCardCommand = command{
	name: "bf.card", arity: 2, flags: reader, handle: bfCard, since: "2.4.4", complexity: "O(l), l layers",
	summary: "Counts the items that were new to a Bloom filter.",
	syntax:  "key",
}

var bfUnionCardCommand = command{
	name: "bf.unioncard", arity: -2, flags: slowReader | flagHeavy, first: 1, last: -1, step: 1, handle: bfUnionCard, since: "1.0.0",
	complexity: "O(n * m), n filters of m bits",
	summary:    "Estimates how many items are in any of several Bloom filters.",
	syntax:     "key [key ...]",
}

var bfInterCardCommand = command{
	name: "bf.intercard", arity: -2, flags: slowReader | flagHeavy, first: 1, last: -1, step: 1, handle: bfInterCard, since: "1.0.0",
	complexity: "O(2^n * m), n filters of m bits",
	summary:    "Estimates how many items are in all of several Bloom filters.",
	syntax:     "key [key ...]",
}

func bfCard(c *call) {
	switch v := c.look(c.args[1]).(type) {
	case nil:
		c.out.Int(0)
	case store.Filter:
		c.out.Int(int64(v.Info().Added))
	default:
		c.out.Error(wrongType)
	}
}

// maxIntersected is the largest number of filters for BF.INTERCARD, a limit of the store.
const maxIntersected = 6

func bfUnionCard(c *call) {
	filters, _, ok := c.filters(c.args[1:])
	if !ok {
		return
	}
	c.cardinality(c.unionCard(filters))
}

func (c *call) unionCard(filters []store.Filter) (sizing.Estimate, error) {
	switch len(filters) {
	case 0:
		return sizing.Estimate{}, nil
	case 1: // its keys are counted
		return sizing.Estimate{Value: float64(filters[0].Info().Added)}, nil
	}
	n, at, err := c.store().UnionCardinality(c.work, filters...)
	c.after(at)
	return n, err
}

func bfInterCard(c *call) {
	filters, missing, ok := c.filters(c.args[1:])
	switch {
	case !ok:
	case len(filters) > maxIntersected:
		c.out.Error("ERR too many filters; BF.INTERCARD takes at most 6")
	case missing: // a missing filter has no keys
		c.out.Int(0)
	case len(filters) == 1:
		c.cardinality(c.unionCard(filters))
	default:
		n, at, err := c.store().IntersectionCardinality(c.work, filters...)
		c.after(at)
		c.cardinality(n, err)
	}
}

// cardinality replies with an estimate.
func (c *call) cardinality(n sizing.Estimate, err error) {
	switch {
	case err != nil:
		c.out.Error(c.storeError(err, own{store.ErrStopped, ""}, own{errAnyOther, "ERR filters cannot be compared: "}))
	case !n.Known():
		c.out.Error("ERR the filter is full: the number of its keys can no longer be estimated")
	default:
		c.out.Int(int64(math.Round(n.Value)))
	}
}

// filters returns the filters that exist among the names, each once. If a value has
// another type, it writes the error and reports false.
func (c *call) filters(names [][]byte) (filters []store.Filter, missing, ok bool) {
	known := map[store.Filter]bool{}
	for _, name := range names {
		switch v := c.look(name).(type) {
		case nil:
			missing = true
		case store.Filter:
			if !known[v] {
				known[v] = true
				filters = append(filters, v)
			}
		default:
			c.out.Error(wrongType)
			return nil, false, false
		}
	}
	return filters, missing, true
}
