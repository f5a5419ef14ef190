package sketch

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"seen/bloom"
	"seen/internal/filtertest"
)

func newCountMin(t testing.TB, c CountMinConfig) *CountMin {
	t.Helper()
	s, err := NewCountMin(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewCountMin(t *testing.T) {
	for _, c := range []struct {
		config CountMinConfig
		width  uint64
		depth  int
	}{
		{CountMinConfig{Epsilon: 0.01, Delta: 0.01}, 272, 5},
		{CountMinConfig{Epsilon: 1e-4, Delta: 1e-6}, 27183, 14},
		{CountMinConfig{Epsilon: 0.999, Delta: 0.999}, 3, 1},
		{CountMinConfig{Epsilon: 0.5, Delta: 1.3e-14}, 6, 32},
		{CountMinConfig{Width: 1, Depth: 1}, 1, 1},
		{CountMinConfig{Width: 1000, Depth: 32, Hash: bloom.Hash{Seed: 7}}, 1000, 32},
	} {
		s := newCountMin(t, c.config).Stats()
		if s.Width != c.width || s.Depth != c.depth || s.Bytes != 8*c.width*uint64(c.depth) {
			t.Errorf("%+v: %d x %d counters in %d bytes, want %d x %d", c.config, s.Depth, s.Width, s.Bytes, c.depth, c.width)
		}
		if c.config.Epsilon != 0 && (s.Epsilon > c.config.Epsilon || s.Delta > c.config.Delta) {
			t.Errorf("%+v: epsilon %v and delta %v are worse than asked for", c.config, s.Epsilon, s.Delta)
		}
	}
	nan := math.NaN()
	for _, c := range []struct {
		config CountMinConfig
		text   string
	}{
		{CountMinConfig{}, "epsilon 0 is not between 0 and 1"},
		{CountMinConfig{Epsilon: 0.1}, "delta 0 is not between 0 and 1"},
		{CountMinConfig{Epsilon: 1, Delta: 0.1}, "epsilon 1 is not"},
		{CountMinConfig{Epsilon: nan, Delta: 0.1}, "epsilon NaN is not"},
		{CountMinConfig{Epsilon: 0.1, Delta: nan}, "delta NaN is not"},
		{CountMinConfig{Epsilon: 0.1, Delta: -1}, "delta -1 is not"},
		{CountMinConfig{Epsilon: 0.1, Delta: 1e-14}, "delta 1e-14 needs 33 rows; the limit is 32"},
		{CountMinConfig{Epsilon: 1e-300, Delta: 0.1}, "epsilon 1e-300 needs rows of 2.72e+300 counters"},
		{CountMinConfig{Epsilon: 1e-320, Delta: 0.1}, "needs rows of +Inf counters"},
		{CountMinConfig{Epsilon: 0.1, Delta: 0.1, Width: 9, Depth: 1}, "give one pair"},
		{CountMinConfig{Width: 9}, "depth 0 is not between 1 and 32"},
		{CountMinConfig{Width: 9, Depth: 33}, "depth 33 is not between 1 and 32"},
		{CountMinConfig{Width: 9, Depth: -1}, "depth -1 is not between 1 and 32"},
		{CountMinConfig{Depth: 3}, "depth 3 was given with width 0"},
		{CountMinConfig{Width: math.MaxUint64, Depth: 2}, "2 rows of 18446744073709551615 counters are more than the limit"},
		{CountMinConfig{Width: 9, Depth: 1, Hash: bloom.Hash{Algorithm: bloom.SipHash}}, "siphash needs a secret"},
	} {
		s, err := NewCountMin(c.config)
		if s != nil || err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v, %v; want an error with %q", c.config, s, err, c.text)
		}
	}
}

// zipf returns a stream of n key numbers below keys, and how often each is in it.
func zipf(seed uint64, n int, keys uint64) (stream []uint64, counts map[uint64]uint64) {
	z := rand.NewZipf(rand.New(rand.NewPCG(seed, 1)), 1.1, 1, keys-1)
	counts = map[uint64]uint64{}
	for range n {
		k := z.Uint64()
		stream = append(stream, k)
		counts[k]++
	}
	return stream, counts
}

// TestCountMinErrors counts Zipf streams under many seeds of the hash.
func TestCountMinErrors(t *testing.T) {
	const seeds, distinct = 300, 1000
	families := filtertest.Families()
	keys := make([][][]byte, len(families))
	for i, family := range families {
		for k := range uint64(distinct) {
			keys[i] = append(keys[i], family.At(nil, k))
		}
	}
	for _, config := range []CountMinConfig{
		{Epsilon: 0.02, Delta: 0.2},
		{Epsilon: 0.05, Delta: 0.01},
	} {
		var beyond, beyondConservative float64
		var delta float64
		for seed := range uint64(seeds) {
			keys := keys[seed%uint64(len(keys))]
			stream, counts := zipf(seed, 2000, distinct)
			config.Hash.Seed = seed
			config.Conservative = false
			plain := newCountMin(t, config)
			config.Conservative = true
			conservative := newCountMin(t, config)
			for _, k := range stream {
				key := keys[k]
				for _, s := range []*CountMin{plain, conservative} {
					if got := s.Add(key, 2); got != s.Count(key) {
						t.Fatalf("Add returns %d, Count then %d", got, s.Count(key))
					}
				}
			}
			var excess float64
			excess, delta = plain.ErrorBound()
			if want := math.E / float64(plain.width) * 4000; excess != want || plain.Total() != 4000 {
				t.Fatalf("ErrorBound of %d is %v, want %v", plain.Total(), excess, want)
			}
			over, overConservative := 0, 0
			for k, n := range counts {
				key := keys[k]
				p, c := plain.Count(key), conservative.Count(key)
				if c < 2*n || p < c {
					t.Fatalf("key %q: true count %d, conservative %d, plain %d", key, 2*n, c, p)
				}
				if float64(p-2*n) > excess {
					over++
				}
				if float64(c-2*n) > excess {
					overConservative++
				}
			}
			beyond += float64(over) / float64(len(counts))
			beyondConservative += float64(overConservative) / float64(len(counts))
		}
		// The shares of the seeds are independent numbers between 0 and 1 with a mean
		// of at most delta, so their variance is at most delta*(1-delta); 4.5 sigma.
		limit := delta + 4.5*math.Sqrt(delta*(1-delta)/seeds)
		beyond /= seeds
		beyondConservative /= seeds
		t.Logf("delta %.4f: a share of %.4f passes the bound, %.4f with conservative update", delta, beyond, beyondConservative)
		if beyond > limit || beyondConservative > beyond {
			t.Errorf("a share of %v is beyond the error bound, %v with conservative update, limit %v", beyond, beyondConservative, limit)
		}
	}
}

// TestCountMinRowsAreIndependent compares how often the count of an absent key is
// high with the binomial distribution, which a key's counters follow if all of
// its rows are independent.
func TestCountMinRowsAreIndependent(t *testing.T) {
	const (
		width, depth = 64, 3
		added        = 256 // a counter has 4 on average
		threshold    = 6   // of the count
		seeds        = 20000
	)
	// P(Binomial(added, 1/width) >= threshold), to the power of the rows.
	below, term := 0.0, math.Pow(1-1.0/width, added)
	for i := range threshold {
		below += term
		term *= float64(added-i) / float64(i+1) / (width - 1)
	}
	p := math.Pow(1-below, depth)
	lo, hi := filtertest.Limits(seeds, p, 0, 2)
	for name, hash := range map[string]func(seed, i uint64) uint64{
		"random":     func(seed, i uint64) uint64 { return filtertest.RandomHashes(seed<<20|i, 1)[0] },
		"sequential": func(seed, i uint64) uint64 { return seed<<20 | i },
	} {
		s := newCountMin(t, CountMinConfig{Width: width, Depth: depth})
		high := 0
		for seed := range uint64(seeds) {
			s.Clear()
			for i := range uint64(added) {
				s.AddHash(hash(seed, i), 1)
			}
			if s.CountHash(hash(seed, added)) >= threshold {
				high++
			}
		}
		t.Logf("%s hashes: %d of %d counts are at least %d, expected %.0f", name, high, seeds, threshold, p*seeds)
		if high < lo || high > hi {
			t.Errorf("%s hashes: %d of %d counts are at least %d, want %d to %d", name, high, seeds, threshold, lo, hi)
		}
	}
}

// TestCountMinModel compares tables so small that keys collide, and counts so
// large that counters stick, with a map.
func TestCountMinModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := NewCountMin(CountMinConfig{
			Width:        rapid.Uint64Range(1, 5).Draw(t, "width"),
			Depth:        rapid.IntRange(1, 3).Draw(t, "depth"),
			Conservative: rapid.Bool().Draw(t, "conservative"),
		})
		if err != nil {
			t.Fatal(err)
		}
		truth := map[string]uint64{}
		var total uint64
		for range rapid.IntRange(0, 30).Draw(t, "calls") {
			key := rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "f", "g"}).Draw(t, "key")
			n := rapid.OneOf(rapid.Uint64Range(0, 9), rapid.Uint64()).Draw(t, "n")
			before := s.CountString(key)
			truth[key] = saturatingSum(truth[key], n)
			total = saturatingSum(total, n)
			if got := s.AddString(key, n); got != saturatingSum(before, n) || got != s.Count([]byte(key)) {
				t.Fatalf("count %d, AddString of %d returns %d, then Count %d", before, n, got, s.Count([]byte(key)))
			}
			for key, n := range truth {
				if got := s.CountString(key); got < n || got > total {
					t.Fatalf("key %q: count %d, true %d, total %d", key, got, n, total)
				}
			}
		}
		if s.Total() != total {
			t.Fatalf("total %d, want %d", s.Total(), total)
		}
		d := new(CountMin)
		b, err := s.MarshalBinary()
		if err != nil || d.UnmarshalBinary(b) != nil || !d.Equal(s) {
			t.Fatalf("does not survive encoding: %v", err)
		}
	})
}

func saturatingSum(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

func TestCountMinSticksAtTheLargestCount(t *testing.T) {
	for _, conservative := range []bool{false, true} {
		s := newCountMin(t, CountMinConfig{Width: 100, Depth: 2, Conservative: conservative})
		s.AddString("a", math.MaxUint64-1)
		if st := s.Stats(); st.Stuck != 0 || st.NonZero != 2 {
			t.Errorf("conservative %v: %+v before the limit", conservative, st)
		}
		for range 3 {
			if got := s.AddString("a", 1); got != math.MaxUint64 {
				t.Errorf("conservative %v: count %d past the limit", conservative, got)
			}
		}
		o := s.Clone()
		if err := s.Merge(o); err != nil {
			t.Fatal(err)
		}
		if st := s.Stats(); st.Stuck != 2 || s.Total() != math.MaxUint64 || s.CountString("a") != math.MaxUint64 {
			t.Errorf("conservative %v: count %d, %+v after a merge", conservative, s.CountString("a"), st)
		}
	}
}

func TestCountMinMerge(t *testing.T) {
	for seed := range uint64(20) {
		config := CountMinConfig{Width: 50, Depth: 4, Hash: bloom.Hash{Seed: seed}}
		stream, counts := zipf(seed, 2000, 300)
		var plain, conservative [3]*CountMin // two halves and the whole
		for i := range 3 {
			config.Conservative = false
			plain[i] = newCountMin(t, config)
			config.Conservative = true
			conservative[i] = newCountMin(t, config)
		}
		for i, k := range stream {
			for _, into := range []int{i % 2, 2} {
				plain[into].AddHash(spread(k), 1)
				conservative[into].AddHash(spread(k), 1)
			}
		}
		if err := errors.Join(plain[0].Merge(plain[1]), conservative[0].Merge(conservative[1])); err != nil {
			t.Fatal(err)
		}
		if !plain[0].Equal(plain[2]) {
			t.Errorf("seed %d: merged halves are not the sketch of the whole", seed)
		}
		higher := 0
		for k, n := range counts {
			whole, merged := conservative[2].CountHash(spread(k)), conservative[0].CountHash(spread(k))
			if merged < n || merged > plain[2].CountHash(spread(k)) {
				t.Errorf("seed %d, key %d: merged count %d, true %d, plain %d", seed, k, merged, n, plain[2].CountHash(spread(k)))
			}
			if merged > whole {
				higher++
			}
		}
		if higher == 0 {
			t.Errorf("seed %d: no merged count is higher than one sketch's, which the documentation warns of", seed)
		}
		// Adding goes on after a merge.
		for k := range counts {
			conservative[0].AddHash(spread(k), 5)
		}
		for k, n := range counts {
			if got := conservative[0].CountHash(spread(k)); got < n+5 {
				t.Errorf("seed %d, key %d: count %d after a merge, true %d", seed, k, got, n+5)
			}
		}
	}
}

// spread makes hashes of key numbers.
func spread(k uint64) uint64 { return (k + 1) * 0x9fb21c651e98df25 }

func TestCountMinRefusesUnlikeSketches(t *testing.T) {
	base := CountMinConfig{Width: 10, Depth: 3}
	a := newCountMin(t, base)
	a.AddString("x", 1)
	for _, c := range []struct {
		text   string
		config CountMinConfig
	}{
		{"their width differs: 10 and 11", CountMinConfig{Width: 11, Depth: 3}},
		{"their depth differs: 3 and 4", CountMinConfig{Width: 10, Depth: 4}},
		{"their update differs: plain and conservative", CountMinConfig{Width: 10, Depth: 3, Conservative: true}},
		{"their key hash differs: xxh3, seed 0 and xxh3, seed 5", CountMinConfig{Width: 10, Depth: 3, Hash: bloom.Hash{Seed: 5}}},
		{"their key hash differs: xxh3, seed 0 and siphash, key id", CountMinConfig{Width: 10, Depth: 3, Hash: bloom.SecretHash([16]byte{9})}},
	} {
		before := a.Clone()
		b := newCountMin(t, c.config)
		b.AddString("y", 1)
		err := a.Merge(b)
		if !errors.Is(err, ErrIncompatible) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v, want %q", err, c.text)
		}
		if !a.Equal(before) || a.Equal(b) {
			t.Errorf("%q: equal to the other, or changed by a merge that failed", c.text)
		}
	}
}

func TestCountMinClearCloneEqual(t *testing.T) {
	a := newCountMin(t, CountMinConfig{Width: 100, Depth: 3})
	empty := a.Clone()
	a.AddString("x", 3)
	b := a.Clone()
	if !a.Equal(b) || a.Equal(empty) {
		t.Error("Clone or Equal is wrong")
	}
	b.AddString("y", 1)
	if a.Equal(b) || a.Total() != 3 || a.Stats().NonZero != 3 {
		t.Error("a clone shares memory with its origin")
	}
	a.Clear()
	if !a.Equal(empty) || a.CountString("x") != 0 || a.Total() != 0 {
		t.Error("Clear leaves something")
	}
	// Adding 0 to a key only asks.
	if a.AddString("x", 0) != 0 || !a.Equal(empty) {
		t.Error("adding 0 changes the sketch")
	}
}

// TestColumn pins the placing of keys, which is part of the file format. The
// numbers come from a program in another language.
func TestColumn(t *testing.T) {
	for _, c := range []struct {
		h, width uint64
		want     []uint64
	}{
		{0x0123456789abcdef, 1000, []uint64{83, 833, 185, 636, 4}},
		{0, 1000, []uint64{883, 431, 26, 970, 106}},
		{math.MaxUint64, 1<<40 + 1, []uint64{982900635420, 1003411236828, 241322970290}},
	} {
		for i, want := range c.want {
			if got := column(c.h+uint64(i+1)*rowStep, c.width); got != want {
				t.Errorf("hash %#x, width %d, row %d: column %d, want %d", c.h, c.width, i, got, want)
			}
		}
	}
	if s := newCountMin(t, CountMinConfig{Width: 1000, Depth: 2}); s.AddHash(0, 1) != 1 || s.counters[883] != 1 || s.counters[1000+431] != 1 {
		t.Error("AddHash does not use the columns")
	}
}
