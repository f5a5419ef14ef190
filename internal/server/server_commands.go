package server

import (
	"context"
	"strconv"
	"strings"
	"time"

	"seen/internal/resp"
)

var serverCommands = section("server", nil, []command{
	{
		name: "info", arity: -1, flags: flagLoading | flagStale | flagAlone, categories: []string{"dangerous"}, handle: info,
		since: "1.0.0", complexity: "O(1)", summary: "Describes the server.", arguments: arguments("[section [section ...]]"),
	},
	{
		name: "time", arity: 1, flags: flagLoading | flagStale | flagFast | flagAlone, handle: tellTime,
		since: "2.6.0", complexity: "O(1)", summary: "Tells the time in seconds since 1970 and microseconds.",
	},
	{
		name: "role", arity: 1, flags: flagNoScript | flagLoading | flagStale | flagFast | flagAlone, categories: []string{"admin", "dangerous"}, handle: role,
		since: "2.8.12", complexity: "O(1)", summary: "Tells that the server is a master without replicas.",
	},
	{
		name: "lastsave", arity: 1, flags: flagLoading | flagStale | flagFast | flagAlone, categories: []string{"admin", "dangerous"}, handle: lastSave,
		since: "1.0.0", complexity: "O(1)", summary: "Tells when the last checkpoint ended, in seconds since 1970.",
	},
	{
		name: "save", arity: 1, flags: flagAdmin | flagNoScript | flagNoAsyncLoading | flagNoMulti | flagAlone, handle: save,
		since: "1.0.0", complexity: "O(n), n bytes that have changed", summary: "Makes a checkpoint, and answers when it is there.",
	},
	{
		name: "bgsave", arity: -1, flags: flagAdmin | flagNoScript | flagNoAsyncLoading | flagAlone, handle: bgSave,
		since: "1.0.0", complexity: "O(1)", summary: "Begins a checkpoint.", arguments: arguments("[SCHEDULE]"),
	},
	{
		name: "shutdown", arity: -1, flags: flagAdmin | flagNoScript | flagLoading | flagStale | flagNoMulti | flagAllowBusy | flagAlone, handle: shutdown,
		since: "1.0.0", complexity: "O(n), n bytes that have changed", summary: "Ends the server.", arguments: arguments("[NOSAVE|SAVE] [NOW] [FORCE] [ABORT]"),
	},
	{
		name: "config", arity: -2, flags: flagAlone, since: "2.0.0", complexity: "Depends on the subcommand", summary: "Commands about settings.", subs: configCommands,
	},
	{
		name: "memory", arity: -2, flags: flagAlone, since: "4.0.0", complexity: "Depends on the subcommand", summary: "Commands about memory.",
		subs: []command{
			{
				name: "usage", arity: -3, flags: flagReadonly, first: 2, last: 2, step: 1, access: looks, handle: memoryUsage,
				since: "4.0.0", complexity: "O(1)", summary: "Tells how many bytes a value takes.", arguments: arguments("key [SAMPLES count]"),
			},
			help("4.0.0"),
		},
	},
	{
		name: "slowlog", arity: -2, flags: flagAlone, since: "2.2.12", complexity: "Depends on the subcommand", summary: "Commands about commands that took long.",
		subs: []command{
			{
				name: "get", arity: -2, flags: flagAdmin | flagLoading | flagStale | flagAlone, handle: slowLogGet,
				since: "2.2.12", complexity: "O(n), n entries", summary: "Lists commands that took long.", arguments: arguments("[count]"),
			},
			{
				name: "len", arity: 2, flags: flagAdmin | flagLoading | flagStale | flagAlone, handle: slowLogLen,
				since: "2.2.12", complexity: "O(1)", summary: "Counts them.",
			},
			{
				name: "reset", arity: 2, flags: flagAdmin | flagLoading | flagStale | flagAlone, handle: slowLogReset,
				since: "2.2.12", complexity: "O(1)", summary: "Forgets them.",
			},
			help("6.2.0"),
		},
	},
	{
		name: "latency", arity: -2, flags: flagAlone, since: "2.8.13", complexity: "Depends on the subcommand", summary: "Commands about the time that commands take.",
		subs: []command{
			{
				name: "histogram", arity: -2, flags: forAdmin, handle: latencyHistogram, since: "7.0.0", complexity: "O(n), n commands",
				summary: "Tells how many calls of each command took how long.", arguments: arguments("[command [command ...]]"),
			},
			{
				name: "latest", arity: 2, flags: forAdmin, handle: func(c *call) { c.out.Array(0) }, since: "2.8.13", complexity: "O(1)",
				summary: "Lists no events: none are watched.",
			},
			{
				name: "reset", arity: -2, flags: forAdmin, handle: func(c *call) { c.out.Int(0) }, since: "2.8.13", complexity: "O(1)",
				summary: "Forgets no events: none are watched.", arguments: arguments("[event [event ...]]"),
			},
			help("2.8.13"),
		},
	},
	{
		name: "debug", arity: -2, flags: forAdmin, since: "1.0.0", complexity: "Depends on the subcommand", summary: "Commands for tests of clients.",
		subs: []command{
			{
				name: "sleep", arity: 3, flags: forAdmin | flagNoMulti, handle: debugSleep, since: "1.0.0", complexity: "O(1)",
				summary: "Answers after some seconds; other clients do not notice.", arguments: arguments("seconds"),
			},
			help("6.2.0"),
		},
	},
})

func tellTime(c *call) {
	now := c.server.config.Now()
	c.out.Array(2)
	c.out.BulkString(strconv.FormatInt(now.Unix(), 10))
	c.out.BulkString(strconv.Itoa(now.Nanosecond() / 1000))
}

func role(c *call) {
	c.out.Array(3)
	c.out.BulkString("master")
	c.out.Int(0)
	c.out.Array(0)
}

func lastSave(c *call) { c.out.Int(c.store().LastCheckpoint().Unix()) }

func save(c *call) {
	if err := c.store().Checkpoint(c.server.cutting); err != nil {
		c.out.Error("ERR " + err.Error())
		return
	}
	c.out.OK()
}

func bgSave(c *call) {
	if len(c.args) > 2 || len(c.args) == 2 && !isWord(c.args[1], "SCHEDULE") {
		c.out.Error(syntaxError)
		return
	}
	if c.store().Checkpointing() {
		if len(c.args) == 2 {
			c.out.Simple("Background saving scheduled")
		} else {
			c.out.Error("ERR Background save already in progress")
		}
		return
	}
	s := c.server
	s.running.Go(func() {
		if err := s.store.Checkpoint(s.cutting); err != nil {
			s.event(Failure, "the checkpoint that BGSAVE has begun failed", "error", err.Error())
		}
	})
	c.out.Simple("Background saving started")
}

func shutdown(c *call) {
	for _, word := range c.args[1:] {
		switch strings.ToUpper(string(word)) {
		case "NOSAVE", "SAVE", "NOW", "FORCE":
			// What was acknowledged is kept in any case, and at once.
		case "ABORT":
			c.out.Error("ERR No shutdown in progress.")
			return
		default:
			c.out.Error(syntaxError)
			return
		}
	}
	if c.server.config.Stop == nil {
		c.out.Error("ERR Errors trying to SHUTDOWN. Check logs.")
		return
	}
	c.server.event(Info, "shutting down at the wish of a client", "client", c.address(), "user", c.user.Load().name)
	// There is no reply; the end of the connection is one.
	c.replies--
	c.ending = true
	c.server.config.Stop()
}

func memoryUsage(c *call) {
	switch rest := c.args[3:]; {
	case len(rest) == 0:
	case len(rest) == 2 && isWord(rest[0], "SAMPLES"):
		n, ok := resp.ParseInt(rest[1])
		if !ok {
			c.out.Error(notInteger)
			return
		}
		if n < 0 {
			c.out.Error(syntaxError)
			return
		}
	default:
		c.out.Error(syntaxError)
		return
	}
	if v := c.look(c.args[2]); v != nil {
		c.out.Int(int64(v.Bytes()))
	} else {
		c.out.Null()
	}
}

func slowLogGet(c *call) {
	n := int64(10)
	switch len(c.args) {
	case 2:
	case 3:
		var ok bool
		if n, ok = resp.ParseInt(c.args[2]); !ok || n < -1 {
			c.out.Error("ERR count should be greater than or equal to -1")
			return
		}
	default:
		c.wrongSubcommand()
		return
	}
	entries := c.server.slowLog.list(int(min(n, 1<<20)))
	c.out.Array(len(entries))
	for _, e := range entries {
		c.out.Array(6)
		c.out.Int(e.id)
		c.out.Int(e.at.Unix())
		c.out.Int(e.took.Microseconds())
		c.out.Array(len(e.args))
		for _, arg := range e.args {
			c.out.BulkString(arg)
		}
		c.out.BulkString(e.client)
		c.out.BulkString(e.name)
	}
}

func slowLogLen(c *call) { c.out.Int(int64(len(c.server.slowLog.list(-1)))) }

func slowLogReset(c *call) {
	c.server.slowLog.clear()
	c.out.OK()
}

func latencyHistogram(c *call) {
	list := c.server.table.commands
	if len(c.args) > 2 {
		list = c.named(c.args[2:])
	}
	type row struct {
		cmd     *command
		buckets []latencyBucket
	}
	var rows []row
	for _, cmd := range list {
		if cmd == nil {
			continue
		}
		if buckets := cmd.stats.histogram(); len(buckets) > 0 {
			rows = append(rows, row{cmd, buckets})
		}
	}
	c.out.Map(len(rows))
	for _, r := range rows {
		c.out.BulkString(r.cmd.full)
		c.out.Map(2)
		c.out.BulkString("calls")
		c.out.Int(int64(r.cmd.stats.calls.Load()))
		c.out.BulkString("histogram_usec")
		c.out.Map(len(r.buckets))
		for _, b := range r.buckets {
			c.out.Int(b.micros)
			c.out.Int(int64(b.calls))
		}
	}
}

// maxSleep bounds what a client that is used in tests may ask for.
const maxSleep = time.Hour

func debugSleep(c *call) {
	seconds, ok := resp.ParseFloat(c.args[2])
	if !ok || seconds < 0 || seconds > maxSleep.Seconds() {
		c.out.Error("ERR value is not a valid float")
		return
	}
	ctx, cancel := context.WithTimeout(c.server.cutting, time.Duration(seconds*float64(time.Second)))
	defer cancel()
	select {
	case <-ctx.Done():
	case <-c.server.stopping:
	}
	c.out.OK()
}
