package server

import (
	"bytes"
	"time"
)

// find returns the command that the words call, nil if there is none. Pipelines call
// the same again and again.
func (c *conn) find(args [][]byte) *command {
	if n := len(c.batch); n > 0 {
		if last := &c.batch[n-1]; last.command != nil && last.command.names == nil && bytes.Equal(last.args[0], args[0]) && last.command.parent == nil {
			return last.command
		}
	}
	return c.server.table.find(args)
}

// run runs the commands of the batch.
func (c *conn) run() {
	for rest := c.batch; len(rest) > 0 && !c.ending; {
		n := c.neighbours(rest)
		c.execute(rest[:n])
		rest = rest[n:]
	}
}

// neighbours returns how many of the next commands may be answered together.
func (c *conn) neighbours(batch []parsed) int {
	first := batch[0].command
	if first == nil || first.runs == nil || c.tx.open || c.mute != muteNothing {
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

// execute runs one command, or several neighbours, and counts them.
func (c *conn) execute(batch []parsed) {
	p := batch[0]
	c.call.command, c.call.args = p.command, p.args
	mark := c.out.Len()
	c.replies += len(batch)
	began := time.Now()
	rejected := false
	if len(batch) > 1 {
		c.server.store.Begin()
		p.command.runs.handle(&c.call, batch)
		c.server.store.End()
	} else if reason := c.refusal(p); reason != "" {
		rejected = true
		c.reject(p, reason)
	} else if c.tx.open && !p.command.immediate() {
		c.queue(p)
	} else {
		c.handle(p.command)
	}
	if p.command != nil {
		failed := c.out.Len() > mark && c.out.Bytes()[mark] == '-'
		p.command.stats.add(len(batch), time.Since(began), rejected, failed)
	}
	c.afterReply(mark)
}

// handle calls the handler of a command whose words are in the call.
func (c *conn) handle(cmd *command) {
	if cmd.flags&flagAlone != 0 || c.tx.running {
		cmd.handle(&c.call)
		return
	}
	c.server.store.Begin()
	defer c.server.store.End()
	cmd.handle(&c.call)
}

// refusal returns the error for a command that may not run, "" for one that may, in
// the order in which Redis checks.
func (c *conn) refusal(p parsed) string {
	cmd := p.command
	switch {
	case cmd == nil:
		return c.server.table.unknown(p.args)
	case !cmd.takes(len(p.args)):
		return "ERR wrong number of arguments for '" + cmd.full + "' command"
	}
	return ""
}
