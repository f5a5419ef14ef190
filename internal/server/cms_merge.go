package server

import (
	"seen/internal/resp"
	"seen/internal/server/acl"
	"seen/internal/server/args"
	"seen/internal/store"
)

const (
	mergeOverflow  = "CMS: MERGE overflow"
	countMinUnlike = "CMS: width/depth is not equal"
)

var cmsMergeCommand = command{
	name: "cms.merge", arity: -4, flags: writer | flagHeavy, handle: cmsMerge, keys: mergedKeys, since: "2.0.0", complexity: "O(n * w * d), n sketches of d rows of w counters",
	summary: "Sets a count-min sketch to the weighted sum of others.",
	syntax:  "destination numKeys source [source ...] [WEIGHTS weight [weight ...]]",
}

// mergedKeys finds the keys of CMS.MERGE if its words are correct.
func mergedKeys(words [][]byte, key func(at int, a acl.Access)) {
	key(1, acl.Reads|acl.Writes)
	if m, problem := parseCountMinMerge(words); problem == "" {
		for i := range m.sources {
			key(3+i, acl.Reads)
		}
	}
}

func cmsMerge(c *call) {
	m, problem := parseCountMinMerge(c.args)
	if c.failed(problem) {
		return
	}
	var sources []*store.CountMin
	var weights []int64
	alter(c, func() (dest *store.CountMin, ok bool) {
		if dest, ok = c.countMin(c.args[1]); ok {
			sources, weights, ok = c.mergeSources(dest, m)
		}
		return dest, ok
	}, func(dest *store.CountMin) (store.LSN, error) {
		return c.store().MergeCountMin(c.work, dest, sources, weights)
	}, own{store.ErrOverflow, mergeOverflow}, own{store.ErrUnlike, countMinUnlike})
}

// mergeSources returns the sketches to add up and their weights, or writes an error.
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

// countMinMerge has the sources of CMS.MERGE.
type countMinMerge struct {
	sources [][]byte
	weights [][]byte // not parsed yet, one for each source; nil: all are 1
}

// parseCountMinMerge reads the shape of
//
//	CMS.MERGE destination numKeys source [source ...] [WEIGHTS weight [weight ...]]
//
// The method weight parses the weights later, because errors of the keys come first.
func parseCountMinMerge(words [][]byte) (m countMinMerge, problem string) {
	n, ok := resp.ParseInt(words[2])
	if !ok {
		return m, "CMS: invalid numkeys"
	}
	if n < 1 {
		return m, "CMS: Number of keys must be positive"
	}
	at := args.Find(words, 1, "WEIGHTS")
	if at < 0 {
		if n != int64(len(words)-3) {
			return m, "CMS: wrong number of keys"
		}
		return countMinMerge{sources: words[3:]}, ""
	}
	if n > int64(len(words)) || int64(at) != 3+n || int64(len(words)) != 4+2*n {
		return m, "CMS: wrong number of keys/weights"
	}
	return countMinMerge{sources: words[3:at], weights: words[at+1:]}, ""
}

func (m countMinMerge) weight(i int) (weight int64, problem string) {
	if m.weights == nil {
		return 1, ""
	}
	weight, ok := resp.ParseInt(m.weights[i])
	if !ok {
		return 0, "CMS: invalid weight value"
	}
	return weight, ""
}
