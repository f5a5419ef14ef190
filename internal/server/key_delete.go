package server

import (
	"seen/internal/server/acl"
	"seen/internal/server/args"
)

var delCommand = command{
	name: "del", arity: -2, flags: flagWrite, categories: []string{"keyspace"}, first: 1, last: -1, step: 1, access: acl.Writes | acl.Deletes, handle: del,
	since: "1.0.0", complexity: "O(n), n keys", summary: "Deletes values.", syntax: "key [key ...]",
}

var unlinkCommand = command{
	name: "unlink", arity: -2, flags: flagWrite | flagFast, categories: []string{"keyspace"}, first: 1, last: -1, step: 1, access: acl.Writes | acl.Deletes, handle: del,
	since: "4.0.0", complexity: "O(n), n keys", summary: "Deletes values.", syntax: "key [key ...]",
}

var flushAllCommand = command{
	name: "flushall", arity: -1, flags: flagWrite | flagHeavy, categories: []string{"keyspace", "dangerous"}, handle: flush,
	since: "1.0.0", complexity: "O(n), n values", summary: "Deletes all values.", syntax: "[ASYNC | SYNC]",
}

var flushDBCommand = command{
	name: "flushdb", arity: -1, flags: flagWrite | flagHeavy, categories: []string{"keyspace", "dangerous"}, handle: flush,
	since: "1.0.0", complexity: "O(n), n values", summary: "Deletes all values.", syntax: "[ASYNC | SYNC]",
}

func del(c *call) {
	n, at, err := c.store().Delete(c.args[1:]...)
	c.after(at)
	c.after(c.store().Absent())
	if err != nil {
		c.out.Error(c.storeError(err))
		return
	}
	c.out.Int(int64(n))
}

func flush(c *call) {
	if len(c.args) > 2 || len(c.args) == 2 && !args.Is(c.args[1], "ASYNC") && !args.Is(c.args[1], "SYNC") {
		c.out.Error(args.SyntaxError)
		return
	}
	at, err := c.store().Flush()
	c.after(c.store().Absent())
	c.confirm(at, err)
}
