package server

import (
	"time"

	"seen/internal/server/acl"
	"seen/internal/store"
)

// Commands that may take long are done in parts, between which others get their turn,
// and stop when nobody waits for them any more.

const (
	// heavyWords is the number of words from which on any command may take long.
	heavyWords = 256
	// partKeys is the largest number of keys, and partUnits about that of words of
	// memory, of a part.
	partKeys  = 1 << 10
	partUnits = 1 << 16
)

// enter lets neighbours, or one command, into the store.
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

// leave is called when what enter has let in is done.
func (c *conn) leave() {
	c.work.End()
	c.busy.Store(0)
}

// busyFor returns for how long the command has been running that runs now, if it is
// one that may take long.
func (c *conn) busyFor(now time.Time) time.Duration {
	if began := c.busy.Load(); began != 0 {
		return now.Sub(time.Unix(0, began))
	}
	return 0
}

// reads returns the names on whose values alone the command depends, nil if it
// changes some, or depends on more.
func (p parsed) reads() (names [][]byte) {
	if p.command.flags&flagWrite != 0 {
		return nil
	}
	p.command.eachKey(p.args, func(at int, _ acl.Access) { names = append(names, p.args[at]) })
	return names
}

// changedBy returns the names of the values that commands may change, nil for any.
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

// inParts calls do for parts of n keys, in order, until it reports false. units is
// about how many words of memory the next key costs. The error says that nobody waits
// for the rest.
func (c *call) inParts(n int, units func() int, do func(from, to int) bool) error {
	for from := 0; from < n; {
		each := max(units(), 1)
		to := min(from+max(min(partUnits/each, partKeys), 1), n)
		if !do(from, to) {
			return nil
		}
		if err := c.work.Rest((to - from) * each); err != nil && to < n {
			return err
		}
		from = to
	}
	return nil
}

// ask has do answer questions about n keys, in parts: see inParts. It writes the error,
// and reports false, if it was stopped.
func (c *call) ask(n int, units func() int, do func(from, to int) store.LSN) bool {
	err := c.inParts(n, units, func(from, to int) bool {
		c.after(do(from, to))
		return true
	})
	if err != nil {
		c.out.Error(c.storeError(err))
	}
	return err == nil
}

// together calls do, which works on n keys in parts, so that after a crash all of it is
// there or nothing, unless it costs too much.
func (c *call) together(n int, do func()) {
	if n <= 1 {
		do()
		return
	}
	c.work.Together(do)
}
