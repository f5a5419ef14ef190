package filtertest

import (
	"math"

	"seen/sizing"
)

// A test that compares a measured count with an expected one picks its limits
// here, so that they follow from the number of trials and the number of
// comparisons made, and not from what happened to pass.

// Limits returns the bounds between which a count of trials yes-answers must lie
// when each is yes with probability p, at three sigma for all cells comparisons
// of a test together: a correct filter fails one of them with a probability of
// 0.27 %, once and for all since seeds are fixed.
//
// relVar is the relative variance of the filter's own error rate about the
// expected one (see [Spread]); it is 0 if p is the rate of this very filter.
func Limits(trials int, p, relVar float64, cells int) (lo, hi int) {
	const threeSigma = 0.0026997960632601866 // 1 - erf(3/sqrt2)
	tail := threeSigma / 2 / float64(cells)
	mean := float64(trials) * p
	variance := mean*(1-p) + mean*mean*relVar
	if mean > 1000 || mean*relVar > 0.05 && mean > 50 {
		z := math.Sqrt2 * math.Erfinv(1-2*tail)
		spread := z*math.Sqrt(variance) + 1
		return int(math.Floor(max(0, mean-spread))), int(math.Ceil(mean + spread))
	}
	// Few events: the exact binomial tails, with the filter's own variance taken
	// as if it were more events.
	widen := math.Sqrt(variance / max(mean*(1-p), math.SmallestNonzeroFloat64))
	lo, hi = binomialTails(trials, p, tail)
	return int(math.Floor(mean - (mean-float64(lo))*widen)), int(math.Ceil(mean + (float64(hi)-mean)*widen))
}

// binomialTails returns the largest lo and smallest hi such that counts below lo
// and counts above hi each have a probability of at most tail.
func binomialTails(n int, p, tail float64) (lo, hi int) {
	if p <= 0 {
		return 0, 0
	}
	lgN, _ := math.Lgamma(float64(n) + 1)
	pmf := func(k int) float64 {
		a, _ := math.Lgamma(float64(k) + 1)
		b, _ := math.Lgamma(float64(n-k) + 1)
		return math.Exp(lgN - a - b + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	}
	sum := 0.0
	for lo = 0; lo < n; lo++ {
		if sum += pmf(lo); sum > tail {
			break
		}
	}
	mean := int(float64(n) * p)
	far := min(n, mean+200+20*int(math.Sqrt(float64(mean)+1)))
	sum = 0
	for hi = far; hi > 0; hi-- {
		if sum += pmf(hi); sum > tail {
			break
		}
	}
	return lo, hi
}

// Spread returns the relative variance of a filter's error rate about
// p.ErrorRate(n): filters of equal parameters fill up differently with different
// keys. It is of the order of k^2/m for arrays probed anywhere, and of one over
// the number of lines for blocked ones.
func Spread(p sizing.Params, n uint64) float64 {
	if p.Shape == sizing.Blocked {
		return blockedSpread(p, n)
	}
	k, m := float64(p.K), float64(p.M)
	load := k * float64(n) / m
	zero := math.Exp(-load)
	// Variance of the share of zero bits when balls are thrown into m urns.
	fill := zero * (1 - (1+load)*zero) / m
	return k * k * fill / ((1 - zero) * (1 - zero))
}

func blockedSpread(p sizing.Params, n uint64) float64 {
	load := float64(n) / float64(p.RegionLines())
	far := int(load + 20*math.Sqrt(load) + 20)
	var mean, square float64
	logWeight := -load
	for j := 0; j <= far; j++ {
		if j > 0 {
			logWeight += math.Log(load) - math.Log(float64(j))
		}
		yes := lineRate(p.Lanes, j)
		mean += math.Exp(logWeight) * yes
		square += math.Exp(logWeight) * yes * yes
	}
	return float64(p.Lines) * (square/(mean*mean) - 1) / float64(p.RegionLines())
}

// lineRate is the error rate of a line that holds j keys, with the lanes taken as
// independent; that is enough for a variance.
func lineRate(lanes, j int) float64 {
	set := 1 - math.Pow(1-float64(lanes)/8/64, float64(j))
	return math.Pow(set, float64(lanes))
}
