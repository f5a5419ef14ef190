package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// patience is how long a browser may take to take a state of the page.
const patience = 20 * time.Second

// follow sends parts of a page, by the id of the element that each fills, at first
// and whenever they change, until the browser or the server ends. They go out as
// server-sent events.
func (r *request) follow(parts func() (map[string]string, error)) error {
	select {
	case r.watchers <- struct{}{}:
		defer func() { <-r.watchers }()
	default:
		r.out.Header().Set("Retry-After", "60")
		return &Refused{http.StatusServiceUnavailable, fmt.Sprintf("%d pages are being kept up to date already.", maxWatchers)}
	}
	<-r.working // it waits most of the time
	defer func() { r.working <- struct{}{} }()
	control := http.NewResponseController(r.out)
	_ = control.SetReadDeadline(time.Time{}) // a recorder in a test has none
	r.out.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(r.Every)
	defer tick.Stop()
	last, sent := "", time.Time{}
	for {
		state, err := parts()
		if err != nil {
			return r.broken(last == "", err)
		}
		text, err := json.Marshal(state)
		if err != nil {
			return r.broken(last == "", err)
		}
		message := ": nothing new\n\n" // tells whether anybody is still there
		if string(text) != last {
			message = "event: parts\ndata: " + string(text) + "\n\n"
		}
		if string(text) != last || time.Since(sent) > patience {
			_ = control.SetWriteDeadline(time.Now().Add(patience)) // a recorder in a test has none
			if _, err := r.out.Write([]byte(message)); err != nil {
				return errAnswered
			}
			if err := control.Flush(); err != nil {
				return errAnswered
			}
			last, sent = string(text), time.Now()
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return errAnswered
		case <-r.Source.Done():
			return errAnswered
		}
		if !r.visitor.Valid() {
			return errAnswered
		}
	}
}

// broken ends a stream; only before its beginning somebody can be told why.
func (r *request) broken(first bool, err error) error {
	if first {
		return err
	}
	return errAnswered
}
