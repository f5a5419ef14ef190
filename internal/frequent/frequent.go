// Package frequent finds the most frequent keys of a stream and their numbers, for "seen
// top". The counts are exact while all keys fit into the memory; after that they have an
// error that the Counter knows. It is not a sketch to keep: it has no file format and is
// not merged. A Counter is for one goroutine.
package frequent

import (
	"cmp"
	"math/bits"
	"slices"
)

// Counter counts keys by their 64-bit hashes. Two keys with the same hash are one key to
// it; among n keys, n*n/2^65 pairs are expected.
//
// It is the algorithm of Misra and Gries (Finding repeated elements, 1982), with many
// counters dropped at a time, as Anderson et al. do (A high-performance algorithm for
// identifying frequent items in data streams, 2017): when there is no room for another
// key, the median of a sample of the counters is subtracted from all of them, and those
// that are not above 0 go. A counter is then too low by at most the sum of what was
// subtracted, which is at most about twice the number of additions divided by the number
// of counters.
type Counter struct {
	slots []slot // by linear probing from the high bits of the hash
	used  int
	most  int    // slots of the largest table
	lost  uint64 // what was subtracted from every counter

	// The keys of the counters that may be among the first keep. All counters above bar
	// have their key here.
	keys map[uint64][]byte
	keep int
	bar  uint64
}

// slot is a counter. A count of 0 means that the slot is free.
type slot struct {
	hash  uint64
	count uint64 // with kept
}

// kept says in a count that the key is in Counter.keys.
const kept = 1 << 63

const (
	leastSlots = 1 << 10
	slotBytes  = 16
	sampled    = 1 << 10 // counters of which the median is taken
)

// LeastBytes is the least memory that New accepts.
const LeastBytes = 2 * leastSlots * slotBytes

// New returns a Counter that can tell the n most frequent keys, in at most the memory of
// bytes, which is at least LeastBytes, and that of 2n keys or 2048 if that is more.
func New(n int, bytes uint64) *Counter {
	// While a table is replaced, there are two.
	most := bytes / 2 / slotBytes
	return &Counter{
		slots: make([]slot, leastSlots), most: 1 << (bits.Len64(most) - 1),
		keys: map[uint64][]byte{}, keep: max(n, 1<<10),
	}
}

// Add counts one key with hash h. It calls key if it has to keep a copy of the key.
func (c *Counter) Add(h uint64, key func() []byte) {
	if c.used >= len(c.slots)/4*3 {
		c.makeRoom()
	}
	s := c.find(h)
	if s.count == 0 {
		s.hash = h
		c.used++
	}
	s.count++
	if s.count&kept == 0 && s.count > c.bar {
		s.count |= kept
		c.keys[h] = slices.Clone(key())
		if len(c.keys) >= 2*c.keep {
			c.chooseKeys()
		}
	}
}

// find returns the slot of h, or the free one where it belongs.
func (c *Counter) find(h uint64) *slot {
	mask := uint64(len(c.slots) - 1)
	for i := h >> (64 - bits.Len64(mask)); ; i++ {
		s := &c.slots[i&mask]
		if s.hash == h && s.count != 0 || s.count == 0 {
			return s
		}
	}
}

// makeRoom makes the table larger, or drops rare keys.
func (c *Counter) makeRoom() {
	size, less := 2*len(c.slots), uint64(0)
	if size > c.most {
		size, less = len(c.slots), c.median()
		c.lost += less
		c.bar -= min(c.bar, less)
	}
	before := c.slots
	c.slots, c.used = make([]slot, size), 0
	for _, s := range before {
		switch count := s.count &^ kept; {
		case count > less:
			s.count -= less
			*c.find(s.hash) = s
			c.used++
		case s.count&kept != 0:
			delete(c.keys, s.hash)
		}
	}
}

// median returns the median of some counters.
func (c *Counter) median() uint64 {
	var counts []uint64
	for i := 0; len(counts) < sampled && i < len(c.slots); i++ {
		if s := c.slots[i]; s.count != 0 {
			counts = append(counts, s.count&^kept)
		}
	}
	slices.Sort(counts)
	return counts[len(counts)/2]
}

// chooseKeys forgets the keys that are not among the first.
func (c *Counter) chooseKeys() {
	first := c.inOrder()
	for _, e := range first[c.keep:] {
		c.find(e.hash).count &^= kept
		delete(c.keys, e.hash)
	}
	c.bar = first[c.keep-1].Count
}

// Entry is a key and how often it was counted: at least Count and at most AtMost times.
type Entry struct {
	Key           []byte
	Count, AtMost uint64

	hash uint64
}

// inOrder returns all keys that are kept, the most frequent first.
func (c *Counter) inOrder() []Entry {
	all := make([]Entry, 0, len(c.keys))
	for h, key := range c.keys {
		count := c.find(h).count &^ kept
		all = append(all, Entry{Key: key, Count: count, AtMost: count + c.lost, hash: h})
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), slices.Compare(a.Key, b.Key))
	})
	return all
}

// Top returns the n most frequent keys, n at most that of New, or all if there are fewer.
// Keys with the same count are in the order of their bytes; where not all of them are
// listed, which are is not defined.
func (c *Counter) Top(n int) []Entry {
	all := c.inOrder()
	return all[:min(n, len(all))]
}

// Error returns how much a count may be too low, and how often a key may have been
// counted that Top does not know. 0 means that all counts are exact.
func (c *Counter) Error() uint64 { return c.lost }

// Keys returns the number of different keys, and whether it is known: after keys were
// dropped it is not.
func (c *Counter) Keys() (n uint64, known bool) { return uint64(c.used), c.lost == 0 }
