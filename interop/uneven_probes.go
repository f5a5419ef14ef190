package interop

import (
	"math"

	"seen/sizing"
)

// uneven is a scheme with probes that do not choose among all bits alike, even for a
// perfect hash. Several keys then choose the same bits more often, so the number of keys
// that [sizing.Params.Cardinality] derives from the ones would be too small.
type uneven interface {
	// parts returns the groups of bits that differ; nothing where all bits are alike.
	parts() []bitPart
	// doubt returns the relative error of the estimated keys that comes from what parts
	// leaves out; 0 where it leaves nothing out. It widens the standard error.
	doubt() float64
}

// bitPart is the bits of an array that are chosen alike.
type bitPart struct {
	share float64 // of the bits
	// rates are the chance of each probe to choose one of these bits, relative to the
	// chance that it would have if it chose among all bits alike.
	rates []float64
}

// partsCardinality returns the number of keys after which so many of m bits are expected
// to be ones, and its standard error by first-order propagation.
//
// A bit that probe i chooses with probability p(i) is zero after n keys with probability
// z = exp(n sum ln(1-p(i))). The variance of the ones is the sum of z(1-z) over the bits,
// less n times the sum over the probes of the square of their chance to hit a zero.
func partsCardinality(parts []bitPart, m, ones uint64) sizing.Estimate {
	bits := float64(m)
	miss := make([]float64, len(parts)) // -ln of the chance that a key leaves a bit
	for i, p := range parts {
		for _, rate := range p.rates {
			// A probe that always chooses the same bit would have an infinite logarithm.
			miss[i] -= math.Log1p(-min(rate/bits, 1-1e-9))
		}
	}
	// after returns the expected ones after n keys and by how many one more key adds to them.
	after := func(n float64) (expected, slope float64) {
		for i, p := range parts {
			expected -= p.share * bits * math.Expm1(-n*miss[i])
			slope += p.share * bits * miss[i] * math.Exp(-n*miss[i])
		}
		return expected, slope
	}
	// The expected ones are concave in n, so Newton's steps from 0 never pass the root.
	n, want := 0.0, float64(ones)
	for range 1000 {
		expected, slope := after(n)
		step := (want - expected) / slope
		if !(step > 1e-12*n) {
			break
		}
		if n += step; math.IsInf(n, 0) {
			break
		}
	}
	if expected, slope := after(n); math.IsInf(n, 0) || slope == 0 || want-expected > 0.5 {
		return sizing.Estimate{Value: math.Inf(1), StdErr: math.Inf(1)} // more ones than keys can make
	}
	_, slope := after(n)
	variance := 0.0
	hit := make([]float64, len(parts[0].rates)) // the chance of each probe to hit a zero
	for i, p := range parts {
		zero := math.Exp(-n * miss[i])
		variance += p.share * bits * zero * (1 - zero)
		for j, rate := range p.rates {
			hit[j] += p.share * rate * zero
		}
	}
	for _, h := range hit {
		variance -= n * h * h
	}
	return sizing.Estimate{Value: n, StdErr: math.Sqrt(max(0, variance)) / slope}
}
