package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"seen/internal/fair"
)

// patience is how long a browser may take to take a state of the page.
const patience = 20 * time.Second

// follow sends parts of a page, by the id of the element that each fills, at first
// and whenever they change, until the browser or the server ends. They go out as
// server-sent events.
func (r *request) follow(parts func() (map[string]string, error)) error {
	key := r.visitor.User() + "\x00" + r.URL.RequestURI()
	// The browser of an address that has most of the places loses one to others, and
	// comes back later by itself.
	lost := make(chan struct{})
	place, err := r.watchers.Take(fair.KeyOf(r.RemoteAddr), &watcher{began: time.Now(), lost: lost}, time.Now())
	if err != nil {
		r.out.Header().Set("Retry-After", "60")
		return &Refused{http.StatusServiceUnavailable, fmt.Sprintf("The server already keeps %d pages up to date. Close one, or try again later.", maxWatchers)}
	}
	defer place.Leave()
	r.place.Leave() // it waits most of the time
	control := http.NewResponseController(r.out)
	_ = control.SetReadDeadline(time.Time{}) // a recorder in a test has none
	r.out.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(r.Every)
	defer tick.Stop()
	last, sent := "", time.Time{}
	for {
		text, err := r.shared.text(key, r.Every*3/4, parts)
		if err != nil {
			return r.broken(last == "", err)
		}
		message := ": nothing new\n\n" // tells whether anybody is still there
		if text != last {
			message = "event: parts\ndata: " + text + "\n\n"
		}
		if text != last || time.Since(sent) > patience {
			_ = control.SetWriteDeadline(time.Now().Add(patience)) // a recorder in a test has none
			if _, err := r.out.Write([]byte(message)); err != nil {
				return errAnswered
			}
			if err := control.Flush(); err != nil {
				return errAnswered
			}
			last, sent = text, time.Now()
		}
		select {
		case <-tick.C:
		case <-lost:
			return errAnswered
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

// shared makes parts of pages once for all who look at the same page as the same user:
// with ten thousand filters that takes a while.
type shared struct {
	mu   sync.Mutex
	made map[string]*sharedText
}

type sharedText struct {
	mu   sync.Mutex
	at   time.Time // zero: not made yet
	text string
}

// text returns the parts as JSON, made at most so long ago.
func (s *shared) text(key string, age time.Duration, parts func() (map[string]string, error)) (string, error) {
	s.mu.Lock()
	one := s.made[key]
	if one == nil {
		if s.made == nil || len(s.made) >= 2*maxWatchers {
			s.made = map[string]*sharedText{} // of pages that nobody looks at any more, mostly
		}
		one = new(sharedText)
		s.made[key] = one
	}
	s.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	if !one.at.IsZero() && time.Since(one.at) < age {
		return one.text, nil
	}
	state, err := parts()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(state)
	if err != nil {
		return "", err
	}
	one.text, one.at = string(text), time.Now()
	return one.text, nil
}
