package server

import (
	"bytes"

	"seen/internal/server/acl"
)

// transaction is what a client has queued since MULTI, and what it watches.
type transaction struct {
	open    bool
	running bool // EXEC is running the commands
	failed  bool // a command was not queued: EXEC will fail
	queued  []parsed
	bytes   int // of the words and watched names, paid by the budget
	watched []watched
}

// watched is a name and the version of its value at WATCH.
type watched struct {
	name    []byte
	version uint64
}

// immediate reports whether a command runs at once in a transaction.
func (cmd *command) immediate() bool {
	switch cmd.name {
	case "exec", "discard", "multi", "watch", "quit", "reset":
		return cmd.parent == nil
	}
	return false
}

func (c *conn) queue(p parsed) {
	size := 0
	for _, arg := range p.args {
		size += len(arg) + 24 // and the slice
	}
	switch {
	case len(c.tx.queued) >= c.server.config.Limits.Queued:
		c.reject(p, "ERR the transaction has too many commands")
		return
	case !c.budget.Take(size):
		c.reject(p, "ERR the buffers of all clients together have reached their limit; make the transaction smaller or try again")
		return
	}
	c.tx.bytes += size
	words := make([][]byte, len(p.args))
	for i, arg := range p.args {
		words[i] = bytes.Clone(arg)
	}
	c.tx.queued = append(c.tx.queued, parsed{p.command, words})
	c.out.Simple("QUEUED")
}

// discard ends the transaction and the watches without running commands.
func (c *conn) discard() {
	c.budget.Give(c.tx.bytes)
	c.tx = transaction{}
}

var transactionCommands = section("transaction", []string{"transaction"}, []command{
	{
		name: "multi", arity: 1, flags: flagNoScript | flagLoading | flagStale | flagFast | flagAllowBusy | flagAlone, handle: multi,
		since: "1.2.0", complexity: "O(1)", summary: "Starts a transaction: commands are kept until EXEC.",
	},
	{
		name: "exec", arity: 1, flags: flagNoScript | flagLoading | flagStale | flagSkipSlowlog | flagAlone, handle: runTransaction,
		since: "1.2.0", complexity: "Depends on the commands", summary: "Runs the commands of a transaction. After a crash either all or none took effect.",
	},
	{
		name: "discard", arity: 1, flags: flagNoScript | flagLoading | flagStale | flagFast | flagAllowBusy | flagAlone, handle: discard,
		since: "2.0.0", complexity: "O(n), n commands", summary: "Discards the commands of a transaction.",
	},
	{
		name: "watch", arity: -2, flags: flagNoScript | flagLoading | flagStale | flagFast | flagAllowBusy, first: 1, last: -1, step: 1, access: acl.Looks, handle: watch,
		since: "2.2.0", complexity: "O(n), n keys", summary: "Lets the next EXEC run only if the keys do not change before it.",
		syntax: "key [key ...]",
	},
	{
		name: "unwatch", arity: 1, flags: flagNoScript | flagLoading | flagStale | flagFast | flagAllowBusy | flagAlone, handle: unwatch,
		since: "2.2.0", complexity: "O(1)", summary: "Stops watching all keys.",
	},
})

func multi(c *call) {
	if c.tx.open {
		c.out.Error("ERR MULTI calls can not be nested")
		return
	}
	c.tx.open = true
	c.out.OK()
}

func discard(c *call) {
	if !c.tx.open {
		c.out.Error("ERR DISCARD without MULTI")
		return
	}
	c.discard()
	c.out.OK()
}

func watch(c *call) {
	if c.tx.open {
		c.out.Error("ERR WATCH inside MULTI is not allowed")
		return
	}
	for _, name := range c.args[1:] {
		if c.watches(name) {
			continue
		}
		size := len(name) + 64
		if !c.budget.Take(size) {
			c.out.Error("ERR the buffers of all clients together have reached their limit; watch fewer keys or try again")
			return
		}
		c.tx.bytes += size
		c.tx.watched = append(c.tx.watched, watched{bytes.Clone(name), c.store().Version(name)})
	}
	c.out.OK()
}

func (c *conn) watches(name []byte) bool {
	for _, w := range c.tx.watched {
		if bytes.Equal(w.name, name) {
			return true
		}
	}
	return false
}

func unwatch(c *call) {
	// In EXEC the watches have ended already.
	if !c.tx.running {
		c.discard()
	}
	c.out.OK()
}

// runTransaction runs the commands of a transaction. No other command runs meanwhile.
// After a crash either all changes are there, or nothing. An error of one command does
// not stop the others.
func runTransaction(c *call) {
	switch {
	case !c.tx.open:
		c.out.Error("ERR EXEC without MULTI")
		return
	case c.tx.failed:
		c.discard()
		c.out.Error("EXECABORT Transaction discarded because of previous errors.")
		return
	}
	tooLong := false
	c.busy.Store(c.server.config.Now().UnixNano())
	defer c.busy.Store(0)
	err := c.work.Atomically(changedBy(c.tx.queued), func() {
		if c.changed() {
			c.out.NullArray()
			return
		}
		mark := c.out.Len()
		c.out.Array(len(c.tx.queued))
		c.tx.running, c.tx.open = true, false
		for i, p := range c.tx.queued {
			c.call.command, c.call.args = p.command, p.args
			// Rights may have changed since the command was queued.
			if reason := c.refusal(p); reason != "" {
				c.reject(p, reason)
				continue
			}
			c.counted(c.tx.queued[i:i+1], func() { c.handle(p) })
			if c.out.Len()-mark > c.server.config.Limits.Output {
				// The client cannot receive so much; the remaining commands still run.
				c.out.Truncate(mark)
				tooLong = true
			}
		}
		if tooLong {
			c.out.Truncate(mark)
			c.replies--
			c.ending = true
			c.server.clients.slow.Add(1)
		}
	})
	if err != nil {
		c.out.Error(c.storeError(err))
	}
	c.discard()
}

func (c *conn) changed() bool {
	for _, w := range c.tx.watched {
		if c.server.store.Version(w.name) != w.version {
			c.call.look(w.name) // the reply shows the change
			return true
		}
	}
	return false
}
