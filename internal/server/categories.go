package server

import "slices"

// categoryNames are the categories of the ACL, those that have no command here too,
// so that rules written for Redis are understood.
var categoryNames = []string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo", "stream", "pubsub", "admin",
	"fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting", "bloom", "cuckoo", "cms", "topk", "tdigest",
}

// classify adds the categories that follow from the flags of a command.
func (cmd *command) classify() {
	for _, c := range []struct {
		name string
		in   bool
	}{
		{"write", cmd.flags&flagWrite != 0},
		{"read", cmd.flags&flagReadonly != 0},
		{"admin", cmd.flags&flagAdmin != 0},
		{"dangerous", cmd.flags&flagAdmin != 0},
		{"pubsub", cmd.flags&flagPubSub != 0},
		{"fast", cmd.flags&flagFast != 0},
		{"blocking", cmd.flags&flagBlocking != 0},
		{"slow", cmd.flags&flagFast == 0},
	} {
		if c.in && !cmd.in(c.name) {
			cmd.categories = append(slices.Clip(cmd.categories), c.name)
		}
	}
}

// in reports whether the command belongs to a category.
func (cmd *command) in(category string) bool { return slices.Contains(cmd.categories, category) }

// category returns the commands of a category, subcommands among them, and false
// if there is no such category.
func (t *table) category(name string) (commands []*command, ok bool) {
	for _, cmd := range t.commands {
		if cmd.in(name) {
			commands = append(commands, cmd)
		}
	}
	return commands, slices.Contains(categoryNames, name)
}
