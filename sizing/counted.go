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
// times. The number of ones that a number of keys leaves is taken for what is expected;
// what it varies by is of a lower order, as long as a filter has some hundred bits.
type Counted struct {
	keys, counted, variance []float64 // at points that grow
}

// countedSteps is the number of points in the life of one filter.
const countedSteps = 64

// NewCounted returns what counts tell about layers that are filled one after the other,
// each until its share of the keys was counted, after which it stays as it is. A key is
// taken for seen if one of them has it. rate returns the error rate of a layer to which a
// number of distinct keys was added, as [Params.ErrorRate] does.
func NewCounted(shares []uint64, rate func(layer int, keys uint64) float64) *Counted {
	c := &Counted{keys: []float64{0}, counted: []float64{0}, variance: []float64{0}}
	right := 1.0 // the probability that no layer before this takes a key for seen
	for layer, share := range shares {
		steps := min(countedSteps, share)
		missed := func(n float64) float64 { return min(1-right*(1-rate(layer, uint64(n+0.5))), 1-1e-9) }
		at, n := uint64(0), 0.0 // counted in this layer, and keys that were added to it
		for i := range steps {
			next := uint64(float64(share) * float64(i+1) / float64(steps))
			// The midpoint rule.
			h := float64(next - at)
			middle := n + h/2/(1-missed(n))
			p := missed(middle)
			n += h / (1 - p)
			at = next
			last := len(c.keys) - 1
			c.keys = append(c.keys, c.keys[last]+h/(1-p))
			c.counted = append(c.counted, c.counted[last]+h)
			c.variance = append(c.variance, c.variance[last]+h*p/((1-p)*(1-p)))
		}
		right *= 1 - rate(layer, uint64(n+0.5))
	}
	return c
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
