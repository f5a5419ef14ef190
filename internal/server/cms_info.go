package server

import "seen/internal/server/args"

var cmsInfoCommand = command{
	name: "cms.info", arity: 2, flags: slowReader, handle: cmsInfo, since: "2.0.0", complexity: "O(1)",
	summary:   "Describes a count-min sketch.",
	arguments: args.Of("key"),
}

func cmsInfo(c *call) {
	s, ok := c.countMin(c.args[1])
	if !ok {
		return
	}
	c.after(s.LSN())
	c.integers([]integer{{"width", s.Width()}, {"depth", uint64(s.Depth())}, {"count", s.Total()}})
}
