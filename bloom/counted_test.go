package bloom_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"seen/bloom"
	"seen/sizing"
)

// The number of keys that a count tells, and its standard error, are those of filters that
// were filled.
func TestCounted(t *testing.T) {
	const trials = 300
	for _, c := range []struct {
		shape sizing.Shape
		m     uint64
		k     int
		keys  int
	}{
		{sizing.Classic, 8192, 3, 3000}, {sizing.Classic, 8192, 6, 1500}, {sizing.Classic, 1 << 14, 2, 2000}, {sizing.Partitioned, 9000, 3, 4000},
	} {
		p := sizing.Params{Shape: c.shape, M: c.m, K: c.k}
		random := rand.New(rand.NewPCG(1, uint64(c.m)+uint64(c.k)))
		sum, squares := 0.0, 0.0
		for range trials {
			var f bloom.Set
			var err error
			if c.shape == sizing.Classic {
				f, err = bloom.New(bloom.Config{Params: p})
			} else {
				f, err = bloom.NewPartitioned(bloom.Config{Params: p})
			}
			if err != nil {
				t.Fatal(err)
			}
			counted := uint64(0)
			for range c.keys {
				if f.AddHash(random.Uint64()) {
					counted++
				}
			}
			e := sizing.NewCounted([]uint64{counted}, func(_ int, n uint64) float64 { return p.ErrorRate(n) }).Keys(counted)
			z := (e.Value - float64(c.keys)) / e.StdErr
			sum, squares = sum+z, squares+z*z
		}
		mean := sum / trials
		variance := squares/trials - mean*mean
		if math.Abs(mean) > 3/math.Sqrt(trials) {
			t.Errorf("%v: it is off by %.3f standard errors", c, mean)
		}
		if math.Abs(variance-1) > 3*math.Sqrt(2.0/trials) {
			t.Errorf("%v: the errors vary by %.3f of what is said", c, variance)
		}
	}
}
