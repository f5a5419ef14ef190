package server

import (
	"seen/internal/resp"
	"seen/internal/server/args"
)

// anyTime are the flags of commands that may run before a log-in and in a transaction.
const anyTime = flagNoScript | flagLoading | flagStale | flagFast | flagNoAuth | flagAllowBusy | flagAlone

var connectionCommands = section("connection", []string{"connection"}, []command{
	{
		name: "ping", arity: -1, flags: flagFast | flagAlone, handle: ping, since: "1.0.0", complexity: "O(1)",
		summary: "Returns PONG or the message.", syntax: "[message]",
	},
	{
		name: "echo", arity: 2, flags: flagLoading | flagStale | flagFast | flagAlone, handle: echo, since: "1.0.0", complexity: "O(1)",
		summary: "Returns the message.", syntax: "message",
	},
	helloCommand,
	authCommand,
	{
		name: "select", arity: 2, flags: flagLoading | flagStale | flagFast | flagAlone, handle: selectDatabase, since: "1.0.0", complexity: "O(1)",
		summary: "Accepts database 0, the only one.", syntax: "index",
	},
	{
		name: "quit", arity: -1, flags: anyTime, handle: quit, since: "1.0.0", complexity: "O(1)",
		summary: "Closes the connection after the reply.",
	},
	{
		name: "reset", arity: 1, flags: anyTime, handle: reset, since: "6.2.0", complexity: "O(1)",
		summary: "Resets the connection to its initial state.",
	},
	{
		name: "client", arity: -2, flags: flagAlone, since: "2.4.0", complexity: "Depends on the subcommand",
		summary: "Commands about connections.", subs: clientCommands,
	},
	{
		name: "command", arity: -1, flags: flagLoading | flagStale | flagAlone, handle: allCommands, since: "2.8.13", complexity: "O(n), n commands",
		summary: "Describes all commands.", subs: commandCommands,
	},
	{
		name: "wait", arity: 3, flags: flagNoScript | flagAlone, handle: wait, since: "3.0.0", complexity: "O(1)",
		summary: "Returns 0: there are no replicas.", syntax: "numreplicas timeout",
	},
})

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

func reset(c *call) {
	c.discard()
	c.user.Store(c.server.acl.Default)
	c.authenticated.Store(false)
	c.out.Proto = 2
	c.mute = muteNothing
	c.about.mu.Lock()
	c.about.name, c.about.noEvict, c.about.noTouch = "", false, false
	c.about.mu.Unlock()
	c.out.Simple("RESET")
}

func selectDatabase(c *call) {
	n, ok := resp.ParseInt(c.args[1])
	switch {
	case !ok:
		c.out.Error(args.NotInteger)
	case n != 0:
		c.out.Error("ERR DB index is out of range")
	default:
		c.out.OK()
	}
}

func wait(c *call) {
	if n, ok := resp.ParseInt(c.args[1]); !ok || n < -1<<31 || n >= 1<<31 {
		c.out.Error(args.NotInteger)
		return
	}
	switch timeout, ok := resp.ParseInt(c.args[2]); {
	case !ok:
		c.out.Error("ERR timeout is not an integer or out of range")
	case timeout < 0:
		c.out.Error("ERR timeout is negative")
	default:
		c.out.Int(0)
	}
}

// redisVersion is the version of Redis that the server is compatible with.
const redisVersion = "7.4.0"
