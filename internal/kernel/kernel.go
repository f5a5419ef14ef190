// Package kernel holds the inner loops of the blocked filters: setting and
// testing the bits of hashes in arrays of 512-bit lines, one at a time and in
// batches. It knows bits and nothing else; sizing chooses the layouts and
// package bloom owns the arrays.
//
// Every loop has a plain Go version that is always compiled, in kernel_ref.go.
// Faster versions are chosen here, in one place, and are tested equal to it.
//
// # Layout
//
// An array consists of Lines regions of RegionLines lines each; a line is eight
// lanes of 64 bits, 64 bytes in all. A hash h owns one line in every region, and
// Lanes bits in each of its lines, at most one per lane. With h_0 = h:
//
//	line in region j   = high 64 bits of h_j * RegionLines
//	g_j                = h_j * 0x9e3779b97f4a7c15 mod 2^64
//	bit in lane i      = bits 16+6i .. 21+6i of g_j
//	lanes used         = the s-th smallest byte with Lanes one bits, where
//	                     s = (g_j mod 2^16) * C(8, Lanes) / 2^16; bit i stands for lane i
//	h_(j+1)            = x xor (x >> 32), where x = h_j * 0xd1342543de82ef95 mod 2^64
//
// Regions make the lines of a key distinct and independent, and give them one
// order of addresses, in which locks can be taken. Functions that write must not
// run concurrently with others on the same array; those that read may run
// concurrently with each other.
package kernel

import "seen/internal/keyhash"

// LineWords is the length of a line in 64-bit words.
const LineWords = 8

// Layout describes a blocked array; see the package comment. The array it is
// used on must have exactly Words words.
type Layout struct {
	RegionLines uint64
	Lines       int // regions, and lines per key: 1..3
	Lanes       int // lanes used in each line: 1..8
}

// Words returns the length of the array in 64-bit words.
func (l Layout) Words() uint64 { return uint64(l.Lines) * l.RegionLines * LineWords }

// AddBatch sets the bits of each of hs in order, stores in added, unless it is nil,
// whether any of them was zero before, and returns the number of trues. added must
// be nil or at least as long as hs.
func (l Layout) AddBatch(words []uint64, added []bool, hs []uint64) int {
	return l.batchBy(chosen, true, words, added, hs)
}

// HasBatch stores in found, unless it is nil, for each of hs whether all its bits
// are set, and returns the number of trues. found must be nil or at least as long
// as hs.
func (l Layout) HasBatch(words []uint64, found []bool, hs []uint64) int {
	return l.batchBy(chosen, false, words, found, hs)
}

// AddKeys is AddBatch for the keys' hashes by the zero keyhash.Hash.
func (l Layout) AddKeys(words []uint64, added []bool, keys [][]byte) int {
	return keysBy(chosen, true, l, words, added, keys)
}

// HasKeys is HasBatch for the keys' hashes by the zero keyhash.Hash.
func (l Layout) HasKeys(words []uint64, found []bool, keys [][]byte) int {
	return keysBy(chosen, false, l, words, found, keys)
}

// AddStrings is AddKeys for strings.
func (l Layout) AddStrings(words []uint64, added []bool, keys []string) int {
	return keysBy(chosen, true, l, words, added, keys)
}

// HasStrings is HasKeys for strings.
func (l Layout) HasStrings(words []uint64, found []bool, keys []string) int {
	return keysBy(chosen, false, l, words, found, keys)
}

func keysBy[T []byte | string](by implementation, adding bool, l Layout, words []uint64, answers []bool, keys []T) int {
	total := 0
	next := func(n int) {
		keys = keys[n:]
		if answers != nil {
			answers = answers[n:]
		}
	}
	for len(keys) > 0 {
		if count, done := someKeys(by, adding, l, words, answers, keys); done > 0 {
			total += count
			next(done)
			continue
		}
		// Where there is one key too long for the assembly there may be more.
		var hs [batchLines]uint64
		n := min(len(keys), len(hs))
		keyhash.Sums(hs[:n], keys[:n])
		some := answers
		if answers != nil {
			some = answers[:n]
		}
		total += l.batchBy(by, adding, words, some, hs[:n])
		next(n)
	}
	return total
}
