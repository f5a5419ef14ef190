package server

import "seen/internal/server/args"

const noWithCount = "WITHCOUNT keyword expected"

var topkListCommand = command{
	name: "topk.list", arity: -2, flags: slowReader | flagHeavy, handle: topkList, since: "2.0.0", complexity: "O(k log k)",
	summary:   "Lists the most frequent items.",
	arguments: args.Of("key [WITHCOUNT]"),
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
