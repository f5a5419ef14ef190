package acl

import "slices"

// Categories are the names of the categories. Some have no command here; they are
// listed so that rules written for Redis are understood.
var Categories = []string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo", "stream", "pubsub", "admin",
	"fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting", "bloom", "cuckoo", "cms", "topk", "tdigest",
}

// Access says what a command does with the value of a key.
type Access uint8

// What a command does with the value of a key.
const (
	Reads Access = 1 << iota
	Writes
	Looks // sees whether there is a value, and its type: any pattern allows that

	// What writing does, for COMMAND INFO. Without any of these it changes the value.
	Deletes
	Overwrites // an existing value, if there is one
	Inserts    // creates a value where there is none
)

// A Command is what rules and rights need to know of a command.
type Command struct {
	Name       string // of a subcommand, with the parent's name: client|id
	Categories []string
	Free       bool // no rule can forbid it
	// Keys calls key with the position of every key and what the command does with it.
	Keys func(args [][]byte, key func(at int, a Access))
	Subs map[string]*Command // by name without the parent's; nil if there are none

	index int
}

// In reports whether the command belongs to a category.
func (cmd *Command) In(category string) bool { return slices.Contains(cmd.Categories, category) }

// Commands are all commands of a server. They must not change once there are users.
type Commands struct {
	all    []*Command
	byName map[string]*Command // without subcommands
}

// Add adds a command, or a subcommand called sub of one that was added before.
func (cs *Commands) Add(cmd, parent *Command, sub string) {
	cmd.index = len(cs.all)
	cs.all = append(cs.all, cmd)
	switch {
	case parent == nil:
		if cs.byName == nil {
			cs.byName = map[string]*Command{}
		}
		cs.byName[cmd.Name] = cmd
	case parent.Subs == nil:
		parent.Subs = map[string]*Command{sub: cmd}
	default:
		parent.Subs[sub] = cmd
	}
}

// Category returns the commands of a category, subcommands among them, and false if
// there is no such category.
func (cs *Commands) Category(name string) (commands []*Command, ok bool) {
	for _, cmd := range cs.all {
		if cmd.In(name) {
			commands = append(commands, cmd)
		}
	}
	return commands, slices.Contains(Categories, name)
}
