package server

import (
	"seen/internal/resp"
	"seen/internal/server/acl"
	"seen/internal/server/args"
)

var memoryCommand = command{
	name: "memory", arity: -2, flags: flagAlone, since: "4.0.0", complexity: "Depends on the subcommand", summary: "Commands about memory.",
	subs: []command{
		{
			name: "usage", arity: -3, flags: flagReadonly, first: 2, last: 2, step: 1, access: acl.Looks, handle: memoryUsage,
			since: "4.0.0", complexity: "O(1)", summary: "Returns the memory of a value in bytes.", syntax: "key [SAMPLES count]",
		},
		help("4.0.0"),
	},
}

func memoryUsage(c *call) {
	switch rest := c.args[3:]; {
	case len(rest) == 0:
	case len(rest) == 2 && args.Is(rest[0], "SAMPLES"):
		n, ok := resp.ParseInt(rest[1])
		if !ok {
			c.out.Error(args.NotInteger)
			return
		}
		if n < 0 {
			c.out.Error(args.SyntaxError)
			return
		}
	default:
		c.out.Error(args.SyntaxError)
		return
	}
	if v := c.look(c.args[2]); v != nil {
		c.out.Int(int64(v.Bytes()))
	} else {
		c.out.Null()
	}
}
