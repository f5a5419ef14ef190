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

// Known reports whether a visitor has come in.
func (g *guest) Known() bool { return g.request.visitor != nil }

// Evict has reading and writing fail, so that the request ends.
func (g *guest) Evict() {
	past, control := time.Unix(1, 0), http.NewResponseController(g.request.out)
	_ = control.SetReadDeadline(past) // a recorder in a test has none
	_ = control.SetWriteDeadline(past)
}

// watcher is a page that is kept up to date, over a connection that waits all the time.
type watcher struct {
	began time.Time
	lost  chan struct{}
}

// Waits reports for how long the page has been kept up to date. That is never too long.
func (w *watcher) Waits(now time.Time) (since time.Duration, overdue, ok bool) {
	return now.Sub(w.began), false, true
}

// Known reports true: only visitors follow pages.
func (w *watcher) Known() bool { return true }

// Evict ends the stream.
func (w *watcher) Evict() { close(w.lost) }
