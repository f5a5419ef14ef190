package sizing

import (
	"fmt"
	"math"
)

// uselessRate is the rate above which Within refuses: the filter would say
// "maybe" to all but one in a hundred absent keys.
const uselessRate = 0.99

// For returns the layout of shape s with the least memory that holds capacity
// distinct keys with at most the given error rate.
//
//   - Classic, Counting: the k near -log2(p) that needs the least m, and the
//     least m that meets the rate at that k. Counting gets counters of
//     [DefaultCounterBits] bits.
//   - Partitioned: the same, with m a multiple of k.
//   - Blocked: the fewest lines per key whose memory stays within 10 % of
//     [OptimalBits] (above p = 1/2: of what a classic filter with k = 1 needs),
//     since each line is a cache miss; among its lane counts the one with the
//     least memory, but all eight lanes (which need no selection) if they cost at
//     most 2 % more. If no layout stays within 10 %, which happens for rates
//     below about 1e-9 and for small capacities, where whole lines are coarse,
//     the least memory decides, then the fewest lines.
//
// It is an error if capacity is 0, if errorRate is not strictly between 0 and 1, if it is
// not above capacity/2^63 (twice the rate of 64-bit hashes that collide), if the filter
// would exceed [MaxBits], and for Blocked if it would need more than 1.5 times the memory
// of a classic filter and three lines (rates below about 1e-15). A call takes some tenths
// of a millisecond, for tiny filters of very low rates some milliseconds.
func For(s Shape, capacity uint64, errorRate float64) (Params, error) {
	if err := checkWish(s, capacity, errorRate); err != nil {
		return Params{}, err
	}
	if err := checkReach(capacity, errorRate); err != nil {
		return Params{}, err
	}
	if s == Blocked {
		return blockedFor(capacity, errorRate)
	}
	limit := maxPositions(s)
	need := func(k int) uint64 {
		p := classicParams(s, 0, k)
		unit := p.unit()
		q := errorRate - hashFloor(capacity)
		guess := float64(k) * float64(capacity) / -math.Log1p(-math.Pow(q, 1/float64(k)))
		x, ok := least(guess/float64(unit), limit/unit, func(x uint64) bool {
			p.M = x * unit
			return p.rate(capacity) <= errorRate
		})
		if !ok {
			return math.MaxUint64
		}
		return x * unit
	}
	k, m := bestProbes(s, -math.Log2(errorRate), need)
	if m > limit {
		return Params{}, tooLarge(s, capacity, errorRate)
	}
	return classicParams(s, m, k), nil
}

// Within returns the layout of shape s that gives capacity distinct keys the
// best error rate in at most maxBytes of memory. It is the inverse of [For]: for
// the memory that For takes for some rate up to 0.99 it finds a layout with that
// rate or a better one. For Blocked that means that, as in For, a line more per
// key is taken only where fewer lines are not within 10 % of the classic memory,
// and all lanes where they cost at most 2 %. At the seams between two such layouts
// a little more memory may give a rate that is some percent higher.
//
// Memory that buys nothing stays unused: beyond what the error rate capacity/2^63 needs, and
// for Blocked beyond 1.5 times what a classic filter needs for the same rate.
//
// It is an error if capacity is 0 or if maxBytes is too little for one word (one
// line for Blocked) or leaves an error rate above 0.99.
func Within(s Shape, capacity, maxBytes uint64) (Params, error) {
	if err := checkWish(s, capacity, 0.5); err != nil {
		return Params{}, err
	}
	if err := checkBudget(s, maxBytes); err != nil {
		return Params{}, err
	}
	var p Params
	if s == Blocked {
		p = blockedWithin(min(maxBytes, usefulBytes(capacity)), func(lines, lanes int, regionLines uint64) demand {
			return demand{capacity, blockedParams(lines, lanes, regionLines).rate(capacity)}
		})
	} else {
		p = classicWithin(s, capacity, maxBytes)
	}
	if rate := p.rate(capacity); rate > uselessRate {
		return Params{}, fmt.Errorf("%d bytes are too little for %d keys: the error rate would be %.3g; give at least %.3g bytes (error rate 0.5) or more",
			maxBytes, capacity, rate, classicBits(capacity, 0.5)*float64(classicParams(s, 0, 0).width())/8)
	}
	return p, nil
}

// classicWithin returns the best layout of the shapes other than Blocked.
func classicWithin(s Shape, capacity, maxBytes uint64) Params {
	limit := budgetPositions(s, maxBytes)
	k, rate := bestProbes(s, math.Ln2*float64(limit)/float64(capacity), func(k int) float64 {
		return fitted(s, limit, k).rate(capacity)
	})
	if least := leastErrorRate(capacity); rate < least {
		if p, err := For(s, capacity, math.Nextafter(least, 1)); err == nil && p.M < limit {
			return p
		}
	}
	return fitted(s, limit, k)
}

// CapacityWithin returns the largest number of distinct keys that shape s holds
// in at most maxBytes of memory with at most the given error rate, and its
// layout, chosen as by [Within]. It takes [For] as its measure of what is
// possible, so the conditions for errors are those of For and Within; it is also
// an error if not even one key fits.
func CapacityWithin(s Shape, maxBytes uint64, errorRate float64) (uint64, Params, error) {
	if err := checkWish(s, 1, errorRate); err != nil {
		return 0, Params{}, err
	}
	if err := checkReach(1, errorRate); err != nil {
		return 0, Params{}, err
	}
	if err := checkBudget(s, maxBytes); err != nil {
		return 0, Params{}, err
	}
	var p Params
	if s == Blocked {
		p = blockedWithin(maxBytes, func(lines, lanes int, regionLines uint64) demand {
			return demand{blockedParams(lines, lanes, regionLines).capacity(errorRate), errorRate}
		})
	} else {
		limit := budgetPositions(s, maxBytes)
		k, _ := bestProbes(s, -math.Log2(errorRate), func(k int) float64 {
			return -float64(fitted(s, limit, k).capacity(errorRate))
		})
		p = fitted(s, limit, k)
	}
	n := p.capacity(errorRate)
	if n == 0 {
		return 0, Params{}, fmt.Errorf("%d bytes are too little for a single key at error rate %.3g; give more memory or a higher error rate", maxBytes, errorRate)
	}
	if most := mostKeys(errorRate); n >= most {
		// The hashes are the limit, not the memory.
		p, err := For(s, most, errorRate)
		if err != nil {
			return 0, Params{}, err
		}
		return most, p, nil
	}
	if s != Blocked {
		return n, classicWithin(s, n, maxBytes), nil // of several k that hold n keys, the best
	}
	if float64(p.M) > (demand{n, errorRate}).mostBits() {
		return 0, Params{}, blockedCannot(n, errorRate)
	}
	return n, p, nil
}

// mostKeys returns the largest capacity, at least 1, for which the error rate is
// above leastErrorRate.
func mostKeys(errorRate float64) uint64 {
	return clampCount(math.Ceil(errorRate*0x1p63)-1, math.MaxInt64)
}

// Capacity returns the largest number of distinct keys that p holds with at most
// the given error rate. It is an error if p is invalid, if errorRate does not lie
// strictly between 0 and 1, and if a single key already exceeds it.
func (p Params) Capacity(errorRate float64) (uint64, error) {
	if err := p.Validate(); err != nil {
		return 0, err
	}
	if err := checkWish(p.Shape, 1, errorRate); err != nil {
		return 0, err
	}
	n := p.capacity(errorRate)
	if n == 0 {
		return 0, fmt.Errorf("%v filter of %d bits and %d probes cannot hold a single key at error rate %.3g; the least it can do is %.3g",
			p.Shape, p.M, p.K, errorRate, p.rate(1))
	}
	return n, nil
}

// capacity returns the largest n whose rate is at most errorRate, which may be 0.
func (p Params) capacity(errorRate float64) uint64 {
	k := float64(p.K)
	guess := -math.Log1p(-math.Pow(errorRate, 1/k)) * float64(p.M) / k
	return largest(guess, math.MaxUint64, func(n uint64) bool { return p.rate(n) <= errorRate })
}

// checkWish reports what is wrong with the arguments that all functions share.
func checkWish(s Shape, capacity uint64, errorRate float64) error {
	switch s {
	case Classic, Blocked, Partitioned, Counting:
	default:
		return fmt.Errorf("unknown shape %d; use Classic, Blocked, Partitioned or Counting", uint8(s))
	}
	if capacity == 0 {
		return fmt.Errorf("capacity is 0; it must be at least 1 key")
	}
	if !(errorRate > 0 && errorRate < 1) {
		return fmt.Errorf("error rate is %v; it must be above 0 and below 1, for example 0.01", errorRate)
	}
	return nil
}

// checkReach reports whether 64-bit hashes are too short for the rate.
func checkReach(capacity uint64, errorRate float64) error {
	if least := leastErrorRate(capacity); errorRate <= least {
		return fmt.Errorf("error rate %.3g is out of reach of 64-bit hashes for %d keys; ask for more than %.3g or for fewer keys",
			errorRate, capacity, least)
	}
	return nil
}

func checkBudget(s Shape, maxBytes uint64) error {
	unit := uint64(wordBits)
	if s == Blocked {
		unit = LineBits
	}
	if maxBytes < unit/8 {
		return fmt.Errorf("%d bytes are too little; the smallest %v filter takes %d", maxBytes, s, unit/8)
	}
	return nil
}

func tooLarge(s Shape, capacity uint64, errorRate float64) error {
	return fmt.Errorf("%v filter for %d keys at error rate %.3g would exceed the limit of 2^60 bits; ask for fewer keys or a higher rate", s, capacity, errorRate)
}

// classicParams returns the layout of a shape other than Blocked.
func classicParams(s Shape, m uint64, k int) Params {
	p := Params{Shape: s, M: m, K: k}
	if s == Counting {
		p.CounterBits = DefaultCounterBits
	}
	return p
}

// fitted returns the layout with k probes that uses the most of limit positions.
func fitted(s Shape, limit uint64, k int) Params {
	p := classicParams(s, 0, k)
	p.M = max(1, limit/p.unit()) * p.unit()
	return p
}

// unit returns what M must be a multiple of.
func (p Params) unit() uint64 {
	switch p.Shape {
	case Blocked:
		return uint64(p.Lines) * LineBits
	case Partitioned:
		return uint64(p.K)
	}
	return 1
}

// maxPositions returns the largest M of a shape.
func maxPositions(s Shape) uint64 { return MaxBits / classicParams(s, 0, 0).width() }

// budgetPositions returns the largest M of a shape that takes at most maxBytes.
func budgetPositions(s Shape, maxBytes uint64) uint64 {
	return min(maxBytes/(wordBits/8), MaxBits/wordBits) * wordBits / classicParams(s, 0, 0).width()
}
