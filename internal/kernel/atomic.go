package kernel

import (
	"math/bits"
	"sync/atomic"

	"seen/internal/keyhash"
)

// The functions below are for arrays that several goroutines use at the same time. Bits
// are only ever set, so a reader during a write sees some state in between; it sees all
// bits of a key whose addition has finished. The caller keeps writers of one line apart,
// even if they set different bits: a line is read, changed and written as a whole.
//
// The assembly serves as it is, since it reads and writes whole words, and the
// processor orders its writes. The plain Go version needs atomic operations in
// its place.

// PrepareAtomic is Prepare for an array on which HasHash and HasKey run at the same
// time, and AddHash and AddKey for keys that have no line in common.
func (l Layout) PrepareAtomic(words []uint64, hash keyhash.Hash) Prepared {
	if Assembly() {
		return l.Prepare(words, hash)
	}
	return Via(&atomicArray{l, words[:l.length()]}, hash)
}

// atomicArray answers for hashes by the plain Go version.
type atomicArray struct {
	layout Layout
	words  []uint64
}

// AddHash sets the bits of h.
func (a *atomicArray) AddHash(h uint64) bool { return a.layout.addAtomicRef(a.words, h) }

// HasHash tests the bits of h.
func (a *atomicArray) HasHash(h uint64) bool { return a.layout.hasAtomicRef(a.words, h) }

// AddBatchAtomic is AddBatch for an array that others read, but do not change, at the same
// time.
func (l Layout) AddBatchAtomic(words []uint64, added []bool, hs []uint64) int {
	if Assembly() {
		return l.AddBatch(words, added, hs)
	}
	return l.batchAtomicRef(l.addAtomicRef, words, added, hs)
}

// HasBatchAtomic is HasBatch for an array to which others add at the same time.
func (l Layout) HasBatchAtomic(words []uint64, found []bool, hs []uint64) int {
	if Assembly() {
		return l.HasBatch(words, found, hs)
	}
	return l.batchAtomicRef(l.hasAtomicRef, words, found, hs)
}

// addAtomicRef stores a word also where its bit is set already: to leave that out
// costs more in mispredicted branches than it saves.
func (l Layout) addAtomicRef(words []uint64, h uint64) bool {
	zero := uint64(0)
	for j := 0; ; {
		line := (*[LineWords]uint64)(words[l.Offset(h):])
		g := h * laneMul
		for set := l.lanes(g); set != 0; set &= set - 1 {
			i := bits.TrailingZeros8(set) & (LineWords - 1)
			bit := uint64(1) << (g >> (16 + 6*i) & 63)
			w := atomic.LoadUint64(&line[i])
			zero |= ^w & bit
			atomic.StoreUint64(&line[i], w|bit)
		}
		if j++; j == l.Lines {
			return zero != 0
		}
		words = words[l.RegionLines*LineWords:]
		h = Next(h)
	}
}

func (l Layout) hasAtomicRef(words []uint64, h uint64) bool {
	for j := 0; ; {
		line := (*[LineWords]uint64)(words[l.Offset(h):])
		g := h * laneMul
		all := uint64(1)
		for set := l.lanes(g); set != 0; set &= set - 1 {
			i := bits.TrailingZeros8(set) & (LineWords - 1)
			all &= atomic.LoadUint64(&line[i]) >> (g >> (16 + 6*i) & 63)
		}
		if all == 0 {
			return false
		}
		if j++; j == l.Lines {
			return true
		}
		words = words[l.RegionLines*LineWords:]
		h = Next(h)
	}
}

func (l Layout) batchAtomicRef(do func(words []uint64, h uint64) bool, words []uint64, answers []bool, hs []uint64) int {
	n := 0
	for len(hs) > 0 {
		chunk := hs[:min(len(hs), batchLines)]
		l.touchAtomic(words, chunk)
		for i, h := range chunk {
			yes := do(words, h)
			if answers != nil {
				answers[i] = yes
			}
			if yes {
				n++
			}
		}
		hs = hs[len(chunk):]
		if answers != nil {
			answers = answers[len(chunk):]
		}
	}
	return n
}

// touchAtomic is touch for an array to which others add at the same time.
//
//go:noinline
func (l Layout) touchAtomic(words []uint64, hs []uint64) (sum uint64) {
	for j := 0; j < l.Lines; j++ {
		region := words[uint64(j)*l.RegionLines*LineWords:]
		for _, h := range hs {
			for range j {
				h = Next(h)
			}
			sum += atomic.LoadUint64(&region[l.Offset(h)])
		}
	}
	return sum
}
