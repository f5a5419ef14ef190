package sizing

import (
	"fmt"
	"math"
)

// Estimate is an estimated quantity with its standard error, the square root of
// the estimator's variance. About two of three estimates are within one standard
// error of the truth, 95 of 100 within two.
//
// Value is +Inf if a filter is full, so that its bits tell nothing but that it is
// full, and NaN if the quantity cannot be estimated at all. StdErr is then +Inf
// or NaN.
type Estimate struct{ Value, StdErr float64 }

// Known reports whether e holds a number, that is, neither +Inf nor NaN.
func (e Estimate) Known() bool { return !math.IsNaN(e.Value) && !math.IsInf(e.Value, 0) }

// String returns "value ± standard error", "full" or "unknown".
func (e Estimate) String() string {
	switch {
	case math.IsInf(e.Value, 1):
		return "full"
	case !e.Known():
		return "unknown"
	}
	return fmt.Sprintf("%.6g ± %.2g", e.Value, e.StdErr)
}

var (
	unknown = Estimate{math.NaN(), math.NaN()}
	full    = Estimate{math.Inf(1), math.Inf(1)}
)

// Cardinality estimates the number of distinct keys in a filter with the given
// number of ones (of counters that are not zero, for [Counting]).
//
// It is the n whose [Params.FillRatio] is ones/m, about (m/k) ln(m/(m-ones)):
// Swamidass and Baldi, "Mathematical Correction for Fingerprint Similarity
// Measures", 2007; for k = 1 the linear counting of Whang, Vander-Zanden and
// Taylor, 1990. The standard error is first-order propagation of the exact
// variance of the ones, at the estimate. The estimator's bias is about k StdErr/2m
// standard errors and matters only where a handful of bits is still zero.
//
// The value is 0 for no ones, +Inf when all bits are ones ("full"), and NaN for
// ones > m.
func (p Params) Cardinality(ones uint64) Estimate {
	if p.Validate() != nil || ones > p.M {
		return unknown
	}
	if ones == p.M {
		return full
	}
	n := p.keys(ones)
	return Estimate{n, math.Sqrt(p.keysVariance(n))}
}

// ErrorRateAt returns the error rate of a filter that has the given number of
// ones: [Params.ErrorRate] for its cardinality as estimated by
// [Params.Cardinality], which serves also where the number of added keys is not
// known, as after a union. It is 0 for no ones, 1 when all bits are ones and NaN
// for ones > m.
func (p Params) ErrorRateAt(ones uint64) float64 {
	if p.Validate() != nil || ones > p.M {
		return math.NaN()
	}
	if ones == p.M {
		return 1
	}
	return p.rate(uint64(min(math.Ceil(p.keys(ones)), 1<<63)))
}

// keys returns the number of keys whose expected number of ones is the given,
// which is below m.
func (p Params) keys(ones uint64) float64 {
	trials, hit := p.trials(1)
	return math.Log1p(-float64(ones)/float64(p.M)) / (trials * math.Log1p(-hit))
}

// Union estimates the number of distinct keys in the union of two filters of
// this layout, given the ones of the OR of their bits. It is [Params.Cardinality],
// since the OR of two filters is the filter of the union.
func (p Params) Union(onesUnion uint64) Estimate { return p.Cardinality(onesUnion) }

// Intersection estimates the number of keys that two filters A and B of this
// layout have in common, from the ones of each and of the OR of their bits, as
// |A| + |B| - |A or B|. (The AND of the bits is not the filter of the
// intersection: its ones would count too many.)
//
// A difference of large numbers, it is coarse if the filters share little; the
// standard error, which takes account of the correlation of the three terms, says
// how coarse. With W(n) the variance of the cardinality estimate at n keys, the
// covariance of the estimates of two sets is W at the size of what they share, so
// the variance is W(|A or B|) + 2 W(|A and B|) - W(|A|) - W(|B|), to first order.
//
// The value is kept in 0..min(|A|,|B|). It is NaN if one of the three is full, and
// for counts that cannot belong together: onesUnion below onesA or onesB, above
// their sum, or above m.
func (p Params) Intersection(onesA, onesB, onesUnion uint64) Estimate {
	o, ok := p.overlap(onesA, onesB, onesUnion)
	if !ok {
		return unknown
	}
	return Estimate{o.common, math.Sqrt(max(0, o.varUnion+2*o.varCommon-o.varA-o.varB))}
}

// Jaccard estimates the Jaccard similarity of the key sets of two filters,
// |A and B| / |A or B|, with arguments and conditions as for
// [Params.Intersection]. It is in 0..1, and NaN also if both filters are
// empty. The standard error is first-order propagation through the quotient, with
// the covariances named there.
func (p Params) Jaccard(onesA, onesB, onesUnion uint64) Estimate {
	o, ok := p.overlap(onesA, onesB, onesUnion)
	if !ok || o.union == 0 {
		return unknown
	}
	// J = (|A|+|B|)/|A or B| - 1. The sum and the union have covariance
	// varA + varB.
	r := 1 + o.common/o.union
	sum := o.varA + o.varB
	variance := sum + 2*o.varCommon - 2*r*sum + r*r*o.varUnion
	return Estimate{o.common / o.union, math.Sqrt(max(0, variance)) / o.union}
}

// overlap is what the estimates about two filters need: numbers of keys, and the
// variance of the cardinality estimate at each of them.
type overlap struct {
	union, common                   float64
	varA, varB, varUnion, varCommon float64
}

func (p Params) overlap(onesA, onesB, onesUnion uint64) (overlap, bool) {
	if p.Validate() != nil || onesUnion >= p.M || onesUnion < max(onesA, onesB) || onesUnion > onesA+onesB {
		return overlap{}, false
	}
	a, b, union := p.keys(onesA), p.keys(onesB), p.keys(onesUnion)
	common := max(0, min(a+b-union, a, b))
	return overlap{
		union: union, common: common,
		varA: p.keysVariance(a), varB: p.keysVariance(b),
		varUnion: p.keysVariance(union), varCommon: p.keysVariance(common),
	}, true
}

// keysVariance returns the variance of the cardinality estimate at n keys, by
// first-order propagation of the variance of the ones.
func (p Params) keysVariance(n float64) float64 {
	if n == 0 {
		return 0
	}
	trials, hit := p.trials(1)
	slope := float64(p.M) * trials * math.Log1p(-hit) // of the ones by n, over the share of zeros
	return p.relativeVariance(n) / (slope * slope) * float64(p.M)
}

// onesVariance returns the variance of the number of ones after n keys.
func (p Params) onesVariance(n float64) float64 {
	trials, hit := p.trials(n)
	zero := math.Exp(2 * trials * math.Log1p(-hit))
	return p.relativeVariance(n) * float64(p.M) * zero
}

// relativeVariance returns the variance of the number of ones after n keys over
// m z^2, where z is the expected share of zeros: the sum, over the bits j, of
// P(i and j are zero)/z^2 - 1 for a given bit i.
//
// One key misses both of two bits with probability 1-2x if it cannot set both, x
// being the probability that it sets one, and with 1-2x+y if it sets both with
// probability y; bits of different slices or regions are independent.
func (p Params) relativeVariance(n float64) float64 {
	trials, x := p.trials(n)
	miss := math.Log1p(-x)
	excess := func(y float64) float64 { // P(both zero)/z^2 - 1
		return math.Expm1(trials * math.Log1p((y-x*x)/((1-x)*(1-x))))
	}
	v := math.Expm1(-trials * miss) // the bit with itself
	switch p.Shape {
	case Blocked:
		region := float64(p.M) / float64(p.Lines)
		lanes := float64(p.Lanes)
		const others = LineBits - laneBits // bits of the same line that a key can set as well
		both := lanes * (lanes - 1) / (lanesPerLine * (lanesPerLine - 1) * laneBits * laneBits) * LineBits / region
		v += (region-others-1)*excess(0) + others*excess(both)
	case Partitioned:
		v += (float64(p.M)/float64(p.K) - 1) * excess(0)
	default:
		v += (float64(p.M) - 1) * excess(0)
	}
	return max(0, v)
}

// StuckCounters returns the expected number of counters of a [Counting] filter
// that have reached their largest value, 2^CounterBits - 1, after n keys, and can
// therefore no longer be counted down, if no key was added twice. A counter is
// met by Binomial(k n, 1/m) probes. (Fan, Cao, Almeida and Broder, "Summary
// Cache", 2000, bound the share of counters that are met 16 times, at the best k,
// by 1.37e-15.) The answer is 0 for the other shapes. A call takes microseconds,
// with 16-bit counters up to some milliseconds.
func (p Params) StuckCounters(n uint64) float64 {
	if p.Validate() != nil {
		return math.NaN()
	}
	if p.Shape != Counting || n == 0 {
		return 0
	}
	top := 1<<p.CounterBits - 1
	return float64(p.M) * binomialTail(float64(p.K)*float64(n), 1/float64(p.M), top)
}

// binomialTail returns the probability that a Binomial(trials, hit) variable is
// at least top.
func binomialTail(trials, hit float64, top int) float64 {
	if trials < float64(top) {
		return 0
	}
	if hit == 1 {
		return 1
	}
	odds := hit / (1 - hit)
	ln := trials * math.Log1p(-hit) // of the probability of c, for c = 0 and then up to top
	for c := range top {
		ln += math.Log((trials - float64(c)) / float64(c+1) * odds)
	}
	term := math.Exp(ln)
	// The terms fall to both sides of the mean; sum the side beyond top.
	if trials*hit < float64(top) {
		var tail float64
		for c := float64(top); c <= trials && term > tail*1e-17; c++ {
			tail += term
			term *= (trials - c) / (c + 1) * odds
		}
		return tail
	}
	var below float64
	for c := float64(top); c > 0 && term > below*1e-17; c-- {
		term *= c / ((trials - c + 1) * odds)
		below += term
	}
	return 1 - below
}
