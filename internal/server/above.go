package server

import (
	"sync"
	"time"

	"seen/internal/store"
)

// above follows which filters are past their error rate: that err more often than was
// asked for when they were made. It tells of each once, when it gets there.
type above struct {
	mu     sync.Mutex
	names  map[string]bool // as of the last look
	began  bool            // there was a look
	upTo   store.LSN       // of the changes that it has seen
	looked time.Time
	took   time.Duration
}

// aboveTold is how many filters one look tells of by name.
const aboveTold = 10

// count returns how many filters were past their error rate at the last look.
func (a *above) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.names)
}

// keep looks at filters that were changed since the last look, if that is some time ago.
func (a *above) keep(s *Server, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if since := now.Sub(a.looked); a.began && since >= 0 && since < max(lookEvery, lookShare*a.took) {
		return
	}
	begin := time.Now()
	upTo := s.store.Last()
	present, crossed := map[string]bool{}, 0
	for name, v := range s.store.Names() {
		f, ok := v.(store.Filter)
		if !ok || a.began && v.LSN() <= a.upTo && !a.names[name] {
			continue
		}
		i := f.Info()
		if !i.PastRate() {
			continue
		}
		present[name] = true
		if a.names[name] {
			continue
		}
		if crossed++; crossed <= aboveTold {
			s.event(Warning, "a filter is past its error rate: it has more keys than it was made for", "filter", name,
				"error_rate", i.ErrorRateNow, "asked", i.ErrorRate, "keys", i.Added, "capacity", i.Capacity)
		}
	}
	if crossed > aboveTold {
		s.event(Warning, "more filters are past their error rate", "filters", crossed-aboveTold)
	}
	a.names, a.began, a.upTo, a.looked, a.took = present, true, upTo, now, time.Since(begin)
}

// errorsOf says how often the Bloom filter of a name errs; nil if there is none.
func (s *Server) errorsOf(name string) *filterErrors {
	f, ok := s.store.Get([]byte(name)).(store.Filter)
	if !ok {
		return nil
	}
	i := f.Info()
	return &filterErrors{i.ErrorRateNow, i.ErrorRate, i.PastRate()}
}
