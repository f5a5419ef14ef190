package bloom_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"seen/bloom"
	"seen/internal/filtertest"
	"seen/sizing"
)

// coveredType makes filters whose estimate of their keys is compared with the truth.
type coveredType struct {
	name string
	make func(capacity uint64, p float64) (bloom.Set, error)
	// loads are numbers of keys, relative to the capacity.
	loads []float64
	// greatest is the rate above which the claim is not made.
	greatest float64
}

var (
	arrayLoads = []float64{0.02, 0.5, 1, 3}
	grownLoads = []float64{0.1, 1, 4, 30}
)

func asSet[F bloom.Set](f F, err error) (bloom.Set, error) { return f, err }

var coveredTypes = []coveredType{
	{"classic", func(n uint64, p float64) (bloom.Set, error) {
		return asSet(bloom.NewClassic(bloom.Config{Capacity: n, ErrorRate: p}))
	}, arrayLoads, 1},
	{"blocked", func(n uint64, p float64) (bloom.Set, error) {
		return asSet(bloom.New(bloom.Config{Capacity: n, ErrorRate: p}))
	}, arrayLoads, 1},
	{"partitioned", func(n uint64, p float64) (bloom.Set, error) {
		return asSet(bloom.NewPartitioned(bloom.Config{Capacity: n, ErrorRate: p}))
	}, arrayLoads, 1},
	{"counting", func(n uint64, p float64) (bloom.Set, error) {
		return asSet(bloom.NewCounting(bloom.Config{Capacity: n, ErrorRate: p}))
	}, arrayLoads, 1},
	{"shared", func(n uint64, p float64) (bloom.Set, error) {
		return asSet(bloom.NewShared(bloom.Config{Capacity: n, ErrorRate: p}))
	}, arrayLoads, 1},
	{"cascade", func(n uint64, p float64) (bloom.Set, error) {
		return asSet(bloom.NewCascade(bloom.CascadeConfig{Capacity: n, ErrorRate: p}))
	}, []float64{0.1, 1, 3}, 1},
	{"scalable", func(n uint64, p float64) (bloom.Set, error) {
		return asSet(bloom.NewScalable(bloom.ScalableConfig{Capacity: n, ErrorRate: p}))
	}, grownLoads, 0.25},
	{"scalable that grows by 4", func(n uint64, p float64) (bloom.Set, error) {
		return asSet(bloom.NewScalable(bloom.ScalableConfig{Capacity: n, ErrorRate: p, Growth: 4}))
	}, []float64{4, 30}, 0.25},
	{"scalable that is overfilled", func(n uint64, p float64) (bloom.Set, error) {
		one, err := sizing.For(sizing.Blocked, n, p)
		if err != nil {
			return nil, err
		}
		return asSet(bloom.NewScalable(bloom.ScalableConfig{Capacity: n, ErrorRate: p, MaxBytes: 4 * one.Bytes(), Overfill: true}))
	}, []float64{3, 4}, 0.1},
	{"adaptive", func(n uint64, p float64) (bloom.Set, error) {
		return asSet(bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: 15 * n, ErrorRate: p}))
	}, grownLoads, 0.25},
	{"window", func(n uint64, p float64) (bloom.Set, error) {
		return asSet(bloom.NewWindow(bloom.WindowConfig{Span: time.Hour, Capacity: n, ErrorRate: p, Clock: func() time.Time { return noon }}))
	}, grownLoads, 0.25},
}

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// testCoverage fills so many filters of each type with different keys, and holds their
// estimates and the standard errors of these against the truth.
func testCoverage(t *testing.T, trials int, capacities []uint64, rates []float64) {
	for _, c := range coveredTypes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(21, uint64(len(c.name))))
			for _, n := range capacities {
				for _, p := range rates {
					if p > c.greatest {
						continue
					}
					for _, load := range c.loads {
						cell := fmt.Sprintf("%s for %d keys at %v with %v of that", c.name, n, p, load)
						var covered filtertest.Coverage
						hs := make([]uint64, int(math.Ceil(load*float64(n))))
						for range trials {
							f, err := c.make(n, p)
							if err != nil {
								t.Fatal(err)
							}
							for i := range hs {
								hs[i] = random.Uint64()
							}
							f.AddHashes(nil, hs)
							covered.Add(t, cell, f.Stats().Cardinality, float64(len(hs)))
						}
						covered.Check(t, cell)
					}
				}
			}
		})
	}
}

// The number of keys that a filter of any type estimates, and the standard error that it
// claims, are right: for filters that are nearly empty, full, overfull and grown.
func TestCardinalityCoverage(t *testing.T) {
	testCoverage(t, filtertest.CoverageTrials, []uint64{1000}, []float64{0.25, 0.1, 0.01, 1e-4, 1e-6})
}

// A window counts the keys of each of its generations, and forgets their number with them.
func TestCardinalityCoverageOfGenerations(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	const perGeneration, generations = 400, 5
	for _, p := range []float64{0.25, 0.1, 0.01, 1e-4} {
		var covered filtertest.Coverage
		random := rand.New(rand.NewPCG(22, 1))
		for range filtertest.CoverageTrials {
			now := noon
			w, err := bloom.NewWindow(bloom.WindowConfig{Span: 4 * time.Hour, Generations: generations, Capacity: 500, ErrorRate: p, Clock: func() time.Time { return now }})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 * generations {
				for range perGeneration {
					w.AddHash(random.Uint64())
				}
				now = now.Add(time.Hour)
			}
			now = now.Add(-time.Hour)
			covered.Add(t, "a window", w.Stats().Cardinality, perGeneration*generations)
		}
		covered.Check(t, fmt.Sprintf("a window at %v", p))
	}
}

// The union of filters that grew, with no key in common, has the keys of both.
func TestCardinalityCoverageOfUnions(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	for _, p := range []float64{0.05, 0.01, 1e-4} {
		for _, keys := range [][2]int{{500, 300}, {5000, 5000}, {10000, 3000}} {
			cell := fmt.Sprintf("a union of %v keys at %v", keys, p)
			var covered filtertest.Coverage
			random := rand.New(rand.NewPCG(24, 1))
			for range filtertest.CoverageTrials {
				var both [2]*bloom.Scalable
				for i, n := range keys {
					f, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: 1000, ErrorRate: p})
					if err != nil {
						t.Fatal(err)
					}
					for range n {
						f.AddHash(random.Uint64())
					}
					both[i] = f
				}
				if err := both[0].Union(both[1]); err != nil {
					t.Fatal(err)
				}
				covered.Add(t, cell, both[0].Stats().Cardinality, float64(keys[0]+keys[1]))
			}
			covered.Check(t, cell)
		}
	}
}

// Filters that hold one thing for each key know their number.
func TestCardinalityWithoutError(t *testing.T) {
	const n = 5000
	random := rand.New(rand.NewPCG(23, 1))
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = random.Uint64()
	}
	static, err := bloom.NewStatic(bloom.StaticConfig{ErrorRate: 0.01, Hashes: hs})
	if err != nil {
		t.Fatal(err)
	}
	cuckoo, err := bloom.NewCuckoo(bloom.CuckooConfig{Capacity: n})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hs {
		if err := cuckoo.AddHash(h); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []bloom.View{static, cuckoo} {
		if e := f.Stats().Cardinality; e.Value != n || e.StdErr != 0 {
			t.Errorf("%s: %v ± %v keys, want %d", f.Stats().Type, e.Value, e.StdErr, n)
		}
	}
}
