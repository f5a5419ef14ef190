package server

import (
	"errors"
	"time"

	"seen/internal/resp"
	"seen/internal/server/acl"
	"seen/internal/server/args"
	"seen/internal/store"
)

var dumpCommands = section("generic", nil, []command{
	{
		name: "dump", arity: 2, flags: flagReadonly | flagHeavy, categories: []string{"keyspace"}, first: 1, last: 1, step: 1, handle: dump,
		since: "2.6.0", complexity: "O(n), n bytes of the value", summary: "Returns a value as one string.", syntax: "key",
	},
	{
		name: "restore", arity: -4, flags: flagWrite | flagDenyOOM | flagHeavy, categories: []string{"keyspace", "dangerous"}, first: 1, last: 1, step: 1,
		access: acl.Writes | acl.Overwrites, handle: restore,
		since: "2.6.0", complexity: "O(n), n bytes of the value", summary: "Creates a value from a string that DUMP returned.",
		syntax: "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
	},
})

const dumpTooLarge = "ERR the value is too large for one string; use the SCANDUMP command of its type or a backup"

// dumpSlack is more than the bytes around a string in a reply.
const dumpSlack = 64

func dump(c *call) {
	// A larger string could not be sent back, would be in memory several times, and would
	// exceed the output limit of the client.
	most := min(c.server.config.Limits.Command.Bulk, c.server.config.Limits.Output-dumpSlack)
	if v := c.look(c.args[1]); v != nil && int64(v.Bytes()) > int64(most) {
		c.out.Error(dumpTooLarge)
		return
	}
	payload, at, err := c.store().Dump(c.args[1])
	c.after(at)
	switch {
	case err == nil && len(payload) > most:
		c.out.Error(dumpTooLarge)
	case err == nil:
		c.out.Bulk(payload)
	case errors.Is(err, store.ErrNotFound):
		c.after(c.store().Absent())
		c.out.Null()
	default:
		c.out.Error(c.storeError(err))
	}
}

const badPayload = "ERR Bad data format"

type restoring struct{ replace, absolute bool }

// read reads the words after the value. IDLETIME and FREQ are checked and ignored.
func (r *restoring) read(words [][]byte) (problem string) {
	for len(words) > 0 {
		switch {
		case args.Is(words[0], "REPLACE"):
			r.replace = true
		case args.Is(words[0], "ABSTTL"):
			r.absolute = true
		case len(words) > 1 && args.Is(words[0], "IDLETIME"):
			if n, ok := resp.ParseInt(words[1]); !ok {
				return args.NotInteger
			} else if n < 0 {
				return "ERR Invalid IDLETIME value, must be >= 0"
			}
			words = words[1:]
		case len(words) > 1 && args.Is(words[0], "FREQ"):
			if n, ok := resp.ParseInt(words[1]); !ok {
				return args.NotInteger
			} else if !args.Within(n, 0, 255) {
				return "ERR Invalid FREQ value, must be >= 0 and <= 255"
			}
			words = words[1:]
		default:
			return args.SyntaxError
		}
		words = words[1:]
	}
	return ""
}

func restore(c *call) {
	var r restoring
	if c.failed(r.read(c.args[4:])) {
		return
	}
	const busy = "BUSYKEY Target key name already exists."
	if v := c.look(c.args[1]); v != nil && !r.replace {
		c.out.Error(busy)
		return
	}
	ttl, ok := resp.ParseInt(c.args[2])
	if !ok {
		c.out.Error(args.NotInteger)
		return
	}
	if ttl < 0 {
		c.out.Error("ERR Invalid TTL value, must be >= 0")
		return
	}
	var expires time.Time
	if ttl > 0 {
		millis, ok := deadline(ttl, time.Millisecond, !r.absolute, c.server.config.Now())
		if !ok {
			c.out.Error("ERR Invalid TTL value, must be >= 0")
			return
		}
		expires = time.UnixMilli(millis)
	}
	at, err := c.store().Restore(c.args[1], c.args[3], expires, r.replace, int(c.filterDefaults().cfMaxExpansions))
	c.confirm(at, err, own{store.ErrExists, busy}, own{store.ErrPayload, "ERR DUMP payload version or checksum are wrong"},
		own{store.ErrSecret, badPayload + ": "}, own{errAnyOther, badPayload})
}
