package server

import (
	"seen/internal/server/args"
	"seen/internal/store"
)

var topkQueryCommand = command{
	name: "topk.query", arity: -3, flags: slowReader, handle: topkQuery, since: "2.0.0", complexity: "O(n), n items",
	summary:   "Checks which items are among the most frequent.",
	arguments: args.Of("key item [item ...]"),
}

var topkCountCommand = command{
	name: "topk.count", arity: -3, flags: slowReader, handle: topkCount, since: "2.0.0", complexity: "O(n * d), n items and d rows",
	summary:   "Estimates how often items were counted in a top-k.",
	arguments: args.Of("key item [item ...]"),
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
	if c.ask(len(counts), depth, func(from, to int) store.LSN { return t.Count(counts[from:to], c.args[2+from:2+to]) }) {
		c.counts(counts, "")
	}
}
