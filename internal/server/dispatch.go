package server

import (
	"bytes"
	"strings"
	"time"

	"seen/internal/server/acl"
	"seen/internal/server/args"
)

// find returns the command for the words, nil if there is none. Pipelines often repeat the
// same command.
func (c *conn) find(args [][]byte) *command {
	if n := len(c.batch); n > 0 {
		last := &c.batch[n-1]
		if cmd := last.command; cmd != nil && cmd.names == nil && cmd.parent == nil && bytes.Equal(last.args[0], args[0]) {
			return cmd
		}
	}
	return c.server.table.find(args)
}

// run runs the commands of the batch.
func (c *conn) run() {
	for rest := c.batch; len(rest) > 0 && !c.ending; {
		if c.life.Err() != nil {
			c.ending = true // the client is gone
			return
		}
		n := c.neighbours(rest)
		c.execute(rest[:n])
		rest = rest[n:]
		// Small commands may have large replies: send some before running more.
		if c.outlet != nil && c.out.Len() > flushSoon && !c.flush() {
			c.ending = true
		}
	}
}

// neighbours returns how many of the next commands may be answered together.
func (c *conn) neighbours(batch []parsed) int {
	first := batch[0].command
	if len(batch) == 1 || first == nil || first.runs == nil || c.tx.open || c.mute != muteNothing {
		return 1
	}
	n := 0
	for n < len(batch) {
		p := batch[n]
		if p.command == nil || p.command.runs != first.runs || !p.command.takes(len(p.args)) ||
			n > 0 && !bytes.Equal(p.args[1], batch[0].args[1]) || c.refusal(p) != "" {
			break
		}
		n++
	}
	return max(n, 1)
}

// execute runs one command or several neighbours.
func (c *conn) execute(batch []parsed) {
	p := batch[0]
	c.call.command, c.call.args = p.command, p.args
	mark, before := c.out.Len(), c.lsn
	c.lsn = 0
	a := answered{commands: batch, replies: len(batch), from: mark, asked: asks(batch)}
	if p.command != nil && p.command.full == "exec" {
		a.commands, a.asked = nil, asks(c.tx.queued)
	}
	c.replies += len(batch)
	if len(batch) > 1 {
		c.counted(batch, func() {
			c.enter(batch)
			defer c.leave()
			p.command.runs.handle(&c.call, batch)
		})
	} else if p.command == nil && speaksHTTP(p.args[0]) {
		c.server.event(Warning, "a client sent HTTP, possibly from a web page; its connection was closed", "client", c.address())
		c.replies--
		c.ending = true
	} else if reason := c.refusal(p); reason != "" {
		c.reject(p, reason)
	} else if c.tx.open && !p.command.immediate() {
		c.queue(p)
	} else {
		c.counted(batch, func() { c.handle(p) })
	}
	c.afterReply(mark)
	c.note(a, before)
}

// speaksHTTP reports whether a word begins a line of HTTP. A web page can make a browser
// send a request to any port, and its body would be read as commands.
func speaksHTTP(word []byte) bool {
	return args.Is(word, "POST") || args.Is(word, "HOST:")
}

// handle calls the handler of a command whose words are in the call.
func (c *conn) handle(p parsed) {
	switch cmd := p.command; {
	case c.tx.running && cmd.flags&flagWrite != 0:
		// Changes of a transaction are not stopped: all or none take effect.
		c.work.Firmly(func() { cmd.handle(&c.call) })
	case c.tx.running || cmd.flags&flagAlone != 0:
		cmd.handle(&c.call)
	default:
		c.enter([]parsed{p})
		defer c.leave()
		cmd.handle(&c.call)
	}
}

// stopwatch is the reference for time.Since, which reads one system clock; time.Now reads
// two.
var stopwatch = time.Now()

// counted runs commands and records their duration and result.
func (c *conn) counted(batch []parsed, run func()) {
	cmd, mark, began := batch[0].command, c.out.Len(), time.Since(stopwatch)
	run()
	took := time.Since(stopwatch) - began
	failed := c.out.Len() > mark && c.out.Bytes()[mark] == '-'
	cmd.stats.add(len(batch), took, failed)
	if failed {
		c.server.errors.count(c.out.Bytes()[mark+1:])
	}
	if cmd.flags&flagSkipSlowlog == 0 {
		c.server.slowLog.note(c, batch, took)
	}
}

const noAuth = "NOAUTH Authentication required."

// refusal returns the error for a command that may not run, "" if it may. The order of the
// checks is that of Redis.
func (c *conn) refusal(p parsed) string {
	cmd := p.command
	switch {
	case cmd == nil:
		return c.server.table.unknown(p.args)
	case !cmd.takes(len(p.args)):
		return args.WrongNumber(cmd.full)
	case c.denied() && cmd.flags&flagNoAuth == 0:
		return denied
	case c.stranger() && cmd.flags&flagNoAuth == 0:
		return noAuth
	case c.tx.open && cmd.flags&flagNoMulti != 0:
		return "ERR Command not allowed inside a transaction"
	}
	switch d, _ := c.user.Load().Rights().Check(cmd.acl, p.args); d {
	case acl.DeniedCommand:
		if c.tx.running {
			return rightsChanged + "no permission to execute the command or subcommand"
		}
		return "NOPERM User " + c.user.Load().Name + " has no permissions to run the '" + cmd.full + "' command"
	case acl.DeniedKey:
		if c.tx.running {
			return rightsChanged + "no permission to touch the specified keys"
		}
		return "NOPERM No permissions to access a key"
	}
	return ""
}

const rightsChanged = "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " +
	"This command is no longer allowed for the following reason: "

// reject answers a command that does not run.
func (c *conn) reject(p parsed, reason string) {
	c.server.errors.count([]byte(reason))
	if p.command != nil {
		p.command.stats.rejected.Add(1)
	}
	if strings.HasPrefix(reason, "NOPERM ") {
		c.noteDenied(p)
	}
	if p.command != nil && p.command.full == "exec" {
		c.discard()
		reason = "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(reason, "ERR ")
	}
	c.tx.failed = c.tx.open
	c.out.Error(reason)
}

// noteDenied adds a denied command to the ACL log.
func (c *conn) noteDenied(p parsed) {
	u := c.user.Load()
	d, at := u.Rights().Check(p.command.acl, p.args)
	r := acl.Refusal{Reason: "command", Context: c.place(), Object: p.command.full, User: u.Name, Client: c.describe()}
	if d == acl.DeniedKey {
		r.Reason, r.Object = "key", string(p.args[at])
	}
	c.server.acl.Log.Add(r, c.server.config.Now())
}

// place returns the context of a command for the ACL log.
func (c *conn) place() string {
	if c.tx.open || c.tx.running {
		return "multi"
	}
	return "toplevel"
}

// stranger reports whether the client must log in first.
func (c *conn) stranger() bool {
	return !c.authenticated.Load() && (c.peer.far || !c.server.acl.Open())
}
