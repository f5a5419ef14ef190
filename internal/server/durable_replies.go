package server

import (
	"slices"

	"seen/internal/store"
)

// answered is a part of the output: the replies of commands that ran together, and the log
// position that they depend on.
type answered struct {
	commands []parsed // nil if their words were overwritten
	replies  int
	from, to int
	asked    bool // they only read
	lsn      store.LSN
}

// asks reports whether all of the commands only read.
func asks(commands []parsed) bool {
	return !slices.ContainsFunc(commands, func(p parsed) bool { return p.command == nil || p.command.flags&flagReadonly == 0 })
}

// note makes the output from a.from on depend on c.lsn. before is what earlier output
// depends on.
func (c *conn) note(a answered, before store.LSN) {
	if a.to = c.out.Len(); a.to > a.from && c.lsn > 0 {
		a.lsn = c.lsn
		c.pending = append(c.pending, a)
	}
	c.lsn = max(c.lsn, before)
}

// forgetWords records that the words of the commands will be overwritten.
func (c *conn) forgetWords() {
	for i := range c.pending {
		c.pending[i].commands = nil
	}
}

// settle waits until what the replies show is durable. If the log cannot be written,
// changes that are not in it get an error, because a crash may undo them. Read commands
// are run again on what is durable.
func (c *conn) settle() {
	at := c.lsn
	c.lsn = 0
	if at > 0 {
		if err := c.server.store.Wait(c.server.cutting, at); err != nil {
			c.withdraw(err)
		}
	}
	if cap(c.pending) > maxScratch {
		c.pending = nil
	}
	c.pending = c.pending[:0]
}

// withdraw replaces the replies that must not be sent.
func (c *conn) withdraw(err error) {
	out := slices.Clone(c.out.Bytes())
	c.out.Reset(keepBuffer)
	at := 0
	for _, a := range c.pending {
		c.out.Append(out[at:a.from])
		at = a.to
		switch {
		case a.lsn <= c.server.store.Durable() || a.asked && c.server.store.MayShow(c.server.cutting, a.lsn):
			c.out.Append(out[a.from:a.to])
		case a.asked && len(a.commands) == a.replies && !c.tx.open:
			for _, p := range a.commands {
				c.askAgain(p, err)
			}
		default:
			for range a.replies {
				c.out.Error("MISCONF the log cannot be written, so the outcome of this command is unknown: " + err.Error())
			}
		}
	}
	c.out.Append(out[at:])
	c.lsn = 0
}

// askAgain runs a read command again, on what is durable.
func (c *conn) askAgain(p parsed, err error) {
	mark := c.out.Len()
	c.call.command, c.call.args = p.command, p.args
	c.lsn = 0
	c.handle(p)
	if !c.server.store.MayShow(c.server.cutting, c.lsn) {
		c.out.Truncate(mark)
		c.out.Error("MISCONF the log cannot be written, and the durable state of this filter cannot be read: " + err.Error())
	}
}
