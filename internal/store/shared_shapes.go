package store

import (
	"sync"

	"seen/sizing"
)

// maxInterned bounds what an interner remembers. Clients choose parameters as they like;
// when there are too many it begins anew.
const maxInterned = 1 << 10

// interner gives equal values one place in memory. A server with a million filters has
// few kinds of them. What it returns must not be changed.
type interner[T comparable] struct {
	mu     sync.Mutex
	places map[T]*T
}

func (n *interner[T]) get(v T) *T {
	n.mu.Lock()
	defer n.mu.Unlock()
	if at, ok := n.places[v]; ok {
		return at
	}
	if n.places == nil || len(n.places) >= maxInterned {
		n.places = map[T]*T{}
	}
	place := new(v) // not &v, which would put every v on the heap
	n.places[v] = place
	return place
}

var (
	shapes interner[shape]
	plans  interner[plan]
)

// planner remembers the layouts that were found for capacities and error rates: to
// find one takes longer than all else of making a small filter.
type planner struct {
	mu    sync.Mutex
	found map[planned]sizing.Params
}

type planned struct {
	capacity uint64
	rate     float64
}

var layouts planner

// of is sizing.For a blocked filter.
func (p *planner) of(capacity uint64, rate float64) (sizing.Params, error) {
	key := planned{capacity, rate}
	p.mu.Lock()
	params, ok := p.found[key]
	p.mu.Unlock()
	if ok {
		return params, nil
	}
	params, err := sizing.For(sizing.Blocked, capacity, rate)
	if err != nil {
		return params, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil || len(p.found) >= maxInterned {
		p.found = map[planned]sizing.Params{}
	}
	p.found[key] = params
	return params, nil
}
