package store

import (
	"slices"
	"sync"

	"seen/internal/redisbloom"
)

// batchKeys is the number of keys that are asked about, and decided, together.
const batchKeys = 4096

// scratch is a batch of keys that several layers are asked about one after another; the
// keys that a layer has are taken out. H is what a layer is asked for.
type scratch[H comparable] struct {
	n     int
	hs    [batchKeys]H      // hashes that are left
	at    [batchKeys]uint16 // where in the batch their keys stand
	hit   [batchKeys]bool   // answers of a layer
	older [batchKeys]bool   // found where it must be refreshed
	// table finds equal hashes: a hash table of indices from 1 on, 0 is free.
	table [2 * batchKeys]uint16
}

// start begins with n keys, whose hashes are in hs.
func (sc *scratch[H]) start(n int) {
	sc.n = n
	for i := range n {
		sc.at[i] = uint16(i)
	}
}

// settle takes out those that are hit.
func (sc *scratch[H]) settle() {
	n := 0
	for i, hit := range sc.hit[:sc.n] {
		if !hit {
			sc.hs[n], sc.at[n] = sc.hs[i], sc.at[i]
			n++
		}
	}
	sc.n = n
}

// drop takes out the first m.
func (sc *scratch[H]) drop(m int) {
	copy(sc.hs[:], sc.hs[m:sc.n])
	copy(sc.at[:], sc.at[m:sc.n])
	copy(sc.older[:], sc.older[m:sc.n])
	sc.n -= m
}

// few is the number of hashes up to which comparing each with each is faster than
// a table.
const few = 8

// unique takes out all but the first of equal hashes. bits returns bits of a hash
// that differ between most hashes.
func (sc *scratch[H]) unique(bits func(H) uint64) {
	if sc.n < 2 {
		return
	}
	var table []uint16
	if sc.n > few {
		size := 2
		for size < 2*sc.n {
			size *= 2
		}
		table = sc.table[:size]
		clear(table)
	}
	n := 0
	for i, h := range sc.hs[:sc.n] {
		if table == nil && slices.Contains(sc.hs[:n], h) || table != nil && !sc.enter(table, n, h, bits(h)) {
			continue
		}
		sc.hs[n], sc.at[n] = h, sc.at[i]
		n++
	}
	sc.n = n
}

// enter puts index n, of hash h, into the table, unless h is there.
func (sc *scratch[H]) enter(table []uint16, n int, h H, bits uint64) bool {
	mask := uint64(len(table) - 1)
	for i := bits & mask; ; i = (i + 1) & mask {
		switch at := table[i]; {
		case at == 0:
			table[i] = uint16(n + 1)
			return true
		case sc.hs[at-1] == h:
			return false
		}
	}
}

// scratches keep the calls free of allocation.
var (
	scratches      = sync.Pool{New: func() any { return new(scratch[uint64]) }}
	redisScratches = sync.Pool{New: func() any { return new(scratch[redisbloom.Hash]) }}
)
