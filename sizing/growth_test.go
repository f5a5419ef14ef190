package sizing

import (
	"math"
	"testing"
)

// capacities and factors are a grid over what filters are made with.
func growthGrid(t *testing.T, check func(g Growth)) {
	t.Helper()
	for _, first := range []uint64{1, 2, 3, 7, 100, 999, 1000, 4096, 12_345, 1_000_000, 123_456_789, 1 << 32, 10_000_000_019, 1<<40 + 1} {
		for _, factor := range []float64{1.01, 1.1, 1.25, 1.4, 1.5, 2, math.E, 3, 4, 7, 16} {
			for rate := 1e-12; rate < 1; rate *= 1.37 {
				check(Growth{first, factor, rate})
			}
		}
	}
}

// TestGrowthIsUnchanged compares the rule with the formulas that filters in files, in
// stores and on fleets were made by, each in its own words. Such filters have to go on
// growing as they began.
func TestGrowthIsUnchanged(t *testing.T) {
	growthGrid(t, func(g Growth) {
		largest := g.First
		inStore := g.First // by whole factors
		for i := range 40 {
			n := float64(i) + 1
			if got, want := g.Rate(i), g.ErrorRate*6/(math.Pi*math.Pi*n*n); got != want {
				t.Fatalf("%+v: layer %d has rate %v, in a Scalable %v", g, i, got, want)
			}
			stored := g.ErrorRate
			stored *= 6 / (math.Pi * math.Pi * n * n)
			if got := g.ErrorRate * (Growth{ErrorRate: 1}).Rate(i); got != stored {
				t.Fatalf("%+v: layer %d has rate %v, in a store %v", g, i, got, stored)
			}
			if i > 0 {
				const first = 0.95
				cluster := (1 - first) * g.ErrorRate * 6 / (math.Pi * math.Pi * float64(i) * float64(i))
				if got := (Growth{ErrorRate: (1 - first) * g.ErrorRate}).Rate(i - 1); got != cluster {
					t.Fatalf("%+v: layer %d has rate %v, on a fleet %v", g, i, got, cluster)
				}
			}
			capacity := g.Capacity(i)
			if capacity >= 1<<53 {
				break // more than any memory holds
			}
			if capacity != largest {
				t.Fatalf("%+v: layer %d is for %d keys, in a Scalable %d", g, i, capacity, largest)
			}
			if g.Factor == math.Trunc(g.Factor) && capacity != inStore {
				t.Fatalf("%+v: layer %d is for %d keys, in a store %d", g, i, capacity, inStore)
			}
			if grown := uint64(float64(g.First) * math.Pow(2, float64(i))); g.Factor == 2 && capacity != grown {
				t.Fatalf("%+v: layer %d is for %d keys, on a fleet %d", g, i, capacity, grown)
			}
			if largest == 1 && g.Factor < 2 {
				// Rounded up, one key becomes two.
				if next := g.Next(1); next != 2 {
					t.Fatalf("%+v: %d keys after 1", g, next)
				}
			}
			largest = uint64(math.Ceil(float64(largest) * g.Factor))
			inStore *= uint64(g.Factor)
		}
	})
	for _, generations := range []int{2, 3, 8, 63, 64} {
		for n := uint64(1); n < 1<<60; n = n*3/2 + 1 {
			steps := uint64(generations - 1)
			want := (n + steps - 1) / steps
			if got, rate := Generation(n, 0.01, generations); got != want || rate != 0.01/float64(generations) {
				t.Errorf("a generation of %d for %d keys is for %d at %v, want %d", generations, n, got, rate, want)
			}
		}
	}
}

func TestGrowthEnds(t *testing.T) {
	g := Growth{First: math.MaxUint64 / 2, Factor: 2.5, ErrorRate: 0.01}
	if n := g.Capacity(1); n != math.MaxUint64 {
		t.Errorf("layer 1 is for %d keys", n)
	}
	if n := g.Capacity(1000); n != math.MaxUint64 {
		t.Errorf("layer 1000 is for %d keys", n)
	}
	if n, _ := Generation(math.MaxUint64, 0.01, 2); n != math.MaxUint64 {
		t.Errorf("a generation is for %d keys", n)
	}
}

func TestRatesOfLayersSumUp(t *testing.T) {
	g, sum := Growth{ErrorRate: 0.01}, 0.0
	for i := range 1_000_000 {
		sum += g.Rate(i)
	}
	if sum > 0.01 || sum < 0.00999 {
		t.Errorf("the rates sum up to %v, want 0.01", sum)
	}
}

func TestGrowthFactor(t *testing.T) {
	for factor, valid := range map[float64]bool{1: false, 1.0001: true, 1.4: true, 16: true, 16.1: false, math.NaN(): false, -2: false, math.Inf(1): false} {
		if err := (Growth{Factor: factor}).Validate(); (err == nil) != valid {
			t.Errorf("factor %v: %v", factor, err)
		}
	}
}
