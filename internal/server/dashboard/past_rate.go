package dashboard

import (
	"sync"
	"sync/atomic"
	"time"

	"seen/internal/store"
)

// pastRate watches which filters are past their error rate, that is, err more often than was
// asked for when they were made. It warns once about each, when it crosses the rate.
type pastRate struct {
	past   atomic.Int64 // filters past their rate at the last look
	mu     sync.Mutex
	names  map[string]bool // of these filters
	began  bool            // there was a look
	upTo   store.LSN       // the last change before it
	looked time.Time
	took   time.Duration
}

// pastRateTold is how many filters one look names in the log.
const pastRateTold = 10

// keep looks at the filters that have changed since the last look if that is old enough.
func (r *pastRate) keep(s *store.Store, warn func(message string, pairs ...any), now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if since := now.Sub(r.looked); r.began && since >= 0 && since < max(lookEvery, lookShare*r.took) {
		return
	}
	begin := time.Now()
	upTo := s.Last()
	present, crossed := map[string]bool{}, 0
	for name, v := range s.Names() {
		f, ok := v.(store.Filter)
		if !ok || r.began && v.LSN() <= r.upTo && !r.names[name] {
			continue
		}
		i := f.Info()
		if !i.PastRate() {
			continue
		}
		present[name] = true
		if r.names[name] {
			continue
		}
		if crossed++; crossed <= pastRateTold {
			warn("a filter is past its error rate: it has more keys than it was made for", "filter", name,
				"error_rate", i.ErrorRateNow, "asked", i.ErrorRate, "keys", i.Added, "capacity", i.Capacity)
		}
	}
	if crossed > pastRateTold {
		warn("more filters are past their error rate", "filters", crossed-pastRateTold)
	}
	r.past.Store(int64(len(present)))
	r.names, r.began, r.upTo, r.looked, r.took = present, true, upTo, now, time.Since(begin)
}
