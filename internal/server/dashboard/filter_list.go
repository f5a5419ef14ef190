package dashboard

import (
	"math"
	"slices"
	"sync"
	"time"

	"seen/internal/server/rest"
	"seen/internal/store"
	"seen/internal/web"
)

// A filterList has the state of all filters for the pages. It looks at the filters from
// time to time; visitors see the last look. A look computes the error rates, which takes
// time, only for filters that have changed. With very many filters it has the largest.
type filterList struct {
	store *store.Store
	most  int // filters in the list

	mu      sync.Mutex
	looked  time.Time
	took    time.Duration // for the last look
	asked   time.Time     // when a page last needed the list
	filters []*web.Filter
	others  int // smaller filters that are not in the list
	notes   map[store.Value]*note
}

// note is what the list remembers about a value.
type note struct {
	at      store.LSN
	row     web.Filter // the state at position at, without rates
	traffic store.Traffic
	since   time.Time // when traffic was read
	rates
}

// rates are the recent traffic of a value in keys per second.
type rates struct{ adds, checks, hits float64 }

const (
	// lookEvery is the least time between two looks. That time is also at least lookShare
	// times as long as a look takes.
	lookEvery = 2 * time.Second
	lookShare = 20
	// smoothing is the time constant of the moving average of rates.
	smoothing = 10 * time.Second
	// interest is how long looks go on after a page last needed the list.
	interest = time.Minute
)

// show returns the filters as of the last look, which callers must not change, how many
// others there are, and the time of the look.
func (l *filterList) show(now time.Time) (filters []*web.Filter, others int, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = now
	if l.notes == nil || l.due(now) {
		l.look(now)
	}
	return l.filters, l.others, l.looked
}

// due reports whether it is time for another look.
func (l *filterList) due(now time.Time) bool {
	return now.Sub(l.looked) >= max(lookEvery, lookShare*l.took)
}

// keep looks again while pages need the list.
func (l *filterList) keep(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.notes != nil && now.Sub(l.asked) < interest && l.due(now) {
		l.look(now)
	}
}

func (l *filterList) look(now time.Time) {
	if l.notes == nil {
		l.notes = map[store.Value]*note{}
	}
	begin := time.Now()
	shown, others := l.store.Largest(l.most, func(string) bool { return true })
	filters := make([]*web.Filter, len(shown))
	rows := make([]web.Filter, len(shown)) // one allocation for all
	present := make(map[store.Value]*note, len(shown))
	for i, found := range shown {
		v := found.Value
		n := l.notes[v]
		if n == nil {
			n = &note{at: v.LSN(), row: describe(v), since: slices.MaxFunc([]time.Time{v.Created(), l.store.Opened()}, time.Time.Compare)}
		}
		present[v] = n
		// Generations of a window expire without a change.
		if at := v.LSN(); at != n.at || n.row.Kind == kindWindow {
			n.at, n.row = at, describe(v)
		}
		n.measure(v.Traffic(), now)
		row := &rows[i]
		filters[i], *row = row, n.row
		row.Name, row.Bytes, row.Expires = found.Name, v.Bytes(), v.Expires()
		row.Adds, row.Checks, row.Hits = n.adds, n.checks, math.NaN()
		if n.checks > 0 {
			row.Hits = n.hits / n.checks
		}
	}
	l.filters, l.others, l.notes = filters, others, present
	l.looked, l.took = now, time.Since(begin)
}

// measure brings the rates up to date.
func (n *note) measure(t store.Traffic, now time.Time) {
	span := now.Sub(n.since).Seconds()
	if span <= 0 {
		return
	}
	weight := -math.Expm1(-span / smoothing.Seconds())
	for _, r := range []struct {
		rate    *float64
		is, was uint64
	}{{&n.adds, t.Adds, n.traffic.Adds}, {&n.checks, t.Checks, n.traffic.Checks}, {&n.hits, t.Hits, n.traffic.Hits}} {
		*r.rate += weight * (float64(r.is-r.was)/span - *r.rate)
		if *r.rate < 0.01 { // the average alone never becomes 0
			*r.rate = 0
		}
	}
	n.traffic, n.since = t, now
}

const kindWindow = "window"

// describe returns the state of a value without its name.
func describe(v store.Value) web.Filter {
	f := web.Filter{Rate: math.NaN(), Asked: math.NaN()}
	if kind := rest.KindOf(v.Type()); kind != nil {
		f.Type = kind.Name
	}
	switch v := v.(type) {
	case store.Filter:
		i := v.Info()
		f.Items, f.Capacity, f.Grows = i.Added, i.Capacity, i.Expansion != 0
		f.Rate, f.Asked, f.PastRate = i.ErrorRateNow, i.ErrorRate, i.PastRate()
		switch {
		case i.Span != 0:
			f.Kind = kindWindow
		case i.Layout != store.LayoutSeen:
			f.Kind = i.Layout.String()
		}
	case *store.Cuckoo:
		i := v.Info()
		f.Items, f.Capacity, f.Grows, f.Rate = i.Added, i.Slots, i.Expansion != 0, i.ErrorRate()
		if i.Layout == store.LayoutRedisBloom {
			f.Kind = i.Layout.String()
		}
	case *store.CountMin:
		f.Items = v.Total()
	case *store.TopK:
		best, _ := v.List()
		f.Items, f.Capacity, f.Grows = uint64(len(best)), uint64(v.Config().K), true
	}
	return f
}
