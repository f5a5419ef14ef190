package bloom

import (
	"math"
	"testing"

	"seen/sizing"
)

// TestScalableMemory holds what the documentation says about the memory of a
// filter that grows to a thousand times its first capacity, relative to a Filter of
// the right size for each number of keys: when a layer is full, when one has just
// begun, and on average over all orders of magnitude.
func TestScalableMemory(t *testing.T) {
	const first, last = 1_000_000, 1_000_000_000
	for _, c := range []struct{ p, full, begun, average float64 }{
		{0.1, 3.7, 5.2, 3.5},
		{0.01, 2.3, 3.3, 2.3},
		{1e-6, 1.5, 2.6, 1.6},
	} {
		s, err := emptyScalable(ScalableConfig{Capacity: first, ErrorRate: c.p})
		if err != nil {
			t.Fatal(err)
		}
		sized := func(n float64) float64 { return float64(blockedBytes(t, uint64(n), c.p)) }
		var full, begun, average float64
		keys, bytes, capacity := 0.0, 0.0, float64(first)
		for i := 0; keys < last; i++ {
			bytes += float64(blockedBytes(t, uint64(capacity), s.rateOf(i)))
			from, to := max(first, keys+1), min(last, keys+capacity)
			if i > 0 {
				begun = max(begun, bytes/sized(from))
			}
			full = max(full, bytes/sized(keys+capacity))
			average += mean(from, to, func(n float64) float64 { return bytes / sized(n) }) * math.Log(to/from) / math.Log(last/first)
			keys += capacity
			capacity = math.Ceil(capacity * s.config.Growth)
		}
		if full > c.full || begun > c.begun || average > c.average {
			t.Errorf("p = %g: %.2f times the memory when full, %.2f when a layer has begun, %.3f on average; want at most %v", c.p, full, begun, average, c)
		}
	}
}

func blockedBytes(t *testing.T, n uint64, p float64) uint64 {
	params, err := sizing.For(sizing.Blocked, n, p)
	if err != nil {
		t.Fatal(err)
	}
	return params.Bytes()
}

// mean is the mean of f between two numbers over their logarithms.
func mean(from, to float64, f func(float64) float64) float64 {
	if from >= to {
		return 0
	}
	const steps = 20
	sum := 0.0
	for i := range steps {
		sum += f(from * math.Pow(to/from, (float64(i)+0.5)/steps))
	}
	return sum / steps
}

// TestScalableRates holds that the rates of however many layers never sum up to more
// than what was asked for.
func TestScalableRates(t *testing.T) {
	s := &Scalable{config: ScalableConfig{ErrorRate: 0.01}}
	sum, last := 0.0, 1.0
	for i := range maxLayers {
		rate := s.rateOf(i)
		if sum += rate; sum >= 0.01 || rate >= last {
			t.Fatalf("layer %d has the rate %g, all together %g", i, rate, sum)
		}
		last = rate
	}
}
