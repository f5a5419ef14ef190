package server

import (
	"strings"

	"seen/internal/server/args"
)

var configCommands = []command{
	{
		name: "get", arity: -3, flags: forAdmin, handle: configGet, since: "2.0.0", complexity: "O(n), n settings and patterns",
		summary: "Returns settings.", syntax: "parameter [parameter ...]",
	},
	{
		name: "set", arity: -4, flags: forAdmin, handle: configSet, secret: 2, since: "2.0.0", complexity: "O(n), n settings",
		summary: "Changes settings until the server stops: all of them, or none.", syntax: "parameter value [parameter value ...]",
	},
	{
		name: "resetstat", arity: 2, flags: forAdmin, handle: configResetStat, since: "2.0.0", complexity: "O(n), n commands",
		summary: "Resets the statistics.",
	},
	{
		name: "rewrite", arity: 2, flags: forAdmin, handle: configRewrite, since: "2.8.0", complexity: "O(1)",
		summary: "Always returns an error: the server does not write its settings.",
	},
	help("5.0.0"),
}

func configGet(c *call) {
	seen := map[string]bool{}
	var pairs [][2]string
	for _, pattern := range c.args[2:] {
		for _, pair := range c.server.settingsLike(strings.ToLower(string(pattern))) {
			if !seen[pair[0]] {
				seen[pair[0]] = true
				pairs = append(pairs, pair)
			}
		}
	}
	c.out.Map(len(pairs))
	for _, pair := range pairs {
		c.out.BulkString(pair[0])
		c.out.BulkString(pair[1])
	}
}

func configSet(c *call) {
	if len(c.args)%2 != 0 {
		c.out.Error(args.SyntaxError)
		return
	}
	var changes []change
	for rest := c.args[2:]; len(rest) > 0; rest = rest[2:] {
		name := strings.ToLower(string(rest[0]))
		if !isSetting(name) {
			c.out.Error("ERR Unknown option or number of arguments for CONFIG SET - '" + string(rest[0]) + "'")
			return
		}
		changes = append(changes, change{name, string(rest[1])})
	}
	if name, problem := c.server.configure(changes); problem != "" {
		c.out.Error("ERR CONFIG SET failed (possibly related to argument '" + name + "') - " + problem)
		return
	}
	c.out.OK()
}

func configResetStat(c *call) {
	for _, cmd := range c.server.table.commands {
		cmd.stats.reset()
	}
	c.server.errors.reset()
	for _, n := range []interface{ Store(int64) }{
		&c.server.clients.total, &c.server.clients.rejected, &c.server.clients.evicted, &c.server.clients.slow, &c.server.received, &c.server.sent,
	} {
		n.Store(0)
	}
	c.out.OK()
}

func configRewrite(c *call) { c.out.Error("ERR The server is running without a config file") }

var configCommand = command{
	name: "config", arity: -2, flags: flagAlone, since: "2.0.0", complexity: "Depends on the subcommand", summary: "Commands about settings.", subs: configCommands,
}
