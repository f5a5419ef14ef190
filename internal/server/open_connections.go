package server

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"seen/internal/fair"
)

// clients are the open connections.
type clients struct {
	mu     sync.Mutex
	all    map[*conn]bool
	nextID int64
	places *fair.Places // enforces the limits of connections

	total    atomic.Int64 // connections since the start
	rejected atomic.Int64 // rejected because there were too many
	evicted  atomic.Int64 // closed to make room for others
	slow     atomic.Int64 // closed because they did not read their replies
}

func (cs *clients) init(most, each int) {
	cs.all, cs.places = map[*conn]bool{}, fair.NewPlaces(most, each)
}

// add gives a connection a place and an ID, or returns why there is no place.
func (cs *clients) add(c *conn, now time.Time) (err error) {
	if c.slot, err = cs.places.Take(c.peer.key, c, now); err != nil {
		cs.rejected.Add(1)
		return err
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.nextID++
	c.id = cs.nextID
	cs.all[c] = true
	cs.total.Add(1)
	return nil
}

func (cs *clients) remove(c *conn) {
	c.slot.Leave()
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.all, c)
}

func (cs *clients) count() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return len(cs.all)
}

// list returns the connections in the order of their IDs.
func (cs *clients) list() []*conn {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	list := make([]*conn, 0, len(cs.all))
	for c := range cs.all {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *conn) int { return cmp.Compare(a.id, b.id) })
	return list
}

// randomID returns 40 hexadecimal digits.
func randomID() string {
	var b [20]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
