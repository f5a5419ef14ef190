package server

import (
	"seen/internal/server/acl"
	"seen/internal/server/args"
)

var aclDryRunCommand = command{
	name: "dryrun", arity: -4, flags: forAdmin, handle: aclDryRun, since: "7.0.0", complexity: "O(n), n keys",
	summary: "Checks whether a user may run a command.", arguments: args.Of("username command [arg [arg ...]]"),
}

func aclDryRun(c *call) {
	u := c.server.acl.Get(string(c.args[2]))
	if u == nil {
		c.out.Error("ERR User '" + string(c.args[2]) + "' not found")
		return
	}
	words := c.args[3:]
	cmd := c.server.table.find(words)
	switch {
	case cmd == nil:
		c.out.Error("ERR Command '" + string(words[0]) + "' not found")
		return
	case !cmd.takes(len(words)):
		c.out.Error(args.WrongNumber(cmd.full))
		return
	}
	switch d, at := u.Rights().Check(cmd.acl, words); d {
	case acl.DeniedCommand:
		c.out.BulkString("This user has no permissions to run the '" + cmd.full + "' command")
	case acl.DeniedKey:
		c.out.BulkString("This user has no permissions to access the '" + string(words[at]) + "' key")
	default:
		c.out.OK()
	}
}
