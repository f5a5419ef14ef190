package bloom_test

import (
	"math"
	"math/rand/v2"
	"slices"
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
				f, err = bloom.NewClassic(bloom.Config{Params: p})
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
			e := sizing.NewCounted([]uint64{counted}, []sizing.Params{p}).Keys(counted)
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

// Of filters that are filled one after the other the same holds, also of small blocked
// ones, whose error rates differ from filter to filter.
func TestCountedInLayers(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	const trials = 300
	for _, c := range []struct {
		capacities []uint64
		rate       float64
	}{
		{[]uint64{1000}, 0.1}, {[]uint64{200, 300, 400, 600, 800}, 0.03}, {[]uint64{2000, 3000}, 0.001}, {[]uint64{500, 700, 1000}, 1e-5},
	} {
		random := rand.New(rand.NewPCG(2, uint64(len(c.capacities))))
		sum, squares := 0.0, 0.0
		for range trials {
			var filters []*bloom.Filter
			var layers []sizing.Params
			shares := make([]uint64, len(c.capacities))
			came, counted := 0, uint64(0)
			for layer, capacity := range c.capacities {
				f, err := bloom.New(bloom.Config{Capacity: capacity, ErrorRate: c.rate})
				if err != nil {
					t.Fatal(err)
				}
				for filters, layers = append(filters, f), append(layers, f.Stats().Params); shares[layer] < capacity; came++ {
					h := random.Uint64()
					if !slices.ContainsFunc(filters, func(f *bloom.Filter) bool { return f.HasHash(h) }) {
						f.AddHash(h)
						shares[layer]++
						counted++
					}
				}
			}
			e := sizing.NewCounted(shares, layers).Keys(counted)
			z := (e.Value - float64(came)) / math.Max(e.StdErr, 0.5)
			sum, squares = sum+z, squares+z*z
		}
		mean := sum / trials
		variance := squares/trials - mean*mean
		t.Logf("%v: off by %.3f standard errors, which vary by %.3f", c, mean, variance)
		if math.Abs(mean) > 3.5/math.Sqrt(trials) {
			t.Errorf("%v: it is off by %.3f standard errors", c, mean)
		}
		if variance > 1.5 {
			t.Errorf("%v: the errors vary by %.3f of what is said", c, variance)
		}
	}
}
