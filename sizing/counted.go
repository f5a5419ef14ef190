package sizing

import (
	"math"
	"sort"
)

// Counted tells how many distinct keys were added to a filter, or to several that are
// filled one after the other, from the number of those that were new to it. A key that was
// taken for one that is in, by an error, is in too, and was not counted.
//
// A distinct key is missed with the error rate p of the moment. So the number of keys that
// are added until another one is counted has a geometric distribution, with mean 1/(1-p)
// and variance p/(1-p)^2, and those of one counted key after the other add up: Feller, "An
// Introduction to Probability Theory and Its Applications" I, chapter IX.3, on waiting
// times. The error rate of a layer differs from what is expected, too, and keeps that
// difference once the layer is full: in a small layer that is the larger part of the error.
type Counted struct {
	keys, counted, variance []float64 // at points that grow
}

// countedSteps is the number of points in the life of one filter.
const countedSteps = 64

// NewCounted returns what counts tell about layers that are filled one after the other,
// each until its share of the keys was counted, after which it does not change. A key that
// one of them has counts as seen, and is not added to a later one. There are as many
// shares as layers, which are valid.
func NewCounted(shares []uint64, layers []Params) *Counted {
	c := &Counted{keys: []float64{0}, counted: []float64{0}, variance: []float64{0}}
	right := 1.0 // the probability that no layer before this takes a key for seen
	keys, counted, waiting := 0.0, 0.0, 0.0
	// A layer j that is full takes another number of keys for seen than is expected, by
	// a standard deviation of a + b*keys: these are the sums of a*a, a*b and b*b.
	var aa, ab, bb float64
	for layer, share := range shares {
		p := layers[layer]
		rate := func(n float64) float64 { return min(p.rate(uint64(n+0.5)), 1-1e-9) }
		steps := min(countedSteps, share)
		at, n, spread := uint64(0), 0.0, 0.0 // counted in this layer, keys that came to it, and by how much those it took differ
		for i := range steps {
			next := uint64(float64(share) * float64(i+1) / float64(steps))
			// The midpoint rule.
			h := float64(next - at)
			middle := n + h/2/(1-rate(n))
			q := rate(middle)
			miss := min(1-right*(1-q), 1-1e-9)
			came := h / (1 - q)
			n += came
			at = next
			keys += h / (1 - miss)
			counted += h
			waiting += h * miss / ((1 - miss) * (1 - miss))
			spread += came * q * p.rateSpread(middle)
			c.keys = append(c.keys, keys)
			c.counted = append(c.counted, counted)
			c.variance = append(c.variance, waiting+spread*spread+aa+2*ab*keys+bb*keys*keys)
		}
		last := rate(n)
		right *= 1 - last
		b := last * p.rateSpread(n)
		a := spread - b*keys
		aa, ab, bb = aa+a*a, ab+a*b, bb+b*b
	}
	return c
}

// rateSpread returns the standard deviation of the error rate after n keys, as a share of
// the rate. It comes from the number of ones and, in a blocked filter, from the lines,
// which have more or fewer keys.
func (p Params) rateSpread(n float64) float64 {
	keys := uint64(n + 0.5)
	zeros := 1 - p.fill(keys)
	if zeros >= 1 || zeros <= 0 {
		return 0
	}
	// The variance of the share of ones that random throws leave in one bit, by that of
	// the number of empty cells: Feller, chapter IV.2. Each probe meets a one with it.
	ones := zeros * (1 - zeros*(1-math.Log(zeros))) / ((1 - zeros) * (1 - zeros))
	if p.Shape != Blocked {
		return float64(p.K) * math.Sqrt(ones/float64(p.M))
	}
	lines := p.M / uint64(p.Lines) / LineBits // of each region
	region := lineSpread(p.Lanes, lines, keys) + float64(p.Lanes*p.Lanes)*ones/LineBits/float64(lines)
	return math.Sqrt(float64(p.Lines) * region)
}

// Keys estimates the number of distinct keys that had been added when so many of them had
// been counted, up to the sum of all shares.
func (c *Counted) Keys(counted uint64) Estimate {
	x := min(float64(counted), c.counted[len(c.counted)-1])
	i := sort.SearchFloat64s(c.counted, x)
	if i == 0 {
		return Estimate{}
	}
	part := (x - c.counted[i-1]) / (c.counted[i] - c.counted[i-1])
	between := func(v []float64) float64 { return v[i-1] + part*(v[i]-v[i-1]) }
	return Estimate{between(c.keys), math.Sqrt(between(c.variance))}
}
