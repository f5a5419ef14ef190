package server

import (
	"bytes"
	"strings"

	"seen/internal/server/acl"
	"seen/internal/server/args"
)

const describing = flagLoading | flagStale | flagAlone

var commandCommands = []command{
	commandInfoCommand,
	commandCountCommand,
	commandDocsCommand,
	commandListCommand,
	commandGetKeysCommand,
	commandGetKeysAndFlagsCommand,
	help("5.0.0"),
}

// statuses writes a set of words.
func (c *call) statuses(words []string) {
	c.out.Set(len(words))
	for _, word := range words {
		c.out.Simple(word)
	}
}

// named returns the commands of these names, nil for unknown ones.
func (c *call) named(names [][]byte) (list []*command) {
	for _, name := range names {
		name, sub, ok := bytes.Cut(name, []byte("|"))
		cmd := lookUp(c.server.table.byName, name)
		if cmd != nil && ok {
			cmd = lookUp(cmd.names, sub)
		}
		list = append(list, cmd)
	}
	return list
}

var commandInfoCommand = command{
	name: "info", arity: -2, flags: describing, handle: commandInfo, since: "2.8.13", complexity: "O(n), n commands",
	summary: "Describes commands for clients.", syntax: "[command-name [command-name ...]]",
}

func allCommands(c *call) { c.describeAll(c.server.table.top) }

func commandInfo(c *call) {
	if len(c.args) == 2 {
		allCommands(c)
		return
	}
	c.describeAll(c.named(c.args[2:]))
}

var commandCountCommand = command{name: "count", arity: 2, flags: describing, handle: commandCount, since: "2.8.13", complexity: "O(1)", summary: "Counts the commands."}

func commandCount(c *call) { c.out.Int(int64(len(c.server.table.top))) }

var commandListCommand = command{
	name: "list", arity: -2, flags: describing, handle: commandList, since: "7.0.0", complexity: "O(n), n commands",
	summary: "Lists the names of commands.", syntax: "[FILTERBY MODULE|ACLCAT|PATTERN filter]",
}

func commandList(c *call) {
	wanted := func(*command) bool { return true }
	switch rest := c.args[2:]; {
	case len(rest) == 0:
	case len(rest) != 3 || !args.Is(rest[0], "FILTERBY"):
		c.out.Error(args.SyntaxError)
		return
	case args.Is(rest[1], "MODULE"):
		module := strings.ToLower(string(rest[2]))
		wanted = func(cmd *command) bool { return cmd.flags&flagModule != 0 && module == "bf" }
	case args.Is(rest[1], "ACLCAT"):
		category := strings.ToLower(string(rest[2]))
		wanted = func(cmd *command) bool { return cmd.acl.In(category) }
	case args.Is(rest[1], "PATTERN"):
		pattern := bytes.ToLower(rest[2])
		wanted = func(cmd *command) bool { return acl.Match(pattern, []byte(cmd.full)) }
	default:
		c.out.Error(args.SyntaxError)
		return
	}
	var names []string
	for _, cmd := range c.server.table.commands {
		if wanted(cmd) {
			names = append(names, cmd.full)
		}
	}
	c.strings(names)
}

func (c *call) describeAll(list []*command) {
	c.out.Array(len(list))
	for _, cmd := range list {
		c.describeCommand(cmd)
	}
}

func (c *call) describeCommand(cmd *command) {
	if cmd == nil {
		c.out.NullArray()
		return
	}
	c.out.Array(10)
	c.out.BulkString(cmd.full)
	c.out.Int(int64(cmd.arity))
	var flags []string
	for i, name := range flagNames {
		if cmd.flags&(1<<i) != 0 {
			flags = append(flags, name)
		}
	}
	c.statuses(flags)
	c.out.Int(int64(cmd.first))
	c.out.Int(int64(cmd.last))
	c.out.Int(int64(cmd.step))
	var categories []string
	for _, name := range acl.Categories {
		if cmd.acl.In(name) {
			categories = append(categories, "@"+name)
		}
	}
	c.statuses(categories)
	c.out.Set(0) // tips
	c.keySpecs(cmd)
	if len(cmd.subs) == 0 {
		c.out.Set(0)
		return
	}
	c.out.Set(len(cmd.subs))
	for i := range cmd.subs {
		c.describeCommand(cmd.names[cmd.subs[i].name])
	}
}

// keySpecs writes the positions of the keys of a command, for clients of clusters.
func (c *call) keySpecs(cmd *command) {
	switch {
	case cmd.first == 0:
		c.out.Set(0)
	case cmd.keys != nil && cmd.arity > 0:
		// Each key has a fixed position.
		var keys []foundKey
		cmd.keys(make([][]byte, cmd.arity), func(at int, a acl.Access) { keys = append(keys, foundKey{at, a}) })
		c.out.Set(len(keys))
		for _, key := range keys {
			c.keySpec(key.access, key.at, 0, 1)
		}
	default:
		last := cmd.last
		if last >= 0 {
			last -= cmd.first
		}
		c.out.Set(1)
		c.keySpec(cmd.accessOfKeys(), cmd.first, last, cmd.step)
	}
}

// keySpec writes that keys begin at position first and end last positions later, or that
// far from the end if last is negative.
func (c *call) keySpec(a acl.Access, first, last, step int) {
	c.out.Map(3)
	c.out.BulkString("flags")
	c.statuses(accessFlags(a))
	c.out.BulkString("begin_search")
	c.out.Map(2)
	c.fields("type", "index", "spec")
	c.out.Map(1)
	c.fields("index", first, "find_keys")
	c.out.Map(2)
	c.fields("type", "range", "spec")
	c.out.Map(3)
	c.fields("lastkey", last, "keystep", step, "limit", 0)
}

// accessFlags returns the flags of a key specification.
func accessFlags(a acl.Access) []string {
	mode := "RW"
	switch {
	case a&acl.Writes == 0:
		mode = "RO"
	case a&(acl.Overwrites|acl.Inserts) != 0:
		mode = "OW"
	case a&acl.Deletes != 0 && a&acl.Reads == 0:
		mode = "RM"
	}
	words := []string{mode}
	if a&acl.Reads != 0 {
		words = append(words, "access")
	}
	switch {
	case a&acl.Writes == 0:
	case a&acl.Deletes != 0:
		words = append(words, "delete")
	case a&acl.Inserts != 0:
		words = append(words, "insert")
	default:
		words = append(words, "update")
	}
	return words
}
