package server

import (
	"errors"

	"seen/internal/server/acl"
	"seen/internal/store"
)

var renameCommand = command{
	name: "rename", arity: 3, flags: flagWrite, categories: []string{"keyspace"}, first: 1, last: 2, step: 1, keys: keysOfRename(acl.Overwrites), handle: rename,
	since: "1.0.0", complexity: "O(1)", summary: "Renames a key. A value under the new name is deleted.", syntax: "key newkey",
}

var renameNXCommand = command{
	name: "renamenx", arity: 3, flags: flagWrite | flagFast, categories: []string{"keyspace"}, first: 1, last: 2, step: 1, keys: keysOfRename(acl.Inserts), handle: renameNX,
	since: "1.0.0", complexity: "O(1)", summary: "Renames a key if the new name does not exist.", syntax: "key newkey",
}

const noSuchKey = "ERR no such key"

// keysOfRename finds the keys of a command that writes the new name in the given way.
func keysOfRename(how acl.Access) func(_ [][]byte, key func(at int, a acl.Access)) {
	return func(_ [][]byte, key func(at int, a acl.Access)) {
		key(1, acl.Reads|acl.Writes|acl.Deletes)
		key(2, acl.Writes|how)
	}
}

func rename(c *call) {
	if c.rename(false) {
		c.out.OK()
	}
}

func renameNX(c *call) {
	if c.rename(true) {
		c.out.Int(1)
	}
}

// rename renames a key and reports whether it did. Otherwise it writes the reply.
func (c *call) rename(keep bool) bool {
	at, err := c.store().Rename(c.args[1], c.args[2], keep)
	c.after(at)
	switch {
	case err == nil:
		return true
	case errors.Is(err, store.ErrNotFound):
		c.after(c.store().Absent())
		c.out.Error(noSuchKey)
	case errors.Is(err, store.ErrExists):
		c.look(c.args[2])
		c.out.Int(0)
	default:
		c.out.Error(c.storeError(err))
	}
	return false
}
