package server

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"

	"seen/internal/resp"
	"seen/internal/store"
)

var keyCommands = section("generic", nil, []command{
	{
		name: "type", arity: 2, flags: flagReadonly | flagFast, categories: []string{"keyspace"}, first: 1, last: 1, step: 1, access: looks, handle: typeOf,
		since: "1.0.0", complexity: "O(1)", summary: "Tells the type of a value.", arguments: arguments("key"),
	},
	{
		name: "exists", arity: -2, flags: flagReadonly | flagFast, categories: []string{"keyspace"}, first: 1, last: -1, step: 1, access: looks, handle: exists,
		since: "1.0.0", complexity: "O(n), n keys", summary: "Counts the keys that have a value.", arguments: arguments("key [key ...]"),
	},
	{
		name: "touch", arity: -2, flags: flagReadonly | flagFast, categories: []string{"keyspace"}, first: 1, last: -1, step: 1, access: looks, handle: exists,
		since: "3.2.1", complexity: "O(n), n keys", summary: "Counts the keys that have a value; their last use is not kept.", arguments: arguments("key [key ...]"),
	},
	{
		name: "del", arity: -2, flags: flagWrite, categories: []string{"keyspace"}, first: 1, last: -1, step: 1, access: writes | deletes, handle: del,
		since: "1.0.0", complexity: "O(n), n keys", summary: "Deletes values.", arguments: arguments("key [key ...]"),
	},
	{
		name: "unlink", arity: -2, flags: flagWrite | flagFast, categories: []string{"keyspace"}, first: 1, last: -1, step: 1, access: writes | deletes, handle: del,
		since: "4.0.0", complexity: "O(n), n keys", summary: "Deletes values.", arguments: arguments("key [key ...]"),
	},
	{
		name: "keys", arity: 2, flags: flagReadonly | flagHeavy, categories: []string{"keyspace", "dangerous"}, handle: keys,
		since: "1.0.0", complexity: "O(n), n values", summary: "Lists the keys that match a pattern.", arguments: arguments("pattern"),
	},
	{
		name: "scan", arity: -2, flags: flagReadonly | flagHeavy, categories: []string{"keyspace"}, handle: scan,
		since: "2.8.0", complexity: "O(1) for a call, O(n) for all of n values", summary: "Lists some keys at a time.",
		arguments: arguments("cursor [MATCH pattern] [COUNT count] [TYPE type]"),
	},
	{
		name: "dbsize", arity: 1, flags: flagReadonly | flagFast, categories: []string{"keyspace"}, handle: dbSize,
		since: "1.0.0", complexity: "O(1)", summary: "Counts the values.",
	},
	{
		name: "randomkey", arity: 1, flags: flagReadonly, categories: []string{"keyspace"}, handle: randomKey,
		since: "1.0.0", complexity: "O(1)", summary: "Picks a key.",
	},
	{
		name: "rename", arity: 3, flags: flagWrite, categories: []string{"keyspace"}, first: 1, last: 2, step: 1, keys: keysOfRename, handle: rename,
		since: "1.0.0", complexity: "O(1)", summary: "Gives a value another key; one that is there is deleted.", arguments: arguments("key newkey"),
	},
	{
		name: "renamenx", arity: 3, flags: flagWrite | flagFast, categories: []string{"keyspace"}, first: 1, last: 2, step: 1, keys: keysOfRenameNX, handle: renameNX,
		since: "1.0.0", complexity: "O(1)", summary: "Gives a value another key unless that has one.", arguments: arguments("key newkey"),
	},
	{
		name: "flushall", arity: -1, flags: flagWrite | flagHeavy, categories: []string{"keyspace", "dangerous"}, handle: flush,
		since: "1.0.0", complexity: "O(n), n values", summary: "Deletes all values.", arguments: arguments("[ASYNC|SYNC]"),
	},
	{
		name: "flushdb", arity: -1, flags: flagWrite | flagHeavy, categories: []string{"keyspace", "dangerous"}, handle: flush,
		since: "1.0.0", complexity: "O(n), n values", summary: "Deletes all values.", arguments: arguments("[ASYNC|SYNC]"),
	},
	{
		name: "object", arity: -2, flags: flagAlone, since: "2.2.3", complexity: "Depends on the subcommand", summary: "What Redis tells about the inside of values.",
		subs: []command{
			{
				name: "encoding", arity: 3, flags: flagReadonly, categories: []string{"keyspace"}, first: 2, last: 2, step: 1, access: looks, handle: objectEncoding,
				since: "2.2.3", complexity: "O(1)", summary: "Answers raw, as for the values of modules.", arguments: arguments("key"),
			},
			{
				name: "freq", arity: 3, flags: flagReadonly, categories: []string{"keyspace"}, first: 2, last: 2, step: 1, access: looks, handle: objectFreq,
				since: "4.0.0", complexity: "O(1)", summary: "Is refused: the use of keys is not counted.", arguments: arguments("key"),
			},
			{
				name: "refcount", arity: 3, flags: flagReadonly, categories: []string{"keyspace"}, first: 2, last: 2, step: 1, access: looks, handle: objectRefCount,
				since: "2.2.3", complexity: "O(1)", summary: "Answers 1: values are not shared.", arguments: arguments("key"),
			},
			help("6.2.0"),
		},
	},
})

// look returns the value of a key, nil if there is none; the reply waits for what it
// shows by that.
func (c *call) look(key []byte) store.Value {
	v := c.store().Get(key)
	if v == nil {
		c.after(c.store().Absent())
	} else {
		c.after(v.LSN())
	}
	return v
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

func del(c *call) {
	n, at, err := c.store().Delete(c.args[1:]...)
	c.after(at)
	c.after(c.store().Absent())
	if err != nil {
		c.out.Error(storeError(err))
		return
	}
	c.out.Int(int64(n))
}

func keys(c *call) {
	pattern, all := c.args[1], string(c.args[1]) == "*"
	if len(pattern) > maxPattern {
		c.out.Error(longPattern)
		return
	}
	var found []string
	for name, v := range c.store().Names() {
		matches, err := all, c.work.Rest(16)
		if !all && err == nil {
			matches, err = globMatchFor(c.work, pattern, []byte(name))
		}
		if err != nil {
			c.out.Error(storeError(err))
			return
		}
		if matches {
			found = append(found, name)
			c.after(v.LSN())
		}
	}
	c.after(c.store().Absent())
	c.out.Array(len(found))
	for _, name := range found {
		c.out.BulkString(name)
	}
}

// maxScanCount bounds the work of one call of SCAN, during which transactions wait.
const maxScanCount = 1 << 20

func scan(c *call) {
	cursor, err := strconv.ParseUint(string(c.args[1]), 10, 64)
	if err != nil {
		c.out.Error("ERR invalid cursor")
		return
	}
	count, pattern, kind := int64(10), []byte(nil), ""
	for rest := c.args[2:]; len(rest) > 0; rest = rest[2:] {
		switch {
		case len(rest) < 2:
			c.out.Error(syntaxError)
			return
		case isWord(rest[0], "COUNT"):
			n, ok := resp.ParseInt(rest[1])
			if !ok {
				c.out.Error(notInteger)
				return
			}
			if n < 1 {
				c.out.Error(syntaxError)
				return
			}
			count = min(n, maxScanCount)
		case isWord(rest[0], "MATCH"):
			pattern = rest[1]
		case isWord(rest[0], "TYPE"):
			kind = string(rest[1])
		default:
			c.out.Error(syntaxError)
			return
		}
	}
	if len(pattern) > maxPattern {
		c.out.Error(longPattern)
		return
	}
	var found []string
	var stopped error
	next := c.store().Scan(cursor, int(count), func(name string, v store.Value) {
		matches := kind == "" || strings.EqualFold(kind, v.Type())
		if matches && pattern != nil && stopped == nil {
			matches, stopped = globMatchFor(c.work, pattern, []byte(name))
		}
		if matches {
			found = append(found, name)
			c.after(v.LSN())
		}
	})
	if stopped != nil {
		c.out.Error(storeError(stopped))
		return
	}
	c.after(c.store().Absent())
	c.out.Array(2)
	c.out.BulkString(strconv.FormatUint(next, 10))
	c.out.Array(len(found))
	for _, name := range found {
		c.out.BulkString(name)
	}
}

func dbSize(c *call) {
	c.after(c.store().Shown())
	c.out.Int(int64(c.store().Len()))
}

func randomKey(c *call) {
	// From a random place on, and if there is nothing any more, from the beginning.
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

func keysOfRename(_ [][]byte, key func(at int, a access)) {
	key(1, reads|writes|deletes)
	key(2, writes|overwrites)
}

func keysOfRenameNX(_ [][]byte, key func(at int, a access)) {
	key(1, reads|writes|deletes)
	key(2, writes|inserts)
}

const noSuchKey = "ERR no such key"

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

// rename does what both commands do, and reports whether it was done; otherwise the
// reply is written.
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
		c.out.Error(storeError(err))
	}
	return false
}

func flush(c *call) {
	if len(c.args) > 2 || len(c.args) == 2 && !isWord(c.args[1], "ASYNC") && !isWord(c.args[1], "SYNC") {
		c.out.Error(syntaxError)
		return
	}
	at, err := c.store().Flush()
	c.after(at)
	c.after(c.store().Absent())
	if err != nil {
		c.out.Error(storeError(err))
		return
	}
	c.out.OK()
}

// object returns the value that a subcommand of OBJECT is about; it writes the reply
// if there is none.
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
