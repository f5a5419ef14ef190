package setfile

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"seen/bloom"
	"seen/bloomfile"
	"seen/sizing"
)

// sigmas is how many standard errors an estimate may be off: by chance more than
// that happens once in 16,000. The tests look at less than 100, with fixed keys.
const sigmas = 4

// hashes returns n distinct random hashes.
func hashes(n int) []uint64 {
	r := rand.New(rand.NewPCG(7, 11))
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = r.Uint64()
	}
	return hs
}

func TestCompareAgainstTruth(t *testing.T) {
	const (
		inA, inB, common = 60_000, 50_000, 20_000
		union            = inA + inB - common
	)
	hs := hashes(union)
	keysA, keysB := hs[:inA], hs[inA-common:]
	dir := t.TempDir()
	write := func(name string, set bloom.Set, keys []uint64) string {
		set.AddHashes(nil, keys)
		path := filepath.Join(dir, name)
		if err := bloomfile.Write(path, set); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := bloom.Config{Capacity: 100_000, ErrorRate: 1e-3}
	made := map[string]func() (bloom.Set, error){
		"blocked":     func() (bloom.Set, error) { return bloom.New(config) },
		"classic":     func() (bloom.Set, error) { return bloom.NewClassic(config) },
		"partitioned": func() (bloom.Set, error) { return bloom.NewPartitioned(config) },
		"counting":    func() (bloom.Set, error) { return bloom.NewCounting(config) },
		"scalable": func() (bloom.Set, error) {
			return bloom.NewScalable(bloom.ScalableConfig{Capacity: config.Capacity, ErrorRate: config.ErrorRate})
		},
		"cascade": func() (bloom.Set, error) {
			return bloom.NewCascade(bloom.CascadeConfig{Capacity: 20_000, ErrorRate: config.ErrorRate})
		},
		"exact": func() (bloom.Set, error) { return bloom.NewAdaptive(bloom.AdaptiveConfig{}) },
	}
	check := func(name string, a, b string) {
		t.Helper()
		c, err := compareFiles(a, b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		for what, e := range map[string]struct {
			is    sizing.Estimate
			truth float64
		}{
			"A": {c.A, inA}, "B": {c.B, inB}, "union": {c.Union, union}, "intersection": {c.Common, common},
			"Jaccard": {c.Jaccard, float64(common) / union},
		} {
			if !e.is.Known() || math.Abs(e.is.Value-e.truth) > sigmas*e.is.StdErr+1e-9*e.truth {
				t.Errorf("%s: %s is estimated as %v, it is %v", name, what, e.is, e.truth)
			}
			if e.is.StdErr > 0.02*e.truth {
				t.Errorf("%s: %s has the standard error %v", name, what, e.is)
			}
		}
	}
	var exactA string
	for name, make := range made {
		a, err := make()
		if err != nil {
			t.Fatal(err)
		}
		b, _ := make()
		pathA, pathB := write(name+".a", a, keysA), write(name+".b", b, keysB)
		check(name, pathA, pathB)
		if name == "exact" {
			exactA = pathA
		}
	}
	for name := range made {
		check("exact with "+name, exactA, filepath.Join(dir, name+".b"))
	}
}

// Asking a filter of a known error rate for the keys of an exact set corrects for
// the wrong answers.
func TestCompareCorrectsForErrors(t *testing.T) {
	hs := hashes(60_000)
	exact, err := bloom.NewAdaptive(bloom.AdaptiveConfig{})
	if err != nil {
		t.Fatal(err)
	}
	exact.AddHashes(nil, hs[:40_000])
	coarse, err := bloom.NewClassic(bloom.Config{Capacity: 30_000, ErrorRate: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	coarse.AddHashes(nil, hs[30_000:])
	var c Comparison
	if err := c.ask(exact, coarse); err != nil {
		t.Fatal(err)
	}
	if math.Abs(c.Common.Value-10_000) > sigmas*c.Common.StdErr || c.Common.StdErr > 100 {
		t.Errorf("10000 common keys are estimated as %v", c.Common)
	}
}
