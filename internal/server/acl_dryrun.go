package server

import (
	"seen/internal/server/acl"
	"seen/internal/server/args"
)

var aclDryRunCommand = command{
	name: "dryrun", arity: -4, flags: forAdmin, handle: aclDryRun, since: "7.0.0", complexity: "O(n), n keys",
	summary: "Tells whether a user may run a command.", arguments: args.Of("username command [arg [arg ...]]"),
}

func aclDryRun(c *call) {
	u := c.server.acl.Get(string(c.args[2]))
	if u == nil {
		c.out.Error("ERR User '" + string(c.args[2]) + "' not found")
		return
	}
	args := c.args[3:]
	cmd := c.server.table.find(args)
	switch {
	case cmd == nil:
		c.out.Error("ERR Command '" + string(args[0]) + "' not found")
		return
	case !cmd.takes(len(args)):
		c.out.Error("ERR wrong number of arguments for '" + cmd.full + "' command")
		return
	}
	switch d, at := u.Rights().Check(cmd.acl, args); d {
	case acl.DeniedCommand:
		c.out.BulkString("This user has no permissions to run the '" + cmd.full + "' command")
	case acl.DeniedKey:
		c.out.BulkString("This user has no permissions to access the '" + string(args[at]) + "' key")
	default:
		c.out.OK()
	}
}
