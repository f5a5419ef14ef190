package sizing

import (
	"fmt"
	"math"
)

const (
	// nearOptimum is the memory, in classic filters, that is worth a saved cache
	// miss.
	nearOptimum = 1.10
	// allLanes is the memory, in the best lane count's, that is worth not having
	// to select lanes.
	allLanes = 1.02
	// mostWaste is the memory, in classic filters, that a blocked filter may
	// take at all.
	mostWaste = 1.5
)

func blockedParams(lines, lanes int, regionLines uint64) Params {
	return Params{Shape: Blocked, M: uint64(lines) * LineBits * regionLines, K: lines * lanes, Lines: lines, Lanes: lanes}
}

// demand is what is asked of a filter, or what one delivers.
type demand struct {
	n uint64
	p float64
}

// bits measures a demand by the memory of the classic filter that meets it.
func (d demand) bits() float64 { return classicBits(d.n, d.p) }

// metBy reports whether a layout delivers d.
func (d demand) metBy(lines, lanes int, regionLines uint64) bool {
	return regionLines > 0 && blockedParams(lines, lanes, regionLines).rate(d.n) <= d.p
}

// regionLimit returns the most lines that a region may have so that the filter
// takes at most the given bits.
func regionLimit(bits float64, lines int) uint64 {
	return uint64(min(bits, float64(MaxBits)) / float64(lines*LineBits))
}

// mostBits returns the most memory that For takes for d. A line for each of the
// most lines of a key comes on top, as no filter can be finer.
func (d demand) mostBits() float64 { return mostWaste*d.bits() + MaxLines*LineBits }

func blockedFor(capacity uint64, errorRate float64) (Params, error) {
	d := demand{capacity, errorRate}
	var best Params
	for lines := 1; lines <= MaxLines; lines++ {
		p, ok := d.leastMemory(lines)
		if !ok {
			continue
		}
		if float64(p.M) <= nearOptimum*d.bits() {
			return p, nil
		}
		if best.M == 0 || p.M < best.M {
			best = p
		}
	}
	if best.M == 0 {
		if d.bits() > float64(MaxBits)/nearOptimum {
			return Params{}, tooLarge(Blocked, capacity, errorRate)
		}
		return Params{}, blockedCannot(capacity, errorRate)
	}
	return best, nil
}

// leastMemory returns the layout with the given lines per key that For prefers;
// false if each would waste too much memory.
func (d demand) leastMemory(lines int) (Params, bool) {
	limit := regionLimit(d.mostBits(), lines)
	guess := d.bits() / float64(lines*LineBits)
	var regionLines [MaxLanes + 1]uint64 // 0: impossible
	best := 0
	for lanes := 1; lanes <= MaxLanes; lanes++ {
		if !d.metBy(lines, lanes, limit) {
			continue
		}
		regionLines[lanes], _ = least(guess, limit, func(r uint64) bool { return d.metBy(lines, lanes, r) })
		guess = float64(regionLines[lanes])
		if best == 0 || regionLines[lanes] < regionLines[best] {
			best = lanes
		}
	}
	if best == 0 {
		return Params{}, false
	}
	if all := regionLines[MaxLanes]; all != 0 && float64(all) <= allLanes*float64(regionLines[best]) {
		best = MaxLanes
	}
	return blockedParams(lines, best, regionLines[best]), true
}

func blockedCannot(capacity uint64, errorRate float64) error {
	return fmt.Errorf("blocked filter cannot give %d keys an error rate of %.3g in %.1f times the memory of a classic one; use Classic or a higher rate",
		capacity, errorRate, mostWaste)
}

// blockedWithin returns the layout of at most maxBytes that delivers the most,
// where delivers tells what a layout does. It chooses as blockedFor would if it
// were asked for what is delivered, so fewer lines per key are preferred if they
// deliver the same within 10 % of the classic memory.
//
// To be an inverse, it must not leave out a layout that blockedFor takes for some
// demand. Such a demand is above what a line less in each region delivers, or that
// would have been taken, and up to what the layout itself delivers. So more lines
// are left out only if fewer lines deliver the upper end of that range within
// 10 % of the classic memory for its lower end.
func blockedWithin(maxBytes uint64, delivers func(lines, lanes int, regionLines uint64) demand) Params {
	budget := min(maxBytes, MaxBits/8) / (LineBits / 8)
	var best Params
	most := -1.0
	for lines := 1; lines <= MaxLines && uint64(lines) <= budget; lines++ {
		regionLines := budget / uint64(lines)
		lanes, d := mostDelivered(lines, regionLines, delivers)
		var near float64
		if regionLines > 1 {
			_, below := mostDelivered(lines, regionLines-1, delivers)
			near = nearOptimum * below.bits()
		}
		if d.metByFewer(lines, near) {
			continue
		}
		if d.metBy(lines, MaxLanes, uint64(allLanes*float64(regionLines))) {
			lanes, d = MaxLanes, delivers(lines, MaxLanes, regionLines)
		}
		if d.bits() > most {
			best, most = blockedParams(lines, lanes, regionLines), d.bits()
		}
	}
	return best
}

// mostDelivered returns the lane count that delivers the most, and what that is.
func mostDelivered(lines int, regionLines uint64, delivers func(lines, lanes int, regionLines uint64) demand) (lanes int, d demand) {
	for l := 1; l <= MaxLanes; l++ {
		if x := delivers(lines, l, regionLines); lanes == 0 || x.bits() > d.bits() {
			lanes, d = l, x
		}
	}
	return lanes, d
}

// metByFewer reports whether fewer lines per key deliver d in the given bits.
func (d demand) metByFewer(lines int, bits float64) bool {
	for fewer := 1; fewer < lines; fewer++ {
		for lanes := 1; lanes <= MaxLanes; lanes++ {
			if d.metBy(fewer, lanes, regionLimit(bits, fewer)) {
				return true
			}
		}
	}
	return false
}

// usefulBytes returns the memory beyond which For takes no blocked filter for n
// keys, whatever the rate. It is that of the layout with the most probes, which
// makes use of more memory than the others, and a line in each region more.
func usefulBytes(n uint64) uint64 {
	halfFull := float64(n) * MaxLanes / (LineBits * math.Ln2) // below, it does not yet serve its purpose
	r := largest(halfFull, MaxBits/(MaxLines*LineBits)-1, func(r uint64) bool {
		p := blockedParams(MaxLines, MaxLanes, r)
		return float64(r) <= halfFull || float64(p.M) <= demand{n, p.rate(n)}.mostBits()
	})
	return blockedParams(MaxLines, MaxLanes, r+1).Bytes()
}
