package store

import (
	"sync"

	"seen/bloom"
)

// batchKeys is the number of keys that are asked about, and decided, together.
const batchKeys = 4096

// scratch is a batch of keys that several layers are asked about one after another,
// reduced to those that none has.
type scratch struct {
	n     int
	hs    [batchKeys]uint64 // hashes that are left
	at    [batchKeys]uint16 // where in the batch their keys stand
	hit   [batchKeys]bool   // answers of a layer
	older [batchKeys]bool   // found where it must be refreshed
	// table finds equal hashes: a hash table of indices from 1 on, 0 is free.
	table [2 * batchKeys]uint16
}

// scratches keep the calls free of allocation.
var scratches = sync.Pool{New: func() any { return new(scratch) }}

func getScratch() *scratch   { return scratches.Get().(*scratch) }
func (sc *scratch) release() { scratches.Put(sc) }

// start begins with the hashes of at most batchKeys keys.
func (sc *scratch) start(hash *bloom.Hash, keys [][]byte) {
	sc.n = len(keys)
	hash.SumKeys(sc.hs[:], keys)
	for i := range keys {
		sc.at[i] = uint16(i)
	}
}

// settle takes out those that are hit.
func (sc *scratch) settle() {
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
func (sc *scratch) drop(m int) {
	copy(sc.hs[:], sc.hs[m:sc.n])
	copy(sc.at[:], sc.at[m:sc.n])
	copy(sc.older[:], sc.older[m:sc.n])
	sc.n -= m
}

// few is the number of hashes up to which comparing each with each is faster than
// a table.
const few = 8

// unique takes out all but the first of equal hashes.
func (sc *scratch) unique() {
	if sc.n < 2 {
		return
	}
	n := 0
	isNew := sc.isNewAmong
	if sc.n > few {
		size := 2
		for size < 2*sc.n {
			size *= 2
		}
		table := sc.table[:size]
		clear(table)
		isNew = func(n int, h uint64) bool { return sc.enter(table, n, h) }
	}
	for i := range sc.n {
		if isNew(n, sc.hs[i]) {
			sc.hs[n], sc.at[n] = sc.hs[i], sc.at[i]
			n++
		}
	}
	sc.n = n
}

func (sc *scratch) isNewAmong(n int, h uint64) bool {
	for _, other := range sc.hs[:n] {
		if other == h {
			return false
		}
	}
	return true
}

// enter puts index n, of hash h, into the table, unless h is there.
func (sc *scratch) enter(table []uint16, n int, h uint64) bool {
	mask := uint64(len(table) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch at := table[i]; {
		case at == 0:
			table[i] = uint16(n + 1)
			return true
		case sc.hs[at-1] == h:
			return false
		}
	}
}
