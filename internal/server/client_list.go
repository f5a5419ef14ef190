package server

import (
	"strings"

	"seen/internal/resp"
	"seen/internal/server/args"
)

var clientListCommand = command{
	name: "list", arity: -2, flags: forAdmin, handle: clientList, since: "2.4.0", complexity: "O(n), n connections", summary: "Describes connections.",
	syntax: "[TYPE normal|master|replica|pubsub] [ID client-id [client-id ...]]",
}

func clientList(c *call) {
	c.tell()
	rest := c.args[2:]
	wanted := func(*conn) bool { return true }
	switch {
	case len(rest) == 0:
	case len(rest) == 2 && args.Is(rest[0], "TYPE"):
		normal, ok := clientType(rest[1])
		if !ok {
			c.out.Error("ERR Unknown client type '" + string(rest[1]) + "'")
			return
		}
		wanted = func(*conn) bool { return normal }
	case len(rest) >= 2 && args.Is(rest[0], "ID"):
		ids := map[int64]bool{}
		for _, arg := range rest[1:] {
			id, ok := resp.ParseInt(arg)
			if !ok || id < 1 {
				c.out.Error("ERR Invalid client ID")
				return
			}
			ids[id] = true
		}
		wanted = func(other *conn) bool { return ids[other.id] }
	default:
		c.out.Error(args.SyntaxError)
		return
	}
	var text strings.Builder
	for _, other := range c.server.clients.list() {
		if wanted(other) {
			text.WriteString(other.describe())
			text.WriteByte('\n')
		}
	}
	c.out.Verbatim("txt", text.String())
}

// clientType reports whether a type of clients is normal, the only one here, and whether
// the type exists in Redis.
func clientType(word []byte) (normal, ok bool) {
	switch strings.ToLower(string(word)) {
	case "normal":
		return true, true
	case "master", "replica", "slave", "pubsub":
		return false, true
	}
	return false, false
}
