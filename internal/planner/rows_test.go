package planner

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"seen/bloom"
	"seen/internal/figure"
	"seen/sizing"
)

// hashes returns n distinct random hashes.
func hashes(n int) []uint64 {
	r := rand.New(rand.NewPCG(7, 11))
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = r.Uint64()
	}
	return hs
}

// The growth that plan computes is that of the filter.
func TestPlannedGrowth(t *testing.T) {
	for _, c := range []struct {
		first, n int
		rate     float64
	}{{1000, 1000, 0.01}, {1000, 1001, 0.01}, {1000, 50_000, 1e-3}, {300, 20_000, 1e-6}} {
		f, err := bloom.NewScalable(bloom.ScalableConfig{Capacity: uint64(c.first), ErrorRate: c.rate})
		if err != nil {
			t.Fatal(err)
		}
		// Keys that are taken for seen are not added, so that there are as many as asked for.
		for _, h := range hashes(2 * c.n) {
			if f.AddHash(h) && f.Added() == uint64(c.n) {
				break
			}
		}
		st := f.Stats()
		r := grown(uint64(c.first), c.rate).row(uint64(c.n))[0]
		if r.Error != "" || r.Layers != st.Layers || r.M != st.Bits || r.bytes(r.N) != st.Bytes {
			t.Errorf("%+v: planned %d layers of %d bits in %d bytes (%s), it has %d of %d in %d",
				c, r.Layers, r.M, r.bytes(r.N), r.Error, st.Layers, st.Bits, st.Bytes)
		}
		// The rates by numbers of keys and by ones differ by chance only.
		if p := r.rate(r.N); math.Abs(p-st.ErrorRate) > 0.1*p {
			t.Errorf("%+v: planned error rate %g, it has %g", c, p, st.ErrorRate)
		}
	}
}

// However far it grows, the planned rate stays under the asked one, and rises.
func TestPlannedGrowthKeepsRate(t *testing.T) {
	g := grown(1000, 1e-3)
	last := 0.0
	for n := uint64(1000); n < 1<<40; n += n/3 + 1 {
		p := g.errorRate(n)
		if !(p >= last && p < 1e-3) {
			t.Fatalf("error rate %g for %d keys, after %g for fewer", p, n, last)
		}
		last = p
	}
}

// Growth that the hash forbids ends; it is not planned with overfull layers.
func TestPlannedGrowthEnds(t *testing.T) {
	g := grown(1<<20, 1e-11)
	if p := g.errorRate(1 << 40); !math.IsNaN(p) {
		t.Errorf("error rate %g where there are too few hash bits", p)
	}
	rows := Rows(Wish{N: 1 << 40, Rate: 1e-11}, []string{"scalable"})
	if rows[0].Error == "" {
		t.Errorf("2^40 keys at 1e-11 are planned: %+v", rows[0])
	}
}

func TestPlannedStatic(t *testing.T) {
	for _, n := range []int{1000, 30_000, 300_000} {
		for _, bits := range []int{8, 16} {
			f, err := bloom.NewStatic(bloom.StaticConfig{Bits: bits, Hashes: hashes(n)})
			if err != nil {
				t.Fatal(err)
			}
			// Segments have a power of two of slots: a few too many for small sets.
			is, planned := f.BitsPerKey(), staticBitsPerKey(bits, uint64(n))
			if math.Abs(is-planned) > 0.15*is || n == 300_000 && math.Abs(is-planned) > 0.05*is {
				t.Errorf("%d keys, %d bits: planned %.2f bits per key, it takes %.2f", n, bits, planned, is)
			}
			if p := f.Stats().ErrorRate; p != staticRate(bits, uint64(n)) {
				t.Errorf("%d keys, %d bits: planned error rate %g, it has %g", n, bits, staticRate(bits, uint64(n)), p)
			}
		}
	}
}

func TestPlannedExact(t *testing.T) {
	for _, n := range []int{200_000, 400_000} {
		a, err := bloom.NewAdaptive(bloom.AdaptiveConfig{})
		if err != nil {
			t.Fatal(err)
		}
		a.AddHashes(nil, hashes(n))
		r := Rows(Wish{N: uint64(n), Rate: 1e-6}, []string{"exact"})[0]
		if is := float64(a.Bytes()); math.Abs(is-float64(r.Bytes)) > 0.05*is {
			t.Errorf("%d keys: planned %d bytes, they take %.0f", n, r.Bytes, is)
		}
	}
}

// What is copied from a plan gives what was planned: the rate is met, and the
// memory is not exceeded.
func TestPlanCanBeCopied(t *testing.T) {
	shapes := map[string]sizing.Shape{
		"blocked": sizing.Blocked, "classic": sizing.Classic, "partitioned": sizing.Partitioned, "counting": sizing.Counting,
	}
	rapid.Check(t, func(t *rapid.T) {
		w := Wish{N: rapid.Uint64Range(1000, 1e9).Draw(t, "n")}
		bits := rapid.Float64Range(3, 40).Draw(t, "bits per key")
		switch rapid.IntRange(0, 2).Draw(t, "given") {
		case 0:
			w.Memory = uint64(bits * float64(w.N) / 8)
		case 1:
			w.Memory, w.Rate, w.N = uint64(bits*float64(w.N)/8), math.Pow(2, -bits/2), 0
		default:
			w.Rate = math.Pow(2, -bits/2)
		}
		for _, r := range Rows(w, Types) {
			if r.Error != "" {
				continue
			}
			if w.Memory != 0 && r.Bytes > w.Memory {
				t.Fatalf("%s: %d bytes for a wish of %d", r.Name(), r.Bytes, w.Memory)
			}
			if w.Rate != 0 && r.ErrorRate > w.Rate*1.00001 {
				t.Fatalf("%s: error rate %g for a wish of %g", r.Name(), r.ErrorRate, w.Rate)
			}
			if !strings.Contains(r.Command, " -p "+figure.ExactRate(r.asked)+" ") && r.Type != "exact" {
				t.Fatalf("%s: %q does not ask for %g", r.Name(), r.Command, r.asked)
			}
			shape, ok := shapes[r.Type]
			if !ok {
				continue
			}
			p, err := sizing.For(shape, r.N, r.asked)
			if err != nil {
				t.Fatalf("%s: %v", r.Name(), err)
			}
			if p != r.params {
				t.Fatalf("%s: planned %+v, but -n %d -p %g makes %+v", r.Name(), r.params, r.N, r.asked, p)
			}
		}
	})
}

func TestRoundUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := math.Pow(10, rapid.Float64Range(-18, -0.001).Draw(t, "log p"))
		r := roundUp(p)
		if r < p || r > p*1.0101 || figure.ThreeDigits(r) != r || roundUp(r) != r {
			t.Fatalf("%g is rounded up to %g", p, r)
		}
	})
}

// The cascade that plan computes is that of package bloom, and has what was wished.
func TestPlannedCascade(t *testing.T) {
	for _, w := range []Wish{{N: 10_000, Rate: 1e-3}, {N: 10_001, Rate: 1e-6}, {N: 10_000, Memory: 20 << 10}, {N: 1, Rate: 0.5}} {
		r := Rows(w, []string{Cascade})[0]
		if r.Error != "" || w.Rate != 0 && r.rate(w.N) > w.Rate || w.Memory != 0 && r.Bytes > w.Memory {
			t.Fatalf("%+v: %s, error rate %g, %d bytes", w, r.Error, r.rate(w.N), r.Bytes)
		}
		f, err := bloom.NewCascade(bloom.CascadeConfig{Capacity: cascadeFirst(w.N), ErrorRate: r.asked})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hashes(int(w.N)) {
			f.AddHash(h)
		}
		st := f.Stats()
		if r.M != st.Bits || r.Bytes != st.Bytes {
			t.Errorf("%+v: planned %d bits in %d bytes, it has %d in %d", w, r.M, r.Bytes, st.Bits, st.Bytes)
		}
		if p := r.rate(w.N); w.N > 1 && math.Abs(p-st.ErrorRate) > 0.2*p {
			t.Errorf("%+v: planned error rate %g, it has %g", w, p, st.ErrorRate)
		}
	}
	for _, w := range []Wish{{Rate: 1e-3, Memory: 1 << 20}, {N: 1e9, Memory: 1 << 10}} {
		if r := Rows(w, []string{Cascade})[0]; r.Error == "" {
			t.Errorf("%+v: planned with error rate %g", w, r.ErrorRate)
		}
	}
}
