package server

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"seen/internal/resp"
)

// What is kept of the words of a slow command.
const (
	maxSlowArgs  = 32
	maxSlowBytes = 128
)

type slowEntry struct {
	id           int64
	at           time.Time
	took         time.Duration
	args         []string
	client, name string
}

// slowLog has the last commands that took longer than a threshold, the latest first.
type slowLog struct {
	threshold atomic.Int64 // microseconds; < 0: nothing is kept
	length    atomic.Int64

	mu      sync.Mutex
	entries []slowEntry
	nextID  int64
}

func (l *slowLog) init() {
	l.threshold.Store(10000)
	l.length.Store(128)
}

// note adds commands that ran together in this time, if they were slow.
func (l *slowLog) note(c *conn, batch []parsed, took time.Duration) {
	threshold := l.threshold.Load()
	if threshold < 0 || took.Microseconds() < threshold*int64(len(batch)) {
		return
	}
	e := slowEntry{at: c.server.config.Now(), took: took / time.Duration(len(batch)), args: slowWords(batch[0]), client: c.address(), name: c.name()}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.id = l.nextID
	l.nextID++
	l.entries = slices.Insert(l.entries, 0, e)
	l.entries = l.entries[:min(len(l.entries), int(max(l.length.Load(), 0)))]
}

func slowWords(p parsed) (words []string) {
	args := p.args
	for i, arg := range args {
		if p.command.secret != 0 && i >= p.command.secret {
			arg = []byte("(redacted)")
		}
		if i == maxSlowArgs-1 && len(args) > maxSlowArgs {
			return append(words, fmt.Sprintf("... (%d more arguments)", len(args)-i))
		}
		if len(arg) > maxSlowBytes {
			words = append(words, fmt.Sprintf("%s... (%d more bytes)", arg[:maxSlowBytes], len(arg)-maxSlowBytes))
		} else {
			words = append(words, string(arg))
		}
	}
	return words
}

// list returns the latest n entries, all if n < 0.
func (l *slowLog) list(n int) []slowEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < 0 || n > len(l.entries) {
		n = len(l.entries)
	}
	return slices.Clone(l.entries[:n])
}

func (l *slowLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

var slowLogCommand = command{
	name: "slowlog", arity: -2, flags: flagAlone, since: "2.2.12", complexity: "Depends on the subcommand", summary: "Commands about the log of slow commands.",
	subs: []command{
		{
			name: "get", arity: -2, flags: flagAdmin | flagLoading | flagStale | flagAlone, handle: slowLogGet,
			since: "2.2.12", complexity: "O(n), n entries", summary: "Lists slow commands.", syntax: "[count]",
		},
		{
			name: "len", arity: 2, flags: flagAdmin | flagLoading | flagStale | flagAlone, handle: slowLogLen,
			since: "2.2.12", complexity: "O(1)", summary: "Counts the entries.",
		},
		{
			name: "reset", arity: 2, flags: flagAdmin | flagLoading | flagStale | flagAlone, handle: slowLogReset,
			since: "2.2.12", complexity: "O(1)", summary: "Deletes the entries.",
		},
		help("6.2.0"),
	},
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
		c.fields(e.args, e.client, e.name)
	}
}

func slowLogLen(c *call) { c.out.Int(int64(len(c.server.slowLog.list(-1)))) }

func slowLogReset(c *call) {
	c.server.slowLog.clear()
	c.out.OK()
}
