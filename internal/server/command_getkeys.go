package server

import "seen/internal/server/acl"

var commandGetKeysCommand = command{
	name: "getkeys", arity: -4, flags: describing, handle: commandGetKeys, since: "2.8.13", complexity: "O(n), n words",
	summary: "Finds the keys of a command.", syntax: "command [arg [arg ...]]",
}

var commandGetKeysAndFlagsCommand = command{
	name: "getkeysandflags", arity: -4, flags: describing, handle: commandGetKeysAndFlags, since: "7.0.0", complexity: "O(n), n words",
	summary: "Finds the keys of a command and what the command does with each.", syntax: "command [arg [arg ...]]",
}

func commandGetKeys(c *call) {
	c.listKeys(c.args[2:], func(key []byte, _ acl.Access) { c.out.Bulk(key) })
}

func commandGetKeysAndFlags(c *call) {
	c.listKeys(c.args[2:], func(key []byte, a acl.Access) {
		c.out.Array(2)
		c.out.Bulk(key)
		c.statuses(accessFlags(a))
	})
}

// foundKey is the position of a key and what the command does with it.
type foundKey struct {
	at     int
	access acl.Access
}

// listKeys writes an array of the keys of a command with these words, each with write.
func (c *call) listKeys(args [][]byte, write func(key []byte, a acl.Access)) {
	cmd := c.server.table.find(args)
	switch {
	case cmd == nil:
		c.out.Error("ERR Invalid command specified")
		return
	case !cmd.takes(len(args)):
		c.out.Error("ERR Invalid number of arguments specified for command")
		return
	}
	var keys []foundKey
	cmd.eachKey(args, func(at int, a acl.Access) { keys = append(keys, foundKey{at, a}) })
	if len(keys) == 0 {
		c.out.Error("ERR The command has no key arguments")
		return
	}
	c.out.Array(len(keys))
	for _, key := range keys {
		write(args[key.at], key.access)
	}
}
