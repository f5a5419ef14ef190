package server

import (
	"time"

	"seen/internal/fair"
)

// These methods decide which connections and buffers are given up when there are too many.
// Callers hold locks, so the methods read only atomic fields and do not wait.

// Waits reports how long the client has sent no complete command or, at the end, has not
// read all replies.
func (c *conn) Waits(now time.Time) (since time.Duration, overdue, ok bool) {
	since = now.Sub(time.Unix(0, c.served.Load()))
	return since, fair.Slow(since, c.since.Load()), c.asking.Load()
}

// Known reports whether the client has logged in or does not have to.
func (c *conn) Known() bool { return c.authenticated.Load() || c.server.acl.Open() }

// Evict closes the connection because its place is needed.
func (c *conn) Evict() {
	c.server.clients.evicted.Add(1)
	c.server.event(Debug, "an idle or slow client was disconnected to make room for another", "client", c.address())
	c.cut()
}

// idle returns how long the client has neither sent nor read anything.
func (c *conn) idle() time.Duration {
	now := c.server.config.Now()
	if stalled := c.outlet.stalledFor(now); stalled > 0 {
		return stalled
	}
	return c.idleFor(now)
}

// impoverish closes the connection because others need its memory.
func (c *conn) impoverish() {
	c.server.clients.slow.Add(1)
	c.server.event(Warning, "a client was disconnected: other clients need the memory of its buffers", "client", c.address())
	if c.poor.Store(true); c.outlet.since.Load() != 0 {
		c.cut()
		return
	}
	c.drain()
}
