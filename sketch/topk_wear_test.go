package sketch

import (
	"math"
	"testing"
)

// TestTopKUnluckyIsGeometric holds how many arrivals are unlucky against the
// distribution that it follows from: more than k of them with probability (1-p)^k.
func TestTopKUnluckyIsGeometric(t *testing.T) {
	const trials, limit = 40_000, 5.0 // standard errors; 70 comparisons
	s := newTopK(t, TopKConfig{K: 1, Seed: 7})
	for _, p := range []float64{1e-6, 1e-4, 1e-3, 1.0 / 65, 0.1, 0.5, 0.9} {
		for _, n := range []uint32{65, 1000, 100_000, math.MaxUint32} {
			var came [5]int
			at := [5]uint32{1, uint32(0.3/p) + 1, uint32(1/p) + 2, uint32(3/p) + 3, n}
			for range trials {
				vain := s.unlucky(p, n)
				if vain > n {
					t.Fatalf("%d of %d arrivals", vain, n)
				}
				for i, k := range at {
					if vain >= k {
						came[i]++
					}
				}
			}
			for i, k := range at {
				want := math.Exp(float64(k) * math.Log1p(-p))
				if k > n {
					want = 0
				}
				spread := math.Sqrt(trials * want * (1 - want))
				if got := float64(came[i]); math.Abs(got-trials*want) > limit*spread+1 {
					t.Errorf("p = %v, n = %d: %v of %d are unlucky at least %d times, want %.1f +- %.1f", p, n, got, trials, k, trials*want, spread)
				}
			}
		}
	}
}

// wearOneByOne is what wear leaves out: a draw for every arrival.
func wearOneByOne(t *TopK, count *uint32, n uint32) (left uint32) {
	for ; n > 0; n-- {
		if !t.lucky(t.chance(*count)) {
			continue
		}
		if *count--; *count == 0 {
			return n
		}
	}
	return 0
}

// TestTopKWearsAsOneByOne compares means and spreads of what is left.
func TestTopKWearsAsOneByOne(t *testing.T) {
	const trials, limit = 3000, 5.0
	for _, c := range []struct {
		decay    float64
		count, n uint32
	}{
		{0.9, 1, 100}, {0.9, 30, 2000}, {0.9, 50, 3000}, {0.9, 60, 10_000}, {0.5, 5, 500}, {0.5, 12, 5000}, {0.99, 400, 5000}, {1, 10, 9}, {1, 10, 10}, {1, 10, 30},
	} {
		s := newTopK(t, TopKConfig{K: 1, Decay: c.decay, Seed: 3})
		measure := func(wear func(count *uint32, n uint32) uint32) (mean, variance float64) {
			sum, squares := 0.0, 0.0
			for range trials {
				count := c.count
				left := wear(&count, c.n)
				x := float64(count) - float64(left)
				sum += x
				squares += x * x
			}
			mean = sum / trials
			return mean, squares/trials - mean*mean
		}
		mean, variance := measure(s.wear)
		wantMean, wantVariance := measure(func(count *uint32, n uint32) uint32 { return wearOneByOne(s, count, n) })
		if math.Abs(mean-wantMean) > limit*math.Sqrt((variance+wantVariance)/trials)+1e-9 {
			t.Errorf("%+v: %v is left, %v one by one", c, mean, wantMean)
		}
		if ratio := (variance + 0.01) / (wantVariance + 0.01); ratio < 0.75 || ratio > 1.33 {
			t.Errorf("%+v: the variance is %v, %v one by one", c, variance, wantVariance)
		}
	}
}

// TestTopKLargeIncrementsDraw counts the random numbers that a large increment takes:
// no more than a few for each that it takes away.
func TestTopKLargeIncrementsDraw(t *testing.T) {
	s := newTopK(t, TopKConfig{K: 1, Seed: 1})
	for _, count := range []uint32{50, 100, 300} {
		start, left := s.random, count
		s.wear(&left, 100_000)
		drawn := (s.random - start) * inverse(rowStep)
		if most := uint64(64 * (count - left + 1)); drawn > most {
			t.Errorf("%d numbers were drawn to take away %d of %d, at most %d", drawn, count-left, count, most)
		}
	}
}

// inverse returns the number that an odd one becomes 1 with, modulo 2^64.
func inverse(n uint64) uint64 {
	x := n
	for range 6 {
		x *= 2 - n*x
	}
	return x
}
