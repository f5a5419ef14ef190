package kernel

import "math/bits"

const (
	laneMul = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio, odd
	nextMul = 0xd1342543de82ef95 // spectrally good multiplier (Steele and Vigna 2021)
)

// batchLines is the number of hashes whose lines a batch brings into the cache
// together: enough misses in flight to hide their latency, few enough to stay in
// the first-level cache.
const batchLines = 32

// laneSets[n] lists, in ascending order, the bytes with exactly n one bits: the
// sets of n lanes out of eight.
var laneSets = func() (t [LineWords + 1][]uint8) {
	for b := 0; b < 256; b++ {
		n := bits.OnesCount8(uint8(b))
		t[n] = append(t[n], uint8(b))
	}
	return t
}()

// Next derives the hash that places a key in the next region.
func Next(h uint64) uint64 {
	x := h * nextMul
	return x ^ x>>32
}

// Line returns the index of the line of h within a region of n lines.
func Line(h, n uint64) uint64 {
	hi, _ := bits.Mul64(h, n)
	return hi
}

// Offset returns the index of the first word of the line of h in its region;
// region j's words begin at j * RegionLines * LineWords.
func (l Layout) Offset(h uint64) uint64 { return Line(h, l.RegionLines) * LineWords }

// LaneSets returns the number of sets of lanes that keys choose from.
func (l Layout) LaneSets() int { return len(laneSets[l.Lanes]) }

// lanes returns the set of lanes that a key with lane bits g uses.
func (l Layout) lanes(g uint64) uint8 {
	t := laneSets[l.Lanes]
	return t[(g&0xffff)*uint64(len(t))>>16]
}

func (l Layout) addRef(words []uint64, h uint64) bool {
	zero := uint64(0)
	for j := 0; ; {
		line := (*[LineWords]uint64)(words[l.Offset(h):])
		g := h * laneMul
		if l.Lanes == LineWords {
			zero |= setAll(line, g)
		} else {
			zero |= setSome(line, g, l.lanes(g))
		}
		if j++; j == l.Lines {
			return zero != 0
		}
		words = words[l.RegionLines*LineWords:]
		h = Next(h)
	}
}

func (l Layout) hasRef(words []uint64, h uint64) bool {
	for j := 0; ; {
		line := (*[LineWords]uint64)(words[l.Offset(h):])
		g := h * laneMul
		if l.Lanes == LineWords {
			if !testAll(line, g) {
				return false
			}
		} else if !testSome(line, g, l.lanes(g)) {
			return false
		}
		if j++; j == l.Lines {
			return true
		}
		words = words[l.RegionLines*LineWords:]
		h = Next(h)
	}
}

// LaneBits returns the bits of a key with hash h in its line of the region that
// h places it in: one word per lane, zero where the key does not use the lane.
func (l Layout) LaneBits(h uint64) (line [LineWords]uint64) {
	g := h * laneMul
	set := l.lanes(g)
	for i := range line {
		if set>>i&1 != 0 {
			line[i] = 1 << (g >> (16 + 6*i) & 63)
		}
	}
	return line
}

// setAll sets one bit in every lane; the result is non-zero if any was zero.
func setAll(line *[LineWords]uint64, g uint64) (zero uint64) {
	for i := range line {
		bit := uint64(1) << (g >> (16 + 6*i) & 63)
		zero |= ^line[i] & bit
		line[i] |= bit
	}
	return zero
}

func setSome(line *[LineWords]uint64, g uint64, set uint8) (zero uint64) {
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros8(set) & (LineWords - 1)
		bit := uint64(1) << (g >> (16 + 6*i) & 63)
		zero |= ^line[i] & bit
		line[i] |= bit
	}
	return zero
}

func testAll(line *[LineWords]uint64, g uint64) bool {
	return line[0]>>(g>>16&63)&
		(line[1]>>(g>>22&63))&
		(line[2]>>(g>>28&63))&
		(line[3]>>(g>>34&63))&
		(line[4]>>(g>>40&63))&
		(line[5]>>(g>>46&63))&
		(line[6]>>(g>>52&63))&
		(line[7]>>(g>>58))&1 != 0
}

func testSome(line *[LineWords]uint64, g uint64, set uint8) bool {
	all := uint64(1)
	for ; set != 0; set &= set - 1 {
		i := bits.TrailingZeros8(set) & (LineWords - 1)
		all &= line[i] >> (g >> (16 + 6*i) & 63)
	}
	return all != 0
}

// batchRef is AddBatch or HasBatch.
func (l Layout) batchRef(adding bool, words []uint64, answers []bool, hs []uint64) int {
	n := 0
	for len(hs) > 0 {
		chunk := hs[:min(len(hs), batchLines)]
		l.touch(words, chunk)
		for i, h := range chunk {
			var yes bool
			if adding {
				yes = l.addRef(words, h)
			} else {
				yes = l.hasRef(words, h)
			}
			if answers != nil {
				answers[i] = yes
			}
			n += one(yes)
		}
		hs = hs[len(chunk):]
		if answers != nil {
			answers = answers[len(chunk):]
		}
	}
	return n
}

// touch loads one word of every line of the hashes. The loads do not depend on
// each other, so that their cache misses overlap; Go has no prefetch.
//
//go:noinline
func (l Layout) touch(words []uint64, hs []uint64) (sum uint64) {
	for j := 0; j < l.Lines; j++ {
		region := words[uint64(j)*l.RegionLines*LineWords:]
		for _, h := range hs {
			for range j {
				h = Next(h)
			}
			sum += region[l.Offset(h)]
		}
	}
	return sum
}
