package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"seen/internal/fair"
)

// patience is how long a browser may take to read one event.
const patience = 20 * time.Second

// follow keeps a page up to date with server-sent events. An event has the named parts of
// the page as JSON, by the id of the element that each fills. follow sends one at once and
// one whenever a part has changed, until the browser or the server ends.
func (r *request) follow(page string, content func() (any, error), names ...string) error {
	parts := func() (map[string]string, error) {
		c, err := content()
		if err != nil {
			return nil, err
		}
		all := map[string]string{}
		for _, name := range names {
			if all[name], err = part(page, name, c); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	key := r.visitor.User() + "\x00" + r.URL.RequestURI()
	// When all places are taken, an address with most of them loses one. Its browser
	// reconnects later by itself.
	lost := make(chan struct{})
	place, err := r.watchers.Take(fair.KeyOf(r.RemoteAddr), &watcher{began: time.Now(), lost: lost}, time.Now())
	if err != nil {
		r.out.Header().Set("Retry-After", "60")
		return &Refused{http.StatusServiceUnavailable, fmt.Sprintf("The server already keeps %d pages up to date. Close one, or try again later.", maxWatchers)}
	}
	defer place.Leave()
	r.place.Leave() // the stream waits most of the time
	control := http.NewResponseController(r.out)
	_ = control.SetReadDeadline(time.Time{}) // a recorder in a test has none
	r.out.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(r.Every)
	defer tick.Stop()
	last, sent := "", time.Time{}
	for {
		text, err := r.shared.text(key, r.Every*3/4, parts)
		switch {
		case err != nil && last == "":
			return err
		case err != nil:
			return errAnswered // the stream has begun
		}
		message := ": nothing new\n\n" // a comment: writing it shows whether the browser is still there
		if text != last {
			message = "event: parts\ndata: " + text + "\n\n"
		}
		if text != last || time.Since(sent) > patience {
			_ = control.SetWriteDeadline(time.Now().Add(patience)) // a recorder in a test has none
			if _, err := r.out.Write([]byte(message)); err != nil || control.Flush() != nil {
				return errAnswered
			}
			last, sent = text, time.Now()
		}
		select {
		case <-tick.C:
			if r.visitor.Valid() {
				continue
			}
		case <-lost:
		case <-r.Context().Done():
		case <-r.Source.Done():
		}
		return errAnswered
	}
}

// shared makes the parts of a page once for all browsers that show the same page to the same
// user: with ten thousand filters that takes a while.
type shared struct {
	mu   sync.Mutex
	made map[string]*sharedText
}

type sharedText struct {
	mu   sync.Mutex
	at   time.Time // when it was made; zero: not yet
	text string
}

// text returns the parts as JSON, at most age old.
func (s *shared) text(key string, age time.Duration, parts func() (map[string]string, error)) (string, error) {
	s.mu.Lock()
	one := s.made[key]
	if one == nil {
		if s.made == nil || len(s.made) >= 2*maxWatchers {
			s.made = map[string]*sharedText{} // most are of pages that are no longer open
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
