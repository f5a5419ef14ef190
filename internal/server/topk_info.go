package server

import "seen/internal/server/args"

var topkInfoCommand = command{
	name: "topk.info", arity: 2, flags: slowReader, handle: topkInfo, since: "2.0.0", complexity: "O(1)",
	summary:   "Describes a top-k.",
	arguments: args.Of("key"),
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
