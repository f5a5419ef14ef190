package server

// stateCommands describe filters of all types. They read histories, and so cannot be a part of
// a transaction.
var stateCommands = []command{{
	name: "seen.info", arity: -2, flags: flagModule | flagReadonly | flagNoMulti | flagAlone, categories: []string{"bloom", "cuckoo", "cms", "topk"},
	first: 1, last: -1, step: 1, handle: seenInfo, since: "1.0.0", complexity: "O(n), n keys", group: "module",
	summary: "Describes filters and sketches of all types, and says when they will be full.",
	syntax:  "key [key ...]",
}}

func seenInfo(c *call) {
	c.out.Array(len(c.args) - 1)
	for _, key := range c.args[1:] {
		if c.life.Err() != nil {
			c.out.Null() // the client is gone
			continue
		}
		v := c.look(key)
		if v == nil {
			c.after(c.store().Absent())
			c.out.Null()
			continue
		}
		c.server.dashboard.State(v).Reply(c.out)
	}
}
