package sizing

import "math"

// least returns the least x in 1..limit, limit >= 1, for which ok holds, given
// that ok does not hold below it and holds above it; false if there is none. It
// looks near guess first, so a good guess makes it fast and a bad one not wrong.
func least(guess float64, limit uint64, ok func(uint64) bool) (uint64, bool) {
	x := clampCount(guess, limit)
	step := max(1, x>>10)
	var lo, hi uint64 // ok fails at lo, or lo is 0; ok holds at hi
	if ok(x) {
		for hi = x; ; step *= 2 {
			if step >= hi {
				break
			}
			if lo = hi - step; !ok(lo) {
				break
			}
			hi, lo = lo, 0
		}
	} else {
		for lo = x; ; step *= 2 {
			if lo == limit {
				return 0, false
			}
			if hi = limit; step < limit-lo {
				hi = lo + step
			}
			if ok(hi) {
				break
			}
			lo = hi
		}
	}
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; ok(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, true
}

// largest returns the largest x in 0..limit for which ok holds, given that ok
// holds below it and not above it; ok is taken to hold at 0.
func largest(guess float64, limit uint64, ok func(uint64) bool) uint64 {
	x, found := least(guess, limit, func(x uint64) bool { return !ok(x) })
	if !found {
		return limit
	}
	return x - 1
}

// clampCount turns v into an integer in 1..limit.
func clampCount(v float64, limit uint64) uint64 {
	if !(v >= 1) {
		return 1
	}
	if v >= float64(limit) {
		return limit
	}
	return uint64(v)
}

// bestProbes returns the k of 1..MaxProbes with the least cost, of equal costs
// the lowest, and its cost. In large filters the best k is optimum rounded up or
// down, in small ones it lies below, as probes of a key coincide; so the search
// walks down. The cost of Partitioned is too ragged in small filters for that, as
// M is rounded to a multiple of k.
func bestProbes[C float64 | uint64](s Shape, optimum float64, cost func(int) C) (k int, least C) {
	start := int(clampCount(math.Floor(optimum)+2, MaxProbes))
	if s == Partitioned {
		start = MaxProbes
	}
	k, least = start, cost(start)
	for i := start - 1; i >= 1; i-- {
		if c := cost(i); c <= least {
			k, least = i, c
		} else if s != Partitioned {
			break
		}
	}
	return k, least
}

// classicBits returns the bits that a classic filter needs to a very good
// approximation: OptimalBits, and above p = 1/2 what k = 1 needs. It is 0 for
// p = 1.
func classicBits(n uint64, p float64) float64 {
	if p <= 0.5 {
		return OptimalBits(n, p)
	}
	return float64(n) / -math.Log1p(-p)
}
