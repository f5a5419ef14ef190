package server

import (
	"time"

	"seen/internal/fair"
)

// What decides which connections and buffers give way when there are too many. Others
// call these methods while they hold locks: they look at atomic fields alone, and wait
// for nothing.

// Waits reports for how long the client has sent no complete command, or at the end not
// taken all replies.
func (c *conn) Waits(now time.Time) (since time.Duration, overdue, ok bool) {
	since = now.Sub(time.Unix(0, c.served.Load()))
	return since, fair.Slow(since, c.since.Load()), c.asking.Load()
}

// Known reports whether the client has logged in, or need not.
func (c *conn) Known() bool { return c.authenticated.Load() || c.server.acl.Open() }

// Evict ends the connection, whose place is needed.
func (c *conn) Evict() {
	c.server.clients.evicted.Add(1)
	c.server.event(Debug, "an idle or slow client was disconnected to make room for another", "client", c.address())
	c.cut()
}

// idle returns for how long the client has neither sent nor taken anything.
func (c *conn) idle() time.Duration {
	now := c.server.config.Now()
	if stalled := c.outlet.stalledFor(now); stalled > 0 {
		return stalled
	}
	return c.idleFor(now)
}

// impoverish ends the connection, since others need the memory that it held.
func (c *conn) impoverish() {
	c.server.clients.slow.Add(1)
	c.server.event(Warning, "a client was disconnected: other clients need the memory of its buffers", "client", c.address())
	if c.poor.Store(true); c.outlet.since.Load() != 0 {
		c.cut()
		return
	}
	c.drain()
}
