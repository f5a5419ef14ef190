package server

import (
	"seen/internal/server/args"
	"seen/internal/store"
)

var topkQueryCommand = command{
	name: "topk.query", arity: -3, flags: slowReader, handle: topkQuery, since: "2.0.0", complexity: "O(n), n items",
	summary: "Checks which items are among the most frequent.",
	syntax:  "key item [item ...]",
}

var topkCountCommand = command{
	name: "topk.count", arity: -3, flags: slowReader, handle: topkCount, since: "2.0.0", complexity: "O(n * d), n items and d rows",
	summary: "Estimates how often items were counted in a top-k.",
	syntax:  "key item [item ...]",
}

func topkQuery(c *call) {
	t, ok := c.topK()
	if !ok {
		return
	}
	found := c.answers(len(c.args) - 2)
	if c.ask(len(found), t.Depth, func(from, to int) store.LSN { return t.Has(found[from:to], c.args[2+from:2+to]) }) {
		c.bools(found)
	}
}

func topkCount(c *call) {
	if t, ok := c.topK(); ok {
		c.askCounts(t.Depth, t.Count)
	}
}

const noWithCount = "WITHCOUNT keyword expected"

var topkListCommand = command{
	name: "topk.list", arity: -2, flags: slowReader | flagHeavy, handle: topkList, since: "2.0.0", complexity: "O(k log k)",
	summary: "Lists the most frequent items.",
	syntax:  "key [WITHCOUNT]",
}

func topkList(c *call) {
	if len(c.args) > 3 {
		c.wrongArity()
		return
	}
	t, ok := c.topK()
	if !ok {
		return
	}
	withCount := len(c.args) == 3
	if withCount && !args.Is(c.args[2], "WITHCOUNT") {
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

var topkInfoCommand = command{
	name: "topk.info", arity: 2, flags: slowReader, handle: shows((*call).topK, topkInfo), since: "2.0.0", complexity: "O(1)",
	summary: "Describes a top-k.",
	syntax:  "key",
}

func topkInfo(c *call, t *store.TopK) {
	o := t.Config()
	c.integers(4, []integer{{"k", uint64(o.K)}, {"width", uint64(o.Width)}, {"depth", uint64(o.Depth)}})
	c.out.Simple("decay")
	c.out.Double(o.Decay)
}
