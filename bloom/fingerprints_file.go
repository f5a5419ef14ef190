package bloom

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// sortedFingerprints is a set of fingerprints as files have it: all hashes in ascending
// order. It is searched in a mapped file without a copy.
type sortedFingerprints struct {
	bytes []byte // little-endian
	touch func(off, n uint64)
}

func (s *sortedFingerprints) count() uint64 { return uint64(len(s.bytes) / slotBytes) }

// at announces an access to hash i and returns it.
func (s *sortedFingerprints) at(i uint64) uint64 {
	s.touch(i*slotBytes, slotBytes)
	return binary.LittleEndian.Uint64(s.bytes[i*slotBytes:])
}

// computedSteps is the number of steps of a search that assume evenly spread hashes. With
// 2^40 such hashes a search takes five on average.
const computedSteps = 8

// has reports whether h is there. Hashes are spread evenly, so the place of one can be
// computed from those at both ends of a range, with an error of about the square root of
// its length. After computedSteps every other step halves the range, for hashes that are
// not spread evenly.
func (s *sortedFingerprints) has(h uint64) bool {
	// The hashes before begin are less than h, and low is at most h; those from
	// end on are greater, and high is at least h.
	begin, end := uint64(0), s.count()
	low, high := uint64(0), uint64(math.MaxUint64)
	for step := 0; begin < end; step++ {
		i := begin + (end-begin)/2
		if (step < computedSteps || step%2 == 0) && low < high {
			i = begin + portion(end-begin, h-low, high-low)
		}
		switch v := s.at(i); {
		case v == h:
			return true
		case v < h:
			begin, low = i+1, v
		default:
			end, high = i, v
		}
	}
	return false
}

// portion returns n * part / whole, at most n-1; part is at most whole, which is not 0.
func portion(n, part, whole uint64) uint64 {
	hi, lo := bits.Mul64(n, part)
	q, _ := bits.Div64(hi, lo, whole)
	return min(q, n-1)
}

// load returns the set in memory, to which hashes can be added.
func (s *sortedFingerprints) load() *fingerprints {
	s.touch(0, uint64(len(s.bytes)))
	words := make([]uint64, s.count())
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(s.bytes[i*slotBytes:])
	}
	if outOfOrder(words) >= 0 {
		// No writer makes such files, but nothing has checked this one.
		slices.Sort(words)
		words = slices.Compact(words)
	}
	return newFingerprints(words)
}

// outOfOrder returns the index of the first hash that is not greater than the one
// before it, or -1.
func outOfOrder(words []uint64) int {
	for i := 1; i < len(words); i++ {
		if words[i] <= words[i-1] {
			return i
		}
	}
	return -1
}
