package server

import (
	"strings"

	"seen/internal/resp"
)

var connectionCommands = []command{
	{
		name: "ping", arity: -1, flags: flagFast | flagAlone, categories: []string{"connection"}, handle: ping,
		summary: "Answers PONG, or with the message.", since: "1.0.0", complexity: "O(1)", group: "connection",
		arguments: []argument{{name: "message", kind: "string", optional: true}},
	},
	{
		name: "echo", arity: 2, flags: flagFast | flagAlone, categories: []string{"connection"}, handle: echo,
		summary: "Answers with the message.", since: "1.0.0", complexity: "O(1)", group: "connection",
		arguments: []argument{{name: "message", kind: "string"}},
	},
	{
		name: "quit", arity: -1, flags: flagFast | flagAlone | flagNoAuth | flagAllowBusy | flagNoScript | flagLoading | flagStale,
		categories: []string{"connection"}, handle: quit,
		summary: "Closes the connection after the reply.", since: "1.0.0", complexity: "O(1)", group: "connection",
	},
	{
		name: "select", arity: 2, flags: flagFast | flagAlone | flagLoading | flagStale, categories: []string{"connection"}, handle: selectDatabase,
		summary: "Accepts database 0, the only one.", since: "1.0.0", complexity: "O(1)", group: "connection",
		arguments: []argument{{name: "index", kind: "integer"}},
	},
	{
		name: "hello", arity: -1, flags: flagFast | flagAlone | flagNoAuth | flagAllowBusy | flagNoScript | flagLoading | flagStale,
		categories: []string{"connection"}, handle: hello,
		summary: "Chooses the version of the protocol, and may authenticate and name the client.", since: "6.0.0", complexity: "O(1)", group: "connection",
	},
}

func ping(c *call) {
	switch len(c.args) {
	case 1:
		c.out.Simple("PONG")
	case 2:
		c.out.Bulk(c.args[1])
	default:
		c.wrongArity()
	}
}

func echo(c *call) { c.out.Bulk(c.args[1]) }

func quit(c *call) {
	c.ending = true
	c.out.OK()
}

func selectDatabase(c *call) {
	n, ok := resp.ParseInt(c.args[1])
	switch {
	case !ok:
		c.out.Error("ERR value is not an integer or out of range")
	case n != 0:
		c.out.Error("ERR DB index is out of range")
	default:
		c.out.OK()
	}
}

func hello(c *call) {
	if len(c.args) > 1 {
		switch proto, ok := resp.ParseInt(c.args[1]); {
		case !ok:
			c.out.Error("ERR Protocol version is not an integer or out of range")
			return
		case proto != 2 && proto != 3:
			c.out.Error("NOPROTO unsupported protocol version")
			return
		default:
			for _, word := range c.args[2:] {
				c.out.Error("ERR Syntax error in HELLO option '" + strings.ToLower(string(word)) + "'")
				return
			}
			c.out.Proto = int(proto)
		}
	}
	c.out.Map(7)
	c.out.BulkString("server")
	c.out.BulkString("redis")
	c.out.BulkString("version")
	c.out.BulkString(redisVersion)
	c.out.BulkString("proto")
	c.out.Int(int64(c.out.Proto))
	c.out.BulkString("id")
	c.out.Int(c.id)
	c.out.BulkString("mode")
	c.out.BulkString("standalone")
	c.out.BulkString("role")
	c.out.BulkString("master")
	c.out.BulkString("modules")
	c.out.Array(0)
}

// redisVersion is the version of Redis whose behaviour clients may rely on.
const redisVersion = "7.4.0"
