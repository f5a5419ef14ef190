package kernel

import (
	"math/bits"
	"sync/atomic"
)

// The functions below are for arrays that several goroutines use at the same
// time. Bits are only ever set, so whoever reads while others write sees some
// state between the two; a key whose addition has finished is seen whole.

// AddAtomic is Add for an array on which AddAtomic and HasAtomic run at the same
// time. No bit is lost, but two calls may both be told true for the same hash
// unless the caller keeps them from overlapping.
//
// The bits are set with one atomic OR in each lane, also where they are set
// already: to leave those out costs more in mispredicted branches than it saves.
func (l Layout) AddAtomic(words []uint64, h uint64) bool {
	zero := uint64(0)
	for j := 0; ; {
		line := (*[LineWords]uint64)(words[l.Offset(h):])
		g := h * laneMul
		if l.Lanes == LineWords {
			for i := range line {
				bit := uint64(1) << (g >> (16 + 6*i) & 63)
				zero |= ^atomic.LoadUint64(&line[i]) & bit
				atomic.OrUint64(&line[i], bit)
			}
		} else {
			for set := l.lanes(g); set != 0; set &= set - 1 {
				i := bits.TrailingZeros8(set) & (LineWords - 1)
				bit := uint64(1) << (g >> (16 + 6*i) & 63)
				zero |= ^atomic.LoadUint64(&line[i]) & bit
				atomic.OrUint64(&line[i], bit)
			}
		}
		if j++; j == l.Lines {
			return zero != 0
		}
		words = words[l.RegionLines*LineWords:]
		h = Next(h)
	}
}

// HasAtomic is Has for an array to which AddAtomic adds at the same time.
func (l Layout) HasAtomic(words []uint64, h uint64) bool {
	for j := 0; ; {
		line := (*[LineWords]uint64)(words[l.Offset(h):])
		g := h * laneMul
		all := uint64(1)
		if l.Lanes == LineWords {
			for i := range line {
				all &= atomic.LoadUint64(&line[i]) >> (g >> (16 + 6*i) & 63)
			}
		} else {
			for set := l.lanes(g); set != 0; set &= set - 1 {
				i := bits.TrailingZeros8(set) & (LineWords - 1)
				all &= atomic.LoadUint64(&line[i]) >> (g >> (16 + 6*i) & 63)
			}
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

// BatchLines is the number of hashes to pass to TouchAtomic at a time.
const BatchLines = batchLines

// TouchAtomic loads a word of every line of the hashes, to bring all of them into
// the cache at once before they are asked for one by one.
//
//go:noinline
func (l Layout) TouchAtomic(words []uint64, hs []uint64) (sum uint64) {
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
