package server

import (
	"seen/internal/resp"
	"seen/internal/server/acl"
	"seen/internal/server/args"
)

var aclLogCommand = command{
	name: "log", arity: -2, flags: forAdmin, handle: aclLogs, since: "6.0.0", complexity: "O(n), n entries",
	summary: "Lists what users were denied.", syntax: "[count | RESET]",
}

func aclLogs(c *call) {
	n := int64(10)
	switch {
	case len(c.args) > 3:
		c.wrongSubcommand()
		return
	case len(c.args) == 3 && args.Is(c.args[2], "RESET"):
		c.server.acl.Log.Clear()
		c.out.OK()
		return
	case len(c.args) == 3:
		var ok bool
		if n, ok = resp.ParseInt(c.args[2]); !ok {
			c.out.Error(args.NotInteger)
			return
		}
	}
	entries := c.server.acl.Log.List(int(min(max(n, 0), acl.MaxLog)))
	now := c.server.config.Now()
	c.out.Array(len(entries))
	for _, e := range entries {
		c.out.Map(10)
		c.fields("count", e.Count, "reason", e.Reason, "context", e.Context, "object", e.Object, "username", e.User,
			"age-seconds", float64(now.Sub(e.First).Milliseconds())/1000, "client-info", e.Client,
			"entry-id", e.ID, "timestamp-created", e.First.UnixMilli(), "timestamp-last-updated", e.Last.UnixMilli())
	}
}
