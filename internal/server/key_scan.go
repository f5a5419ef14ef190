package server

import (
	"strconv"
	"strings"

	"seen/internal/resp"
	"seen/internal/server/acl"
	"seen/internal/server/args"
	"seen/internal/store"
)

const (
	maxPattern  = 1 << 10
	longPattern = "ERR the pattern is longer than 1024 bytes, the limit"
)

var keysCommand = command{
	name: "keys", arity: 2, flags: flagReadonly | flagHeavy, categories: []string{"keyspace", "dangerous"}, handle: keys,
	since: "1.0.0", complexity: "O(n), n values", summary: "Lists the keys that match a pattern.", syntax: "pattern",
}

var scanCommand = command{
	name: "scan", arity: -2, flags: flagReadonly | flagHeavy, categories: []string{"keyspace"}, handle: scan,
	since: "2.8.0", complexity: "O(1) for a call, O(n) for all of n values", summary: "Lists the keys, some at a time.",
	syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type]",
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
			matches, err = acl.MatchFor(c.work.Step, pattern, []byte(name))
		}
		if err != nil {
			c.out.Error(c.storeError(err))
			return
		}
		if matches {
			found = append(found, name)
			c.after(v.LSN())
		}
	}
	c.after(c.store().Absent())
	c.strings(found)
}

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
			c.out.Error(args.SyntaxError)
			return
		case args.Is(rest[0], "COUNT"):
			n, ok := resp.ParseInt(rest[1])
			if !ok {
				c.out.Error(args.NotInteger)
				return
			}
			if n < 1 {
				c.out.Error(args.SyntaxError)
				return
			}
			count = min(n, maxScanCount)
		case args.Is(rest[0], "MATCH"):
			pattern = rest[1]
		case args.Is(rest[0], "TYPE"):
			kind = string(rest[1])
		default:
			c.out.Error(args.SyntaxError)
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
			matches, stopped = acl.MatchFor(c.work.Step, pattern, []byte(name))
		}
		if matches {
			found = append(found, name)
			c.after(v.LSN())
		}
	})
	if stopped != nil {
		c.out.Error(c.storeError(stopped))
		return
	}
	c.after(c.store().Absent())
	c.out.Array(2)
	c.out.BulkString(strconv.FormatUint(next, 10))
	c.strings(found)
}

// maxScanCount limits one call of SCAN, during which transactions wait.
const maxScanCount = 1 << 20
