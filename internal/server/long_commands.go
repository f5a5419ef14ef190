package server

import (
	"time"

	"seen/internal/server/acl"
	"seen/internal/store"
)

// Long commands run in parts, between which other commands run. They stop when their
// client has gone.

const (
	// heavyWords is the number of words at which any command may take long.
	heavyWords = 256
	// partKeys is the largest number of keys of a part, partUnits its largest number of
	// memory words, roughly.
	partKeys  = 1 << 10
	partUnits = 1 << 16
)

// enter admits neighbours, or one command, to the store.
func (c *conn) enter(batch []parsed) {
	first := batch[0]
	heavy := first.command.flags&flagHeavy != 0
	words := 0
	for _, p := range batch {
		words += len(p.args)
	}
	if heavy = heavy || words > heavyWords; heavy {
		c.busy.Store(c.server.config.Now().UnixNano())
	}
	if heavy || !c.work.TryBegin() {
		c.work.Begin(store.Entry{Heavy: heavy, Reads: first.reads()})
	}
}

// leave ends what enter has begun.
func (c *conn) leave() {
	c.work.End()
	c.busy.Store(0)
}

// busyFor returns how long the current long command has been running, 0 if there is none.
func (c *conn) busyFor(now time.Time) time.Duration {
	if began := c.busy.Load(); began != 0 {
		return now.Sub(time.Unix(0, began))
	}
	return 0
}

// reads returns the names of the values that the command reads, nil if it changes some or
// reads others too.
func (p parsed) reads() (names [][]byte) {
	if p.command.flags&flagWrite != 0 {
		return nil
	}
	p.command.eachKey(p.args, func(at int, _ acl.Access) { names = append(names, p.args[at]) })
	return names
}

// changedBy returns the names of the values that the commands may change, nil for any.
func changedBy(commands []parsed) map[string]bool {
	names := map[string]bool{}
	for _, p := range commands {
		if p.command.flags&flagWrite == 0 {
			continue
		}
		known := false
		p.command.eachKey(p.args, func(at int, a acl.Access) {
			known = true
			if a&acl.Writes != 0 {
				names[string(p.args[at])] = true
			}
		})
		if !known {
			return nil
		}
	}
	return names
}

// inParts calls do for consecutive parts of n keys until there is an error: that of do, or
// one that says that the command was stopped. units is the rough cost of the next key in
// memory words.
func (c *call) inParts(n int, units func() int, do func(from, to int) error) error {
	for from := 0; from < n; {
		each := max(units(), 1)
		to := min(from+max(min(partUnits/each, partKeys), 1), n)
		if err := do(from, to); err != nil {
			return err
		}
		if err := c.work.Rest((to - from) * each); err != nil && to < n {
			return err
		}
		from = to
	}
	return nil
}

// ask calls do for parts of n keys, as inParts does. If the command was stopped, it writes
// the error and reports false.
func (c *call) ask(n int, units func() int, do func(from, to int) store.LSN) bool {
	err := c.inParts(n, units, func(from, to int) error {
		c.after(do(from, to))
		return nil
	})
	if err != nil {
		c.out.Error(c.storeError(err))
	}
	return err == nil
}

// together calls do, which handles n keys in parts. After a crash all of its changes are
// there or none, unless they are too many.
func (c *call) together(n int, do func()) {
	if n <= 1 {
		do()
		return
	}
	c.work.Together(do)
}
