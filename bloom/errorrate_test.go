//go:build !race

// The race detector has nothing to find here, and makes it take minutes.

package bloom_test

import (
	"fmt"
	"math"
	"testing"

	"seen/bloom"
	"seen/internal/filtertest"
	"seen/sizing"
)

// gridType makes the filters of one type for the grid of measured error rates.
type gridType struct {
	name string
	make func(n uint64, p float64) (bloom.Set, error)
	// spread bounds the relative variance of the error rate of such a filter with
	// so many keys about that of the formula; nil where the layout is one array.
	spread func(n uint64, p float64) float64
}

func gridTypes() []gridType {
	return []gridType{
		{"Classic", func(n uint64, p float64) (bloom.Set, error) {
			return bloom.NewClassic(bloom.Config{Capacity: n, ErrorRate: p})
		}, nil},
		{"Filter", func(n uint64, p float64) (bloom.Set, error) {
			return bloom.New(bloom.Config{Capacity: n, ErrorRate: p})
		}, nil},
		{"Partitioned", func(n uint64, p float64) (bloom.Set, error) {
			return bloom.NewPartitioned(bloom.Config{Capacity: n, ErrorRate: p})
		}, nil},
		{"Counting", func(n uint64, p float64) (bloom.Set, error) {
			return bloom.NewCounting(bloom.Config{Capacity: n, ErrorRate: p})
		}, nil},
		// Five layers at capacity.
		{"Scalable", func(n uint64, p float64) (bloom.Set, error) {
			return bloom.NewScalable(bloom.ScalableConfig{Capacity: n / 20, ErrorRate: p})
		}, func(n uint64, p float64) float64 { return layerSpread(n/20, p*6/(math.Pi*math.Pi)) }},
		// Seven generations at capacity.
		{"Window", func(n uint64, p float64) (bloom.Set, error) {
			return bloom.NewWindow(bloom.WindowConfig{SpanKeys: n, ErrorRate: p, NoRefresh: true})
		}, func(n uint64, p float64) float64 { return layerSpread(n/7, p/8*6/(math.Pi*math.Pi)) }},
		// A product: the variances of all levels add up.
		{"Cascade", func(n uint64, p float64) (bloom.Set, error) {
			return bloom.NewCascade(bloom.CascadeConfig{Capacity: n / 8, ErrorRate: p})
		}, func(n uint64, p float64) (v float64) {
			for c := n / 8; c <= n; c *= 2 {
				v += filtertest.Spread(must(sizing.For(sizing.Classic, c, p)), n/20)
			}
			return v
		}},
	}
}

// layerSpread bounds the spread of a sum over layers by that of the smallest. One
// that is not full yet varies more, but adds less to the sum.
func layerSpread(n uint64, p float64) float64 {
	return filtertest.Spread(must(sizing.For(sizing.Blocked, n, p)), n)
}

// cell is one measurement: a filter with a share of the keys it is made for.
type cell struct {
	name   string
	f      bloom.Set
	p      float64 // asked for
	rate   float64 // by the formula
	relVar float64
	trials int
	left   int // trials to come
	yes    int
}

// fill returns the cells for one type at one error rate and one load, with the keys
// [0, load*n) of a family.
func (g gridType) fill(t *testing.T, hs []uint64, n uint64, p, load float64, trials int) *cell {
	t.Helper()
	f := must(g.make(n, p))
	keys := uint64(load * float64(n))
	c := &cell{
		name: fmt.Sprintf("%s, p = %g, at %g %% of capacity", g.name, p, load*100),
		f:    f, p: p, left: trials, trials: trials,
	}
	f.AddHashes(nil, hs[:keys])
	if found := f.HasHashes(nil, hs[:keys]); found != int(keys) {
		t.Fatalf("%s: %d of %d keys are there", c.name, found, keys)
	}
	if st := f.Stats(); g.spread == nil {
		c.rate = st.Params.ErrorRate(keys)
		c.relVar = filtertest.Spread(st.Params, keys)
	} else {
		c.rate = st.ErrorRate
		c.relVar = g.spread(n, p)
	}
	return c
}

// measure asks every cell about keys of the family from index first on.
func measure(keys filtertest.Keys, first uint64, cells []*cell) {
	hash := bloom.Hash{}
	hs := make([]uint64, 4096)
	buf := make([]byte, 0, 128)
	for busy := true; busy; {
		for i := range hs {
			buf = keys.At(buf[:0], first+uint64(i))
			hs[i] = hash.Sum(buf)
		}
		first += uint64(len(hs))
		busy = false
		for _, c := range cells {
			m := min(c.left, len(hs))
			c.yes += c.f.HasHashes(nil, hs[:m])
			c.left -= m
			busy = busy || c.left > 0
		}
	}
}

// check compares what was measured with the formula, both ways, and with the rate
// asked for; comparisons is the number of all that the test makes.
func (c *cell) check(t *testing.T, comparisons int) {
	t.Helper()
	measured := float64(c.yes) / float64(c.trials)
	if lo, hi := filtertest.Limits(c.trials, c.rate, c.relVar, comparisons); c.yes < lo || c.yes > hi {
		t.Errorf("%s: error rate %.4g (%d of %d), by the formula %.4g (%d to %d)", c.name, measured, c.yes, c.trials, c.rate, lo, hi)
	}
	if _, hi := filtertest.Limits(c.trials, c.p, c.relVar, comparisons); c.yes > hi {
		t.Errorf("%s: error rate %.4g (%d of %d), asked for %g", c.name, measured, c.yes, c.trials, c.p)
	}
}

// grid measures all cells of the types for each family of keys.
func grid(t *testing.T, types []gridType, n uint64, rates []float64, trials func(p float64) int) {
	loads := []float64{0.1, 0.5, 1}
	families := filtertest.Families()
	comparisons := 2 * len(types) * len(rates) * len(loads) * len(families)
	for _, keys := range families {
		t.Run(keys.Name, func(t *testing.T) {
			t.Parallel()
			hs := make([]uint64, n)
			hash := bloom.Hash{}
			buf := make([]byte, 0, 128)
			for i := range hs {
				buf = keys.At(buf[:0], uint64(i))
				hs[i] = hash.Sum(buf)
			}
			var cells []*cell
			for _, g := range types {
				for _, p := range rates {
					for _, load := range loads {
						cells = append(cells, g.fill(t, hs, n, p, load, trials(p)))
					}
				}
			}
			measure(keys, n, cells)
			for _, c := range cells {
				c.check(t, comparisons)
			}
		})
	}
}

// The error rate of every filter is that of its formula and at most the one asked
// for, whatever the keys look like.
func TestErrorRates(t *testing.T) {
	grid(t, gridTypes(), 20_000, []float64{1e-1, 1e-2, 1e-3, 1e-4}, func(p float64) int {
		return int(math.Min(400/p, 1.5e6))
	})
}
