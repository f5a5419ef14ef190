package bloom_test

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"seen/bloom"
	"seen/internal/filtertest"
	"seen/internal/frame"
	"seen/sizing"
)

func newCounting(c bloom.Config) *bloom.Counting { return must(bloom.NewCounting(c)) }

// countingParams is an explicit layout of m counters of the given width.
func countingParams(m uint64, k, width int) bloom.Config {
	return bloom.Config{Params: sizing.Params{M: m, K: k, CounterBits: width}}
}

// probes returns the counters of a key, by the formula of docs/FORMAT.md.
func probes(h, m uint64, k int) []uint64 {
	var list []uint64
	for range k {
		i, _ := bits.Mul64(h, m)
		list = append(list, i)
		h = h*0xd1342543de82ef95 + 0x9e3779b97f4a7c15
	}
	return list
}

// A counting filter against its model, an array of plain counters that stick at
// the maximum, and against a multiset: as long as only keys are removed that were
// added, none is missing.
func TestCountingModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.SampledFrom([]int{4, 8, 16}).Draw(t, "width")
		m := rapid.Uint64Range(1, 300).Draw(t, "m")
		k := rapid.IntRange(1, 6).Draw(t, "k")
		f := newCounting(countingParams(m, k, width))
		most := 1<<width - 1
		counters := make([]int, m)
		times := map[uint64]int{} // the multiset
		keys := filtertest.RandomHashes(1, 20)
		has := func(h uint64) bool {
			for _, i := range probes(h, m, k) {
				if counters[i] == 0 {
					return false
				}
			}
			return true
		}
		for range 150 {
			h := keys[rapid.IntRange(0, len(keys)-1).Draw(t, "key")]
			had := has(h)
			if f.HasHash(h) != had {
				t.Fatalf("Has says %v, the model %v", !had, had)
			}
			// A long run makes counters stick.
			switch n := rapid.SampledFrom([]int{1, 1, 1, 40, 0, 0, -1}).Draw(t, "action"); {
			case n > 0:
				for range n {
					if f.AddHash(h) == has(h) {
						t.Fatal("Add and Has disagree")
					}
					for _, i := range probes(h, m, k) {
						counters[i] = min(counters[i]+1, most)
					}
					times[h]++
				}
			case n == 0 && times[h] > 0 || n < 0 && !had:
				before := f.Clone()
				if f.RemoveHash(h) != had {
					t.Fatalf("Remove says %v of a key that the filter has: %v", !had, had)
				}
				if !had {
					if !f.Equal(before) || f.Added() != before.Added() {
						t.Fatal("to remove an absent key changes the filter")
					}
					continue
				}
				times[h]--
				for _, i := range probes(h, m, k) {
					if counters[i] != most {
						counters[i]--
					}
				}
			}
			for h, n := range times {
				if n > 0 && (!f.HasHash(h) || f.Count(h) < min(uint64(n), uint64(most))) {
					t.Fatalf("a key that is there %d times is missing, or counted as %d", n, f.Count(h))
				}
			}
		}
		stuck, ones := 0, 0
		for _, c := range counters {
			if c == most {
				stuck++
			}
			if c > 0 {
				ones++
			}
		}
		if st := f.Stats(); st.Stuck != uint64(stuck) || st.Ones != uint64(ones) {
			t.Fatalf("%d counters stuck and %d in use, the model has %d and %d", st.Stuck, st.Ones, stuck, ones)
		}
	})
}

// Two probes of one key may fall on the same counter, which then counts twice; and
// if it was raised once only, the key is certainly absent, and what was taken back
// until that shows must be put back.
func TestCountingDoubleProbes(t *testing.T) {
	const m, k = 5, 4
	doubles := 0
	hs := filtertest.RandomHashes(3, 200)
	for _, h := range hs {
		list := probes(h, m, k)
		distinct := map[uint64]bool{}
		for _, i := range list {
			distinct[i] = true
		}
		f := newCounting(countingParams(m, k, 8))
		f.AddHash(h)
		if !f.RemoveHash(h) || f.Stats().Ones != 0 {
			t.Fatalf("probes %v: after Add and Remove %d counters are left", list, f.Stats().Ones)
		}
		if len(distinct) == k {
			continue
		}
		doubles++
		f = raisedOnce(t, f, distinct)
		if !f.HasHash(h) {
			t.Fatalf("probes %v: not all counters are raised", list)
		}
		before := f.Clone()
		if f.RemoveHash(h) {
			t.Fatalf("probes %v: a counter of 1 is lowered twice", list)
		}
		if !f.Equal(before) {
			t.Fatalf("probes %v: a Remove that answers false has changed the filter", list)
		}
	}
	if doubles == 0 {
		t.Fatal("no key has two probes on one counter")
	}
}

// raisedOnce returns an empty filter of 8-bit counters with some of them set to 1.
func raisedOnce(t *testing.T, empty *bloom.Counting, counters map[uint64]bool) *bloom.Counting {
	t.Helper()
	h, parts, err := frame.Parse(must(empty.MarshalBinary()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range counters {
		parts[0][i] = 1
	}
	f := empty.Clone()
	if err := f.UnmarshalBinary(must(frame.Append(nil, h, parts))); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCountingUnion(t *testing.T) {
	config := bloom.Config{Capacity: 500, ErrorRate: 0.01, Params: sizing.Params{CounterBits: 8}}
	f, g, both := newCounting(config), newCounting(config), newCounting(config)
	hs := filtertest.RandomHashes(1, 400)
	for i, h := range hs {
		for range 1 + i%3 {
			if i < 250 {
				f.AddHash(h)
				both.AddHash(h)
			}
			if i >= 150 {
				g.AddHash(h)
				both.AddHash(h)
			}
		}
	}
	if err := f.Union(g); err != nil {
		t.Fatal(err)
	}
	if !f.Equal(both) {
		t.Error("the union has not the sums of the counters")
	}
	// So every key can be removed as often as it was added to the two.
	for i, h := range hs {
		for range 1 + i%3 {
			if !f.RemoveHash(h) {
				t.Fatal("a key cannot be removed from the union")
			}
			if i >= 150 && i < 250 && !f.RemoveHash(h) {
				t.Fatal("a key of both cannot be removed twice from the union")
			}
		}
	}
	if f.Stats().Ones != 0 {
		t.Errorf("after all keys were removed: %+v", f.Stats())
	}
	// Sums stick at the maximum.
	narrow := countingParams(1, 1, 4)
	a, b := newCounting(narrow), newCounting(narrow)
	for range 9 {
		a.AddHash(1)
		b.AddHash(1)
	}
	if err := a.Union(b); err != nil || a.Count(1) != 15 || a.Stats().Stuck != 1 {
		t.Errorf("9 + 9 in 4 bits: %d, %d stuck, error %v", a.Count(1), a.Stats().Stuck, err)
	}
	for range 100 {
		if !a.RemoveHash(1) {
			t.Fatal("a stuck counter went down")
		}
	}
}

// Added counts the keys that are there: up with Add that says new, down with the
// Remove after which the key is gone.
func TestCountingAdded(t *testing.T) {
	f := newCounting(bloom.Config{Capacity: 1000, ErrorRate: 1e-6})
	for range 3 {
		f.AddString("a")
	}
	f.AddString("b")
	for i, want := range []uint64{2, 2, 1} {
		if !f.RemoveString("a") || f.Added() != want {
			t.Errorf("after %d removals Added is %d, want %d", i+1, f.Added(), want)
		}
	}
	if f.Remove([]byte("a")) || f.HasString("a") || !f.HasString("b") {
		t.Error("a key that was removed as often as added is there, or another is not")
	}
	if f.Count(0) != 0 {
		t.Errorf("an absent key is counted as %d", f.Count(0))
	}
}

// The figure in the documentation of Counting: few counters of 4 bits get stuck by
// distinct keys, and the formula of sizing tells how many.
func TestCountingStuckByDistinctKeys(t *testing.T) {
	f := newCounting(bloom.Config{Capacity: 100_000, ErrorRate: 0.01})
	f.AddHashes(nil, filtertest.RandomHashes(1, 100_000))
	if n := f.Stats().Stuck; n != 0 {
		t.Errorf("%d counters are stuck at capacity", n)
	}
	for _, p := range []float64{0.5, 0.1, 0.01, 1e-3, 1e-6} {
		params := must(sizing.For(sizing.Counting, 100_000, p))
		if share := params.StuckCounters(100_000) / float64(params.M); share > 1e-14 {
			t.Errorf("p = %g: a share of %g of the counters gets stuck, documented is 1e-14", p, share)
		}
	}
	// Overfull, the number is that of the formula.
	f.AddHashes(nil, filtertest.RandomHashes(2, 700_000))
	want := f.Params().StuckCounters(800_000)
	lo, hi := filtertest.Limits(int(f.Params().M), want/float64(f.Params().M), 0, 1)
	if n := int(f.Stats().Stuck); n < lo || n > hi {
		t.Errorf("%d counters are stuck after 800,000 keys, by the formula %d to %d", n, lo, hi)
	}
}
