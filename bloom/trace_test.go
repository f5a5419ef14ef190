package bloom_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"seen/bloom"
	"seen/sizing"
)

var traceHash bloom.Hash // that of the filters here

// traced are filters of all types for about n keys, of which those with even numbers
// are in.
func traced(t *testing.T, n int) map[string]bloom.View {
	config := bloom.Config{Capacity: uint64(n), ErrorRate: 0.02}
	sets := map[string]bloom.Set{
		"classic": must(bloom.NewClassic(config)), "blocked": must(bloom.New(config)), "partitioned": must(bloom.NewPartitioned(config)),
		"counting": must(bloom.NewCounting(config)), "shared": must(bloom.NewShared(config)),
		"blocked of 3 lines": must(bloom.New(bloom.Config{Params: sizing.Params{Shape: sizing.Blocked, M: 3 * 512 * 50, Lines: 3, Lanes: 2, K: 6}})),
		"scalable":           must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 50, ErrorRate: 0.02})),
		"cascade":            must(bloom.NewCascade(bloom.CascadeConfig{Capacity: uint64(n) / 8, ErrorRate: 0.1})),
		"window":             must(bloom.NewWindow(bloom.WindowConfig{Capacity: uint64(n), ErrorRate: 0.02, Span: time.Hour})),
		"exact":              must(bloom.NewAdaptive(bloom.AdaptiveConfig{})),
		"adaptive":           must(bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: 4096, ErrorRate: 0.02})),
	}
	views := map[string]bloom.View{}
	cuckoo := must(bloom.NewCuckoo(bloom.CuckooConfig{Capacity: uint64(n) / 4, Expansion: 2}))
	var hs []uint64
	for i := 0; i < 2*n; i += 2 {
		key := fmt.Append(nil, i)
		hs = append(hs, traceHash.Sum(key))
		if err := cuckoo.AddHash(traceHash.Sum(key)); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range sets {
		s.AddHashes(nil, hs)
		views[name] = s
	}
	views["static"], views["cuckoo"] = must(bloom.NewStatic(bloom.StaticConfig{Bits: 8, Hashes: hs})), cuckoo
	return views
}

// A trace says what HasHash says, of every filter and key; the places that it names
// are in the array, and the chance of an error is about what happens.
func TestTrace(t *testing.T) {
	const n = 1000
	for name, f := range traced(t, n) {
		wrong, expected := 0, 0.0
		for i := range 2 * n {
			h := traceHash.Sum(fmt.Append(nil, i))
			all, err := bloom.TraceOf(f, h)
			if err != nil {
				t.Fatal(err)
			}
			found := name == "cascade" // all have to have it
			right := 1.0
			for part, tr := range all {
				if name == "cascade" {
					found = found && tr.Found
				} else {
					found = found || tr.Found
				}
				right *= 1 - tr.ErrorRate
				if tr.Part != part || tr.Array == "" || !(tr.ErrorRate >= 0 && tr.ErrorRate <= 1) || len(tr.Probes) == 0 && tr.Array != "fingerprints" {
					t.Fatalf("%s: %+v", name, tr)
				}
				for _, p := range tr.Probes {
					if p.Position >= tr.Positions || p.Line > p.Position {
						t.Fatalf("%s: a probe %+v of %d positions", name, p, tr.Positions)
					}
				}
			}
			if found != f.HasHash(h) || i%2 == 0 && !found {
				t.Fatalf("%s: key %d: the trace says %v, HasHash %v: %+v", name, i, found, f.HasHash(h), all)
			}
			if i%2 == 1 {
				if found {
					wrong++
				}
				expected += 1 - right
			}
		}
		if slack := 6*math.Sqrt(expected+1) + 1; name != "cascade" && math.Abs(float64(wrong)-expected) > slack {
			t.Errorf("%s: %d wrong answers, the traces make expect %.1f", name, wrong, expected)
		}
	}
}

// Of a key that was added alone, all probes are set and nothing else is.
func TestTraceOfOneKey(t *testing.T) {
	for name, f := range map[string]bloom.Set{
		"classic": must(bloom.NewClassic(bloom.Config{Capacity: 100, ErrorRate: 0.01})), "blocked": must(bloom.New(bloom.Config{Capacity: 100, ErrorRate: 1e-4})),
		"partitioned": must(bloom.NewPartitioned(bloom.Config{Capacity: 100, ErrorRate: 0.01})), "counting": must(bloom.NewCounting(bloom.Config{Capacity: 100, ErrorRate: 0.01})),
	} {
		h := traceHash.Sum([]byte("key"))
		f.AddHash(h)
		all, err := bloom.TraceOf(f, h)
		if err != nil || len(all) != 1 || len(all[0].Probes) != f.Stats().Probes {
			t.Fatalf("%s: %+v, %v", name, all, err)
		}
		places := map[uint64]bool{}
		for _, p := range all[0].Probes {
			if !p.Set || p.Value == 0 {
				t.Errorf("%s: %+v", name, p)
			}
			places[p.Position] = true
		}
		if ones := f.Stats().Ones; uint64(len(places)) != ones {
			t.Errorf("%s: %d places, and %d ones", name, len(places), ones)
		}
	}
	if all, err := bloom.TraceOf(nil, 1); err == nil || all != nil {
		t.Errorf("no filter: %v, %v", all, err)
	}
}
