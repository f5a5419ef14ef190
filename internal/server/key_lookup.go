package server

import (
	"math/rand/v2"

	"seen/internal/server/acl"
	"seen/internal/store"
)

var typeCommand = command{
	name: "type", arity: 2, flags: flagReadonly | flagFast, categories: []string{"keyspace"}, first: 1, last: 1, step: 1, access: acl.Looks, handle: typeOf,
	since: "1.0.0", complexity: "O(1)", summary: "Returns the type of a value.", syntax: "key",
}

var existsCommand = command{
	name: "exists", arity: -2, flags: flagReadonly | flagFast, categories: []string{"keyspace"}, first: 1, last: -1, step: 1, access: acl.Looks, handle: exists,
	since: "1.0.0", complexity: "O(n), n keys", summary: "Counts the keys that have a value.", syntax: "key [key ...]",
}

var touchCommand = command{
	name: "touch", arity: -2, flags: flagReadonly | flagFast, categories: []string{"keyspace"}, first: 1, last: -1, step: 1, access: acl.Looks, handle: exists,
	since: "3.2.1", complexity: "O(n), n keys", summary: "Counts the keys that have a value. The time of last use is not recorded.", syntax: "key [key ...]",
}

var dbSizeCommand = command{
	name: "dbsize", arity: 1, flags: flagReadonly | flagFast, categories: []string{"keyspace"}, handle: dbSize,
	since: "1.0.0", complexity: "O(1)", summary: "Counts the values.",
}

var randomKeyCommand = command{
	name: "randomkey", arity: 1, flags: flagReadonly, categories: []string{"keyspace"}, handle: randomKey,
	since: "1.0.0", complexity: "O(1)", summary: "Returns a random key.",
}

func typeOf(c *call) {
	if v := c.look(c.args[1]); v != nil {
		c.out.Simple(v.Type())
	} else {
		c.out.Simple("none")
	}
}

func exists(c *call) {
	n := 0
	for _, key := range c.args[1:] {
		if c.look(key) != nil {
			n++
		}
	}
	c.out.Int(int64(n))
}

func dbSize(c *call) {
	c.after(c.store().Shown())
	c.out.Int(int64(c.store().Len()))
}

func randomKey(c *call) {
	// Start at a random position, then at the beginning.
	for _, cursor := range []uint64{rand.Uint64(), 0} {
		for {
			var names []string
			cursor = c.store().Scan(cursor, 10, func(name string, v store.Value) {
				names = append(names, name)
				c.after(v.LSN())
			})
			if len(names) > 0 {
				c.out.BulkString(names[rand.IntN(len(names))])
				return
			}
			if cursor == 0 {
				break
			}
		}
	}
	c.after(c.store().Absent())
	c.out.Null()
}
