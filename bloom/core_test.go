package bloom_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"seen/bloom"
	"seen/internal/filtertest"
	"seen/sizing"
)

// flat is what the filters that are one array of bits have beyond filtertest.Filter.
type flat[F any] interface {
	filtertest.Filter[F]
	LossyAnd(F) error
	Params() sizing.Params
	Added() uint64
}

// A flatCase makes filters of one type.
type flatCase[F flat[F]] struct {
	make  func(bloom.Config) (F, error)
	shape sizing.Shape
	// params is an explicit layout that sizing would not choose.
	params sizing.Params
}

var (
	classicCase     = flatCase[*bloom.Classic]{bloom.NewClassic, sizing.Classic, sizing.Params{M: 10_007, K: 3}}
	blockedCase     = flatCase[*bloom.Filter]{bloom.New, sizing.Blocked, sizing.Params{M: 2 * 17 * 512, K: 6, Lines: 2, Lanes: 3}}
	partitionedCase = flatCase[*bloom.Partitioned]{bloom.NewPartitioned, sizing.Partitioned, sizing.Params{M: 3 * 3001, K: 3}}
	countingCase    = flatCase[*bloom.Counting]{bloom.NewCounting, sizing.Counting, sizing.Params{M: 10_007, K: 3, CounterBits: 8}}
)

func TestLossyAnd(t *testing.T) {
	t.Run("Classic", classicCase.lossyAnd)
	t.Run("Filter", blockedCase.lossyAnd)
	t.Run("Partitioned", partitionedCase.lossyAnd)
	t.Run("Counting", countingCase.lossyAnd)
}

// lossyAnd: what both have stays, what neither has goes, and the result says yes
// to no more keys than each of the two.
func (c flatCase[F]) lossyAnd(t *testing.T) {
	config := bloom.Config{Capacity: 3000, ErrorRate: 0.01}
	f, g := must(c.make(config)), must(c.make(config))
	hs := filtertest.RandomHashes(1, 6000)
	f.AddHashes(nil, hs[:3000])
	g.AddHashes(nil, hs[2000:5000])
	before, gBefore := f.Clone(), g.Clone()
	if err := f.LossyAnd(g); err != nil {
		t.Fatal(err)
	}
	if n := f.HasHashes(nil, hs[2000:3000]); n != 1000 {
		t.Errorf("of 1000 keys of both filters %d stay", n)
	}
	for _, h := range append(hs, filtertest.RandomHashes(2, 20_000)...) {
		if f.HasHash(h) != (before.HasHash(h) && g.HasHash(h)) && c.shape != sizing.Counting {
			// Bits: a key stays exactly if both have all of its bits.
			t.Fatal("the result is not what both have")
		}
		if f.HasHash(h) && !(before.HasHash(h) && g.HasHash(h)) {
			t.Fatal("the result has what one of the filters has not")
		}
	}
	if !g.Equal(gBefore) {
		t.Error("LossyAnd changed its argument")
	}
	if added := float64(f.Added()); added < 1000 || added > 2500 {
		t.Errorf("Added is %v after the AND of filters with 1000 keys in common", added)
	}
	unlike := must(c.make(bloom.Config{Capacity: 3000, ErrorRate: 0.01, Hash: bloom.Hash{Seed: 1}}))
	before = f.Clone()
	if err := f.LossyAnd(unlike); !errors.Is(err, bloom.ErrIncompatible) || !f.Equal(before) {
		t.Errorf("LossyAnd with another seed: error %v", err)
	}
}

func TestExplicitParameters(t *testing.T) {
	t.Run("Classic", classicCase.explicit)
	t.Run("Filter", blockedCase.explicit)
	t.Run("Partitioned", partitionedCase.explicit)
	t.Run("Counting", countingCase.explicit)
}

func (c flatCase[F]) explicit(t *testing.T) {
	f := must(c.make(bloom.Config{Params: c.params, Hash: bloom.Hash{Seed: 42}}))
	want := c.params
	want.Shape = c.shape
	if f.Params() != want {
		t.Errorf("the layout is %+v, asked for %+v", f.Params(), want)
	}
	st := f.Stats()
	if st.Capacity != 0 || st.AskedErrorRate != 0 || st.ErrorRateAtCapacity != 0 || st.Bits != want.M || st.Probes != want.K {
		t.Errorf("statistics of an empty explicit filter: %+v", st)
	}
	hs := filtertest.RandomHashes(1, 800)
	f.AddHashes(nil, hs)
	const trials = 200_000
	wrong := f.HasHashes(nil, filtertest.RandomHashes(2, trials))
	lo, hi := filtertest.Limits(trials, want.ErrorRate(800), filtertest.Spread(want, 800), 4)
	if wrong < lo || wrong > hi {
		t.Errorf("%d errors of %d, by the formula %d to %d", wrong, trials, lo, hi)
	}
	// Written and read, it stays explicit.
	g := must(c.make(bloom.Config{Capacity: 1, ErrorRate: 0.5}))
	if err := g.UnmarshalBinary(must(f.MarshalBinary())); err != nil || !g.Equal(f) || g.Stats() != f.Stats() {
		t.Errorf("an explicit filter is not read as it was: %v", err)
	}
	// Capacity and error rate are only recorded.
	recorded := must(c.make(bloom.Config{Capacity: 500, ErrorRate: 0.25, Params: want}))
	if st := recorded.Stats(); st.Capacity != 500 || st.AskedErrorRate != 0.25 || st.ErrorRateAtCapacity != want.ErrorRate(500) || st.Params != want {
		t.Errorf("statistics of an explicit filter with a capacity: %+v", st)
	}
	// The seed decides the bits of a key.
	f.Clear()
	f.AddString("key")
	if h := f.Hash(); h != (bloom.Hash{Seed: 42}) || !f.HasHash(h.SumString("key")) {
		t.Errorf("the hash is %v", h)
	}
	if h := (bloom.Hash{}); f.HasHash(h.SumString("key")) {
		t.Error("two seeds give a key the same bits")
	}
}

func TestConfigErrors(t *testing.T) {
	type config = bloom.Config
	for _, c := range []struct {
		config config
		want   string
	}{
		{config{}, "capacity is 0"},
		{config{Capacity: 1}, "error rate is 0"},
		{config{Capacity: 1, ErrorRate: 1}, "error rate is 1"},
		{config{Capacity: 1, ErrorRate: math.NaN()}, "error rate is NaN"},
		{config{Capacity: 1, ErrorRate: -0.1}, "error rate is -0.1"},
		{config{Capacity: 1 << 62, ErrorRate: 1e-3}, "error rate 0.001 is out of reach of 64-bit hashes"},
		{config{Capacity: 1, ErrorRate: 0.1, Hash: bloom.Hash{Algorithm: 9}}, "unknown hash algorithm 9"},
		{config{Capacity: 1, ErrorRate: 0.1, Hash: bloom.Hash{Secret: [16]byte{1}}}, "a secret was given for xxh3"},
		{config{Capacity: 1, ErrorRate: 0.1, Params: sizing.Params{K: 3}}, "m = 0; give the number of bits in M"},
		{config{Params: sizing.Params{Shape: sizing.Blocked, M: 512, K: 1, Lines: 1, Lanes: 1}}, "parameters are for a blocked filter, not for a classic one"},
		{config{Params: sizing.Params{M: 100}}, "K = 0"},
		{config{Params: sizing.Params{M: 100, K: 65}}, "K = 65"},
		{config{Params: sizing.Params{M: 100, K: 3, Lines: 1}}, "Lines = 1"},
		{config{Params: sizing.Params{M: 100, K: 3, CounterBits: 4}}, "CounterBits = 4"},
		{config{Params: sizing.Params{M: 1 << 61, K: 3}}, "2^60 bits"},
		{config{Params: sizing.Params{M: 100, K: 3}, ErrorRate: 1}, "error rate 1 is outside [0, 1)"},
		{config{Params: sizing.Params{M: 100, K: 3}, ErrorRate: math.NaN()}, "error rate NaN is outside [0, 1)"},
	} {
		f, err := bloom.NewClassic(c.config)
		if err == nil || f != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewClassic(%+v): error %v, want one about %q", c.config, err, c.want)
		}
	}
	if _, err := bloom.New(config{Params: sizing.Params{M: 1000, K: 2, Lines: 1, Lanes: 2}}); err == nil || !strings.Contains(err.Error(), "multiple of 512") {
		t.Errorf("New with half a line: %v", err)
	}
	if _, err := bloom.NewPartitioned(config{Params: sizing.Params{M: 1000, K: 3}}); err == nil || !strings.Contains(err.Error(), "multiple of K") {
		t.Errorf("NewPartitioned with unequal slices: %v", err)
	}
	if _, err := bloom.NewCounting(config{Capacity: 10, ErrorRate: 0.1, Params: sizing.Params{CounterBits: 5}}); err == nil || !strings.Contains(err.Error(), "counters of 5 bits") {
		t.Errorf("NewCounting with 5-bit counters: %v", err)
	}
}

// Set operations refuse filters that are unlike, and say in which way.
func TestIncompatibleNamesTheDifference(t *testing.T) {
	config := bloom.Config{Capacity: 100, ErrorRate: 0.1}
	f := must(bloom.NewClassic(config))
	secret := func(b byte) bloom.Hash { return bloom.SecretHash([16]byte{b}) }
	for _, c := range []struct {
		config bloom.Config
		want   string
	}{
		{bloom.Config{Capacity: 100, ErrorRate: 0.1, Params: sizing.Params{M: 500, K: 3}}, "different lengths m: 482 and 500"},
		{bloom.Config{Capacity: 100, ErrorRate: 0.1, Params: sizing.Params{M: 482, K: 4}}, "different probes k: 3 and 4"},
		{bloom.Config{Capacity: 100, ErrorRate: 0.1, Hash: bloom.Hash{Seed: 7}}, "different key hashes: xxh3, seed 0 and xxh3, seed 7"},
		{bloom.Config{Capacity: 100, ErrorRate: 0.1, Hash: secret(1)}, "different key hashes: xxh3, seed 0 and siphash with key id "},
	} {
		if err := f.Union(must(bloom.NewClassic(c.config))); !errors.Is(err, bloom.ErrIncompatible) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Union: error %v, want one about %q", err, c.want)
		}
	}
	lines := func(lines, lanes int) *bloom.Filter {
		return must(bloom.New(bloom.Config{Params: sizing.Params{M: 512 * 6, K: lines * lanes, Lines: lines, Lanes: lanes}}))
	}
	if err := lines(2, 3).Union(lines(3, 2)); !errors.Is(err, bloom.ErrIncompatible) || !strings.Contains(err.Error(), "different lines per key: 2 and 3") {
		t.Errorf("Union of other layouts: %v", err)
	}
	wide := bloom.Config{Capacity: 10, ErrorRate: 0.1, Params: sizing.Params{CounterBits: 8}}
	if err := must(bloom.NewCounting(wide)).Union(must(bloom.NewCounting(bloom.Config{Capacity: 10, ErrorRate: 0.1}))); !errors.Is(err, bloom.ErrIncompatible) || !strings.Contains(err.Error(), "different bits per counter: 8 and 4") {
		t.Errorf("Union of other counters: %v", err)
	}
	config.Hash = secret(1)
	a := must(bloom.NewClassic(config))
	config.Hash = secret(2)
	b := must(bloom.NewClassic(config))
	if err := a.Union(b); !errors.Is(err, bloom.ErrIncompatible) || strings.Count(err.Error(), "key id") != 2 {
		t.Errorf("Union of filters with two secrets: %v", err)
	}
	if err := a.Union(a.Clone()); err != nil {
		t.Errorf("Union of filters with one secret: %v", err)
	}
}

// Answers of the wrong length are a mistake of the caller, as an index out of
// range is.
func TestWrongLengthPanics(t *testing.T) {
	f := must(bloom.New(bloom.Config{Capacity: 100, ErrorRate: 0.1}))
	s := must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 100, ErrorRate: 0.1}))
	for name, call := range map[string]func(){
		"AddHashes":    func() { f.AddHashes(make([]bool, 3), make([]uint64, 2)) },
		"HasHashes":    func() { f.HasHashes(make([]bool, 1), make([]uint64, 2)) },
		"AddKeys":      func() { f.AddKeys(make([]bool, 3), make([][]byte, 2)) },
		"HasStrings":   func() { f.HasStrings(make([]bool, 0), make([]string, 2)) },
		"TryAddHashes": func() { _, _ = s.TryAddHashes(make([]bool, 3), make([]uint64, 2)) },
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, "pass nil or a slice of equal length") {
					t.Errorf("%s with answers of the wrong length: panic %q", name, text)
				}
			}()
			call()
		}()
	}
}
