package setfile

import (
	"math"
	"path/filepath"
	"testing"

	"seen/bloom"
	"seen/bloomfile"
	"seen/internal/filtertest"
	"seen/sizing"
)

// sigmas is how many standard errors an estimate may be off: by chance more than
// that happens once in 16,000. The tests look at less than 100, with fixed keys.
const sigmas = 4

func TestCompareAgainstTruth(t *testing.T) {
	const (
		inA, inB, common = 60_000, 50_000, 20_000
		union            = inA + inB - common
	)
	hs := filtertest.RandomHashes(7, union)
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
	hs := filtertest.RandomHashes(7, 60_000)
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

// The keys of a part of a set, and of all but one key of it, have an intersection and an
// error at every error rate and size, also where rounding would make them unknown.
func TestComparePartOfASet(t *testing.T) {
	const keys = 2000
	hs := filtertest.RandomHashes(7, keys)
	for _, rate := range []float64{0.3, 0.2, 0.1, 0.03, 0.01, 1e-3, 1e-6} {
		whole, err := bloom.New(bloom.Config{Capacity: keys, ErrorRate: rate})
		if err != nil {
			t.Fatal(err)
		}
		whole.AddHashes(nil, hs[1:])
		for _, n := range []int{0, 1, 7, 100, 999, 1000} {
			for _, first := range []int{0, 1} { // without and with a key that the set does not have
				part, err := bloom.NewAdaptive(bloom.AdaptiveConfig{})
				if err != nil {
					t.Fatal(err)
				}
				part.AddHashes(nil, hs[1-first:1+n])
				var c Comparison
				if err := c.ask(part, whole); err != nil {
					t.Fatal(err)
				}
				e, most := c.Common, float64(n+first)
				if !(e.Value >= 0 && e.Value <= most && e.StdErr >= 0 && math.Abs(e.Value-float64(n)) <= sigmas*e.StdErr) {
					t.Errorf("rate %v: %d of %v keys are in the set, estimated as %v", rate, n, most, e)
				}
				if !c.Union.Known() || math.IsNaN(c.Union.StdErr) || !c.Jaccard.Known() || math.IsNaN(c.Jaccard.StdErr) {
					t.Errorf("rate %v, %v keys: union %v, Jaccard index %v", rate, most, c.Union, c.Jaccard)
				}
			}
		}
	}
}
