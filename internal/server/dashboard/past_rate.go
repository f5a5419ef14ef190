package dashboard

import (
	"sync"
	"sync/atomic"
	"time"

	"seen/internal/store"
)

// pastRate follows which filters are past their error rate: that err more often than was
// asked for when they were made. It tells of each once, when it gets there.
type pastRate struct {
	past   atomic.Int64 // filters, as of the last look
	mu     sync.Mutex
	names  map[string]bool // as of the last look
	began  bool            // there was a look
	upTo   store.LSN       // of the changes that it has seen
	looked time.Time
	took   time.Duration
}

// pastRateTold is how many filters one look tells of by name.
const pastRateTold = 10

// count returns how many filters were past their error rate at the last look. It does not
// wait for the next, which may take seconds where there are millions of filters.
func (r *pastRate) count() int { return int(r.past.Load()) }

// keep looks at filters that were changed since the last look, if that is some time ago.
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
