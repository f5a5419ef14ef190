package web

import (
	"net/http"
	"time"
)

// guest is a request that has a place.
type guest struct{ request *request }

// Waits reports for how long the client has kept the request waiting.
func (g *guest) Waits(now time.Time) (since time.Duration, overdue, ok bool) {
	return g.request.Config.Waits(g.request.Request, now)
}

// Known reports whether the client has logged in, or does not have to.
func (g *guest) Known() bool { return g.request.visitor != nil }

// Evict makes reads and writes of the request fail, so that it ends.
func (g *guest) Evict() {
	past, control := time.Unix(1, 0), http.NewResponseController(g.request.out)
	_ = control.SetReadDeadline(past) // a recorder in a test has none
	_ = control.SetWriteDeadline(past)
}

// watcher is the stream of events of a page, over a connection that waits all the time.
type watcher struct {
	began time.Time
	lost  chan struct{}
}

// Waits reports for how long the stream has been running. It is never overdue.
func (w *watcher) Waits(now time.Time) (since time.Duration, overdue, ok bool) {
	return now.Sub(w.began), false, true
}

// Known returns true: only visitors follow pages.
func (w *watcher) Known() bool { return true }

// Evict ends the stream.
func (w *watcher) Evict() { close(w.lost) }
