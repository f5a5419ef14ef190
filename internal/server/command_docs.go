package server

import "seen/internal/server/args"

var commandDocsCommand = command{
	name: "docs", arity: -2, flags: describing, handle: commandDocs, since: "7.0.0", complexity: "O(n), n commands",
	summary: "Describes commands for people.", syntax: "[command-name [command-name ...]]",
}

func commandDocs(c *call) {
	list := c.server.table.top
	if len(c.args) > 2 {
		list = nil
		for _, cmd := range c.named(c.args[2:]) {
			if cmd != nil {
				list = append(list, cmd)
			}
		}
	}
	c.out.Map(len(list))
	for _, cmd := range list {
		c.documentCommand(cmd)
	}
}

// documentCommand writes the name of a command and its entry of COMMAND DOCS.
func (c *call) documentCommand(cmd *command) {
	n := 4
	if cmd.syntax != "" {
		n++
	}
	if len(cmd.subs) > 0 {
		n++
	}
	c.out.BulkString(cmd.full)
	c.out.Map(n)
	c.fields("summary", cmd.summary, "since", cmd.since, "group", cmd.group, "complexity", cmd.complexity)
	if cmd.syntax != "" {
		c.out.BulkString("arguments")
		c.documentArguments(args.Of(cmd.syntax))
	}
	if len(cmd.subs) > 0 {
		c.out.BulkString("subcommands")
		c.out.Map(len(cmd.subs))
		for i := range cmd.subs {
			c.documentCommand(cmd.names[cmd.subs[i].name])
		}
	}
}

func (c *call) documentArguments(list []args.Argument) {
	c.out.Array(len(list))
	for _, a := range list {
		fields := []any{"name", a.Name, "type", a.Kind}
		if a.Text != "" {
			fields = append(fields, "display_text", a.Text)
		}
		if a.Token != "" {
			fields = append(fields, "token", a.Token)
		}
		var flags []string
		if a.Optional {
			flags = append(flags, "optional")
		}
		if a.Multiple {
			flags = append(flags, "multiple")
		}
		n := len(fields) / 2
		for _, more := range []bool{a.Kind == "key", len(flags) > 0, len(a.Parts) > 0} {
			if more {
				n++
			}
		}
		c.out.Map(n)
		c.fields(fields...)
		if a.Kind == "key" {
			c.out.BulkString("key_spec_index")
			c.out.Int(0)
		}
		if len(flags) > 0 {
			c.out.BulkString("flags")
			c.statuses(flags)
		}
		if len(a.Parts) > 0 {
			c.out.BulkString("arguments")
			c.documentArguments(a.Parts)
		}
	}
}
