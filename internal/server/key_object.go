package server

import (
	"seen/internal/server/acl"
	"seen/internal/store"
)

var objectCommand = command{
	name: "object", arity: -2, flags: flagAlone, since: "2.2.3", complexity: "Depends on the subcommand", summary: "Commands about the internals of values.",
	subs: []command{
		{
			name: "encoding", arity: 3, flags: flagReadonly, categories: []string{"keyspace"}, first: 2, last: 2, step: 1, access: acl.Looks, handle: objectEncoding,
			since: "2.2.3", complexity: "O(1)", summary: "Returns raw, as Redis does for the values of modules.", syntax: "key",
		},
		{
			name: "freq", arity: 3, flags: flagReadonly, categories: []string{"keyspace"}, first: 2, last: 2, step: 1, access: acl.Looks, handle: objectFreq,
			since: "4.0.0", complexity: "O(1)", summary: "Always returns an error: the use of keys is not counted.", syntax: "key",
		},
		{
			name: "refcount", arity: 3, flags: flagReadonly, categories: []string{"keyspace"}, first: 2, last: 2, step: 1, access: acl.Looks, handle: objectRefCount,
			since: "2.2.3", complexity: "O(1)", summary: "Returns 1: values are not shared.", syntax: "key",
		},
		help("6.2.0"),
	},
}

// object returns the value of the key. If there is none, it writes the reply.
func (c *call) object() store.Value {
	v := c.look(c.args[2])
	if v == nil {
		c.out.Null()
	}
	return v
}

func objectEncoding(c *call) {
	if c.object() != nil {
		c.out.BulkString("raw")
	}
}

func objectFreq(c *call) {
	if c.object() != nil {
		c.out.Error("ERR An LFU maxmemory policy is not selected, access frequency not tracked. " +
			"Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.")
	}
}

func objectRefCount(c *call) {
	if c.object() != nil {
		c.out.Int(1)
	}
}
