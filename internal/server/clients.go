package server

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"
)

// clients are the connections that there are.
type clients struct {
	mu     sync.Mutex
	all    map[*conn]bool
	nextID int64

	total    atomic.Int64 // connections there have been
	rejected atomic.Int64 // turned away because there were too many
	slow     atomic.Int64 // dropped because they did not take their replies
}

func (cs *clients) init() { cs.all = map[*conn]bool{} }

// add gives a connection its number, unless there are limit of them already.
func (cs *clients) add(c *conn, limit int) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if len(cs.all) >= limit {
		cs.rejected.Add(1)
		return false
	}
	cs.nextID++
	c.id = cs.nextID
	cs.all[c] = true
	cs.total.Add(1)
	return true
}

func (cs *clients) remove(c *conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.all, c)
}

func (cs *clients) count() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return len(cs.all)
}

// list returns the connections in the order in which they came.
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
