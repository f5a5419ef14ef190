package fair

import (
	"errors"
	"sync"
	"time"
)

// Places limit how many guests there are at a time: connections, or running requests. When
// all places are taken, a new guest gets the place of one that waits for its client.
// Overdue guests leave first, then strangers before known clients, then guests of the
// address with the most places, then the longest-waiting. Guests that are not overdue leave
// only for an address that has clearly fewer places than theirs. So neither one address nor
// idle guests keep others out, and a guest that is being served stays.
type Places struct {
	mu    sync.Mutex
	most  int
	each  int // places of one address; 0: no limit
	all   map[*Place]bool
	count map[string]int // by address
}

// A Guest has a place. Any goroutine may call its methods, which must not use the place.
type Guest interface {
	// Waits reports for how long the guest has been waiting for its client, and whether
	// that is longer than it should take. ok is false while the guest is served.
	Waits(now time.Time) (since time.Duration, overdue, ok bool)
	// Known reports whether its client has logged in, or does not have to.
	Known() bool
	// Evict ends the guest, which has lost its place. It does not wait.
	Evict()
}

// A Place is taken until its guest leaves.
type Place struct {
	places *Places
	key    string
	guest  Guest
}

// Errors of Take.
var (
	ErrFull    = errors.New("all places are in use")
	ErrAddress = errors.New("the address uses all places that one address may have")
)

// NewPlaces returns most places. One address may have each of them; 0 means all.
func NewPlaces(most, each int) *Places {
	return &Places{most: most, each: each, all: map[*Place]bool{}, count: map[string]int{}}
}

// Limit changes the number of places. Guests that have a place keep it.
func (p *Places) Limit(most, each int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.most, p.each = most, each
}

// Len returns how many places are taken.
func (p *Places) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all)
}

// Take gives a guest from an address a place. If all are taken, it may evict another guest;
// otherwise it returns ErrFull or ErrAddress.
func (p *Places) Take(key string, g Guest, now time.Time) (*Place, error) {
	place, victim, err := p.take(key, g, now)
	if victim != nil {
		victim.guest.Evict()
	}
	return place, err
}

func (p *Places) take(key string, g Guest, now time.Time) (place, victim *Place, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.each > 0 && p.count[key] >= p.each:
		if victim = p.victim(now, func(c candidate) bool { return c.place.key == key && c.overdue }); victim == nil {
			if len(p.all) >= p.most {
				return nil, nil, ErrFull
			}
			return nil, nil, ErrAddress
		}
	case len(p.all) >= p.most:
		mine := p.count[key]
		if victim = p.victim(now, func(c candidate) bool { return c.overdue || c.count > mine+1 }); victim == nil {
			return nil, nil, ErrFull
		}
	}
	if victim != nil {
		p.leave(victim)
	}
	place = &Place{p, key, g}
	p.all[place] = true
	p.count[key]++
	return place, victim, nil
}

// candidate is a guest that waits for its client.
type candidate struct {
	place   *Place
	known   bool
	overdue bool
	count   int // places of its address
	since   time.Duration
}

// before reports whether c leaves before other.
func (c candidate) before(other candidate) bool {
	switch {
	case other.place == nil:
		return true
	case c.overdue != other.overdue:
		return c.overdue
	case c.known != other.known:
		return !c.known
	case c.count != other.count:
		return c.count > other.count
	}
	return c.since > other.since
}

// victim returns the place of the first guest to leave among those for which may is true,
// nil if there is none. mu is held.
func (p *Places) victim(now time.Time, may func(candidate) bool) *Place {
	var first candidate
	for place := range p.all {
		since, overdue, ok := place.guest.Waits(now)
		if !ok {
			continue
		}
		c := candidate{place, place.guest.Known(), overdue, p.count[place.key], since}
		if may(c) && c.before(first) {
			first = c
		}
	}
	return first.place
}

// leave takes a place back. mu is held.
func (p *Places) leave(place *Place) {
	if !p.all[place] {
		return
	}
	delete(p.all, place)
	if p.count[place.key]--; p.count[place.key] == 0 {
		delete(p.count, place.key)
	}
}

// Leave gives the place back; the second time, and after an eviction, it does nothing.
func (p *Place) Leave() {
	p.places.mu.Lock()
	defer p.places.mu.Unlock()
	p.places.leave(p)
}
