package server

import (
	"math"
	"time"

	"seen/internal/resp"
	"seen/internal/server/acl"
	"seen/internal/server/args"
)

var expiryCommands = section("generic", nil, []command{
	expiring("expire", "1.0.0", "key seconds [NX | XX | GT | LT]", "Sets the expiry of a value in seconds from now.", time.Second, true),
	expiring("pexpire", "2.6.0", "key milliseconds [NX | XX | GT | LT]", "Sets the expiry of a value in milliseconds from now.", time.Millisecond, true),
	expiring("expireat", "1.2.0", "key unix-time-seconds [NX | XX | GT | LT]", "Sets the expiry of a value in seconds since 1970.", time.Second, false),
	expiring("pexpireat", "2.6.0", "key unix-time-milliseconds [NX | XX | GT | LT]", "Sets the expiry of a value in milliseconds since 1970.", time.Millisecond, false),
	asking("ttl", "1.0.0", "Returns the seconds until a value expires.", time.Second, true),
	asking("pttl", "2.6.0", "Returns the milliseconds until a value expires.", time.Millisecond, true),
	asking("expiretime", "7.0.0", "Returns when a value expires, in seconds since 1970.", time.Second, false),
	asking("pexpiretime", "7.0.0", "Returns when a value expires, in milliseconds since 1970.", time.Millisecond, false),
	{
		name: "persist", arity: 2, flags: flagWrite | flagFast, categories: []string{"keyspace"}, first: 1, last: 1, step: 1, access: acl.Writes, handle: persist,
		since: "2.2.0", complexity: "O(1)", summary: "Removes the expiry of a value.", syntax: "key",
	},
})

// expiring is a command that sets the expiry of a value in units, from now or since 1970.
func expiring(name, since, syntax, summary string, unit time.Duration, fromNow bool) command {
	return command{
		name: name, arity: -3, flags: flagWrite | flagFast, categories: []string{"keyspace"}, first: 1, last: 1, step: 1, access: acl.Writes,
		since: since, complexity: "O(1)", summary: summary, syntax: syntax,
		handle: func(c *call) { expire(c, unit, fromNow) },
	}
}

// asking is a command that returns the expiry of a value.
func asking(name, since, summary string, unit time.Duration, fromNow bool) command {
	return command{
		name: name, arity: 2, flags: flagReadonly | flagFast, categories: []string{"keyspace"}, first: 1, last: 1, step: 1,
		since: since, complexity: "O(1)", summary: summary, syntax: "key",
		handle: func(c *call) { timeToLive(c, unit, fromNow) },
	}
}

type expiryTerms struct{ nx, xx, gt, lt bool }

// read reads the conditions and returns what is wrong with them.
func (t *expiryTerms) read(words [][]byte) (problem string) {
	for _, word := range words {
		switch {
		case args.Is(word, "NX"):
			t.nx = true
		case args.Is(word, "XX"):
			t.xx = true
		case args.Is(word, "GT"):
			t.gt = true
		case args.Is(word, "LT"):
			t.lt = true
		default:
			return "ERR Unsupported option " + string(word)
		}
	}
	switch {
	case t.nx && (t.xx || t.gt || t.lt):
		return "ERR NX and XX, GT or LT options at the same time are not compatible"
	case t.gt && t.lt:
		return "ERR GT and LT options at the same time are not compatible"
	}
	return ""
}

// allow reports whether the expiry may change from former, zero for never, to at.
func (t *expiryTerms) allow(former, at time.Time) bool {
	never := former.IsZero()
	return !(t.nx && !never || t.xx && never || t.gt && (never || !at.After(former)) || t.lt && !never && !at.Before(former))
}

func expire(c *call, unit time.Duration, fromNow bool) {
	var terms expiryTerms
	if c.failed(terms.read(c.args[3:])) {
		return
	}
	n, ok := resp.ParseInt(c.args[2])
	if !ok {
		c.out.Error(args.NotInteger)
		return
	}
	now := c.server.config.Now()
	millis, ok := deadline(n, unit, fromNow, now)
	if !ok {
		c.out.Error("ERR invalid expire time in '" + c.command.full + "' command")
		return
	}
	v := c.look(c.args[1])
	at := time.UnixMilli(millis)
	if v == nil || !terms.allow(v.Expires(), at) {
		c.out.Int(0)
		return
	}
	ok, lsn, err := c.store().Expire(c.args[1], at)
	c.after(lsn)
	switch {
	case err != nil:
		c.out.Error(c.storeError(err))
	case ok:
		c.out.Int(1)
	default:
		c.after(c.store().Absent())
		c.out.Int(0)
	}
}

// deadline returns the time in milliseconds since 1970, and false if it is out of range.
func deadline(n int64, unit time.Duration, fromNow bool, now time.Time) (millis int64, ok bool) {
	if unit == time.Second {
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			return 0, false
		}
		n *= 1000
	}
	if fromNow {
		base := now.UnixMilli()
		if n > math.MaxInt64-base {
			return 0, false
		}
		n += base
	}
	return n, true
}

func timeToLive(c *call, unit time.Duration, fromNow bool) {
	v := c.look(c.args[1])
	if v == nil {
		c.out.Int(-2)
		return
	}
	expires := v.Expires()
	if expires.IsZero() {
		c.out.Int(-1)
		return
	}
	millis := expires.UnixMilli()
	if fromNow {
		millis = max(millis-c.server.config.Now().UnixMilli(), 0)
	}
	if unit == time.Second {
		millis = (millis + 500) / 1000
	}
	c.out.Int(millis)
}

func persist(c *call) {
	ok, at, err := c.store().Persist(c.args[1])
	c.after(at)
	c.look(c.args[1])
	switch {
	case err != nil:
		c.out.Error(c.storeError(err))
	case ok:
		c.out.Int(1)
	default:
		c.out.Int(0)
	}
}
