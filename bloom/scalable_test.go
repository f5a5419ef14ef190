package bloom_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"seen/bloom"
	"seen/internal/filtertest"
	"seen/sizing"
)

func TestScalable(t *testing.T) {
	// From one layer to twelve at the suite's capacity.
	for _, first := range []uint64{5000, 1000, 37} {
		filtertest.Run(t, filtertest.Suite[*bloom.Scalable]{
			New: func(testing.TB) *bloom.Scalable {
				return must(bloom.NewScalable(bloom.ScalableConfig{Capacity: first, ErrorRate: 0.01}))
			},
			Unlike: func(testing.TB) *bloom.Scalable {
				return must(bloom.NewScalable(bloom.ScalableConfig{Capacity: first, ErrorRate: 0.011}))
			},
			Capacity: 5000, ErrorRate: 0.01, UnionErrorRate: 0.02,
		})
	}
}

// The error rate of all layers together stays below the one asked for, up to 100
// times the first capacity, and is the one that Stats reports.
func TestScalableKeepsItsErrorRate(t *testing.T) {
	growths, rates := []float64{1.5, 2, 4}, []float64{0.1, 0.01, 1e-3}
	cells := 2 * 4 * len(growths) * len(rates)
	check := func(first uint64, growth, p float64) {
		f := must(bloom.NewScalable(bloom.ScalableConfig{Capacity: first, ErrorRate: p, Growth: growth}))
		hs := filtertest.RandomHashes(uint64(growth*10), int(100*first))
		trials := int(300 / p)
		absent := filtertest.RandomHashes(99, trials)
		added := 0
		for _, times := range []int{1, 4, 20, 100} {
			n := times * int(first)
			f.AddHashes(nil, hs[added:n])
			added = n
			wrong := f.HasHashes(nil, absent)
			if _, most := filtertest.Limits(trials, p, 20/float64(n), cells); wrong > most {
				t.Errorf("growth %v, %d keys: error rate %.3g, asked for at most %g", growth, n, float64(wrong)/float64(trials), p)
			}
			lo, hi := filtertest.Limits(trials, f.Stats().ErrorRate, 20/float64(n), cells)
			if wrong < lo || wrong > hi {
				t.Errorf("growth %v, %d keys: error rate %.3g, Stats says %.3g", growth, n, float64(wrong)/float64(trials), f.Stats().ErrorRate)
			}
		}
		if f.HasHashes(nil, hs) != len(hs) {
			t.Errorf("growth %v: a key is missing", growth)
		}
		if n := float64(len(hs)); f.Stats().ErrorRateAtCapacity > p || float64(f.Stats().Capacity) < n*(1-p) {
			t.Errorf("growth %v: %+v", growth, f.Stats())
		}
	}
	for _, growth := range growths {
		for _, p := range rates {
			check(1000, growth, p)
		}
	}
}

// Memory relative to a blocked filter of the right size, as documented.
func TestScalableMemory(t *testing.T) {
	for _, c := range []struct{ p, full, begun float64 }{
		{0.1, 3, 6.3},
		{0.01, 1.9, 4},
		{1e-4, 1.5, 3.5},
		{1e-6, 1.3, 3.3},
	} {
		f := must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 1000, ErrorRate: c.p}))
		r := rand.New(rand.NewPCG(5, 5))
		relative := func() float64 {
			return float64(f.Stats().Bytes) / float64(must(sizing.For(sizing.Blocked, f.Added(), c.p)).Bytes())
		}
		for layers := 1; layers < 8; layers++ {
			for f.Added() < f.Stats().Capacity {
				hs := make([]uint64, f.Stats().Capacity-f.Added())
				for i := range hs {
					hs[i] = r.Uint64()
				}
				f.AddHashes(nil, hs)
			}
			if x := relative(); x < 1 || x > c.full {
				t.Errorf("p = %g: %d full layers take %.2f of a blocked filter's memory, documented is %g", c.p, layers, x, c.full)
			}
			for f.Stats().Layers == layers {
				f.AddHash(r.Uint64())
			}
			if x := relative(); x > c.begun {
				t.Errorf("p = %g: with a layer just begun, %d layers take %.2f of a blocked filter's memory, documented is %g", c.p, layers+1, x, c.begun)
			}
		}
	}
}

func TestNewScalableErrors(t *testing.T) {
	for _, c := range []struct {
		config bloom.ScalableConfig
		want   string
	}{
		{bloom.ScalableConfig{ErrorRate: 0.01}, "capacity is 0"},
		{bloom.ScalableConfig{Capacity: 1}, "error rate is 0; it must be above 0"},
		{bloom.ScalableConfig{Capacity: 1, ErrorRate: math.NaN()}, "error rate is NaN"},
		{bloom.ScalableConfig{Capacity: 1, ErrorRate: 1}, "error rate is 1;"},
		{bloom.ScalableConfig{Capacity: 1, ErrorRate: 0.01, Growth: 1}, "growth is 1; it must be above 1 and at most 16"},
		{bloom.ScalableConfig{Capacity: 1, ErrorRate: 0.01, Growth: 16.5}, "growth is 16.5"},
		{bloom.ScalableConfig{Capacity: 1, ErrorRate: 0.01, Growth: math.NaN()}, "growth is NaN"},
		{bloom.ScalableConfig{Capacity: 1000, ErrorRate: 1e-16}, "out of reach of 64-bit hashes"},
		{bloom.ScalableConfig{Capacity: 1e6, ErrorRate: 0.01, MaxBytes: 1e6}, "more than the limit of 1000000"},
		{bloom.ScalableConfig{Capacity: 1, ErrorRate: 0.01, Hash: bloom.Hash{Algorithm: 7}}, "unknown hash algorithm 7"},
	} {
		if f, err := bloom.NewScalable(c.config); err == nil || f != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewScalable(%+v): error %v, want one about %q", c.config, err, c.want)
		}
	}
}

func TestScalableMaxBytes(t *testing.T) {
	const limit = 20_000
	f := must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 1000, ErrorRate: 0.01, MaxBytes: limit}))
	hs := filtertest.RandomHashes(1, 100_000)
	i := 0
	for ; ; i++ {
		isNew, err := f.TryAddHash(hs[i])
		if st := f.Stats(); i%100 == 0 && st.Bytes > limit {
			t.Fatalf("%d bytes after %d keys, the limit is %d", st.Bytes, i, limit)
		}
		if err != nil {
			if !isNew || !errors.Is(err, bloom.ErrFull) || !strings.Contains(err.Error(), "of at most 20000") {
				t.Errorf("TryAddHash of a full filter: %v, %v", isNew, err)
			}
			break
		}
		if f.Err() != nil {
			t.Fatalf("Err is %v before a key was refused", f.Err())
		}
	}
	// The memory is used: a last, smaller layer fills what growth would leave.
	if got := f.Stats().Bytes; got < limit*9/10 {
		t.Errorf("only %d bytes of %d are used", got, limit)
	}
	full := f.Clone()
	for _, h := range hs[i : i+1000] {
		isNew := !f.HasHash(h)
		for range 2 {
			if f.AddHash(h) != isNew {
				t.Fatal("a full filter must answer from what it has, and record nothing")
			}
		}
	}
	rest := hs[i : i+1000]
	added := make([]bool, len(rest))
	if n := f.AddHashes(added, rest); n != len(rest)-f.HasHashes(nil, rest) || n != f.AddHashes(nil, rest) {
		t.Errorf("AddHashes of a full filter counts %d", n)
	}
	for j, h := range rest {
		if added[j] == f.HasHash(h) {
			t.Fatalf("AddHashes of a full filter answers %v for key %d", added[j], j)
		}
	}
	if !f.Equal(full) || f.Stats().ErrorRate > 0.01 || f.HasHashes(nil, hs[:i]) != i {
		t.Error("a full filter was changed")
	}
	if !errors.Is(f.Err(), bloom.ErrFull) {
		t.Errorf("Err is %v", f.Err())
	}
	// Keys that are there, and then one that is not: dealt with up to it.
	batch := slices.Concat(hs[:400], hs[i:i+1], hs[:10])
	if n, err := f.TryAddHashes(make([]bool, len(batch)), batch); n != 400 || !errors.Is(err, bloom.ErrFull) {
		t.Errorf("TryAddHashes has dealt with %d keys, error %v; want 400 and ErrFull", n, err)
	}
	if n, err := f.TryAddHashes(nil, hs[:400]); n != 400 || err != nil {
		t.Errorf("TryAddHashes of known keys: %d, %v", n, err)
	}

	f.SetLimits(2*limit, false)
	if f.Err() != nil {
		t.Errorf("after SetLimits Err is %v", f.Err())
	}
	if isNew, err := f.TryAddHash(hs[i]); !isNew || err != nil || !f.HasHash(hs[i]) {
		t.Errorf("after SetLimits: %v, %v", isNew, err)
	}
	f.SetLimits(1, false)
	f.AddHashes(nil, hs)
	f.Clear()
	if f.Err() != nil || f.Stats().Layers != 1 {
		t.Errorf("after Clear Err is %v, and there are %d layers", f.Err(), f.Stats().Layers)
	}
}

func TestScalableOverfill(t *testing.T) {
	f := must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 1000, ErrorRate: 0.01, MaxBytes: 5000, Overfill: true}))
	hs := filtertest.RandomHashes(1, 10_000)
	if n, err := f.TryAddHashes(nil, hs); n != len(hs) || err != nil {
		t.Fatalf("TryAddHashes: %d, %v", n, err)
	}
	if f.HasHashes(nil, hs) != len(hs) {
		t.Error("a key is missing")
	}
	st := f.Stats()
	if st.Bytes > 5000 || st.ErrorRate < 0.05 || !errors.Is(f.Err(), bloom.ErrFull) {
		t.Errorf("overfilled: %+v, Err %v", st, f.Err())
	}
	const trials = 100_000
	lo, hi := filtertest.Limits(trials, st.ErrorRate, 1e-3, 1)
	if n := f.HasHashes(nil, filtertest.RandomHashes(2, trials)); n < lo || n > hi {
		t.Errorf("%d errors in %d, Stats promises %d to %d", n, trials, lo, hi)
	}
	g := must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 1, ErrorRate: 0.5}))
	if err := g.UnmarshalBinary(must(f.MarshalBinary())); err != nil || g.Err() != nil {
		t.Fatal(err, g.Err())
	}
	if n, err := g.TryAddHashes(nil, hs[:0]); n != 0 || err != nil || g.Err() != nil {
		t.Errorf("adding nothing: %d, %v, Err %v", n, err, g.Err())
	}
	if _, err := g.TryAddHashes(nil, filtertest.RandomHashes(3, 10_000)); err != nil || g.Err() == nil {
		t.Errorf("read again, the filter forgot Overfill or its limit: %v, Err %v", err, g.Err())
	}
}

// A layer that sizing cannot deliver ends growth as the limit of memory does.
func TestScalableEndsWithTheHash(t *testing.T) {
	f := must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 10, ErrorRate: 1e-13}))
	hs := filtertest.RandomHashes(1, 10_000)
	n, err := f.TryAddHashes(nil, hs)
	if !errors.Is(err, bloom.ErrFull) || !strings.Contains(err.Error(), "is impossible: blocked filter cannot give") {
		t.Fatalf("error %v after %d keys", err, n)
	}
	if st := f.Stats(); uint64(n) != st.Added || st.Added != st.Capacity || st.ErrorRate > 1e-13 {
		t.Errorf("%d keys were taken: %+v", n, st)
	}
}

// Batches and single calls must not differ where layers fill up and memory ends.
func TestScalableBatchModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := bloom.ScalableConfig{
			Capacity:  rapid.Uint64Range(1, 300).Draw(t, "capacity"),
			ErrorRate: rapid.SampledFrom([]float64{0.3, 0.01, 1e-5}).Draw(t, "error rate"),
			Growth:    rapid.SampledFrom([]float64{1.1, 2, 16}).Draw(t, "growth"),
			MaxBytes:  rapid.Uint64Range(4096, 20_000).Draw(t, "limit"),
			Overfill:  rapid.Bool().Draw(t, "overfill"),
		}
		one, many := must(bloom.NewScalable(c)), must(bloom.NewScalable(c))
		keys := rapid.Uint64Range(1, 5000).Draw(t, "keys")
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			hs := make([]uint64, rapid.IntRange(0, 700).Draw(t, "length"))
			seed := rapid.Uint64().Draw(t, "seed")
			for i, h := range filtertest.RandomHashes(seed, len(hs)) {
				hs[i] = filtertest.RandomHashes(h%keys, 1)[0]
			}
			want := make([]bool, len(hs))
			count := 0
			refused := len(hs)
			for i, h := range hs {
				isNew, err := one.TryAddHash(h)
				if want[i] = isNew; isNew {
					count++
				}
				if err != nil {
					refused = min(refused, i)
				}
			}
			tried := many.Clone()
			if n, err := tried.TryAddHashes(nil, hs); n != refused || (err != nil) != (refused < len(hs)) {
				t.Fatalf("TryAddHashes deals with %d keys, error %v; single calls with %d", n, err, refused)
			}
			added := make([]bool, len(hs))
			if n := many.AddHashes(added, hs); n != count || !slices.Equal(added, want) {
				t.Fatalf("AddHashes counts %d, single calls %d", n, count)
			}
			if !one.Equal(many) || one.Added() != many.Added() || (one.Err() == nil) != (many.Err() == nil) {
				t.Fatal("batches and single calls leave different filters")
			}
		}
	})
}

// Filters that were filled apart, of different sizes, merge without losing a key,
// keep within the sum of their rates, and grow on.
func TestScalableUnionOfShards(t *testing.T) {
	const shards, p = 4, 0.01
	hs := filtertest.RandomHashes(1, 40_000)
	var all *bloom.Scalable
	for i := range shards {
		f := must(bloom.NewScalable(bloom.ScalableConfig{Capacity: uint64(300 + 500*i), ErrorRate: p / shards}))
		for j, h := range hs {
			if j%shards <= i { // shares overlap
				f.AddHash(h)
			}
		}
		if all == nil {
			all = f
			continue
		}
		before := f.Clone()
		if err := all.Union(f); err != nil {
			t.Fatal(err)
		}
		if !f.Equal(before) {
			t.Error("Union changed its argument")
		}
	}
	if all.HasHashes(nil, hs) != len(hs) {
		t.Error("the union of shards loses keys")
	}
	check := func() {
		t.Helper()
		const trials = 200_000
		wrong := all.HasHashes(nil, filtertest.RandomHashes(2, trials))
		if _, most := filtertest.Limits(trials, p, 1e-3, 2); wrong > most {
			t.Errorf("%d errors in %d, more than %d", wrong, trials, most)
		}
	}
	check()
	layers := all.Stats().Layers
	more := filtertest.RandomHashes(3, 100_000)
	all.AddHashes(nil, more)
	if all.Stats().Layers <= layers || all.HasHashes(nil, more) != len(more) || all.HasHashes(nil, hs) != len(hs) {
		t.Error("after a union the filter does not grow on")
	}
	check()
	all.Clear()
	if !all.Equal(must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 300, ErrorRate: p / shards}))) {
		t.Error("a cleared union does not equal a new filter")
	}
}

// Filters that grow in another way, as those of other versions do, are united.
func TestScalableUnionOfGrowths(t *testing.T) {
	f := must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 300, ErrorRate: 1e-3, Growth: 2}))
	g := must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 300, ErrorRate: 1e-3}))
	hs := filtertest.RandomHashes(1, 20_000)
	f.AddHashes(nil, hs[:9000])
	g.AddHashes(nil, hs[9000:])
	if err := f.Union(g); err != nil || f.Config().Growth != 2 {
		t.Fatalf("union of a growth of 2 and of %v: %v, growth %v", sizing.DefaultGrowth, err, f.Config().Growth)
	}
	if n := f.HasHashes(nil, hs); n != len(hs) {
		t.Errorf("%d of %d keys are in the union", n, len(hs))
	}
	again := must(bloom.Decode(must(f.MarshalBinary()), bloom.LoadOptions{})).(*bloom.Scalable)
	if !again.Equal(f) {
		t.Error("the union is read as another filter")
	}
	absent := filtertest.RandomHashes(2, 200_000)
	if wrong := f.HasHashes(nil, absent); float64(wrong) > 2*1e-3*float64(len(absent)) {
		t.Errorf("%d of %d absent keys are there, which is above the sum of both rates", wrong, len(absent))
	}
}

func TestScalableUnionMemory(t *testing.T) {
	config := bloom.ScalableConfig{Capacity: 1000, ErrorRate: 0.01, MaxBytes: 2000}
	f, g := must(bloom.NewScalable(config)), must(bloom.NewScalable(config))
	f.AddHashes(nil, filtertest.RandomHashes(1, 400))
	g.AddHashes(nil, filtertest.RandomHashes(2, 400))
	if err := f.Union(g); err != nil || f.Stats().Layers != 1 {
		t.Fatalf("layers whose keys fit are not put together: error %v, %d layers", err, f.Stats().Layers)
	}
	before := f.Clone()
	if err := f.Union(g); !errors.Is(err, bloom.ErrFull) || !strings.Contains(err.Error(), "more than the limit of 2000") {
		t.Errorf("a union beyond MaxBytes: %v", err)
	}
	if err := f.Union(f); err != nil {
		t.Error(err)
	}
	if !f.Equal(before) {
		t.Error("a failed union, or one with itself, changed the filter")
	}
	for _, c := range []struct {
		g    *bloom.Scalable
		want string
	}{
		{must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 1000, ErrorRate: 0.02})), "different error rates: 0.01 and 0.02"},
		{must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 1000, ErrorRate: 0.01, Hash: bloom.Hash{Seed: 5}})), "different key hashes: xxh3, seed 0 and xxh3, seed 5"},
	} {
		if err := f.Union(c.g); !errors.Is(err, bloom.ErrIncompatible) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Union: error %v, want one about %q", err, c.want)
		}
	}
}
