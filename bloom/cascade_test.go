package bloom_test

import (
	"math"
	"strings"
	"testing"

	"seen/bloom"
	"seen/internal/filtertest"
)

func TestCascade(t *testing.T) {
	filtertest.Run(t, filtertest.Suite[*bloom.Cascade]{
		New: func(testing.TB) *bloom.Cascade {
			return must(bloom.NewCascade(bloom.CascadeConfig{Capacity: 700, ErrorRate: 0.01}))
		},
		Unlike: func(testing.TB) *bloom.Cascade {
			return must(bloom.NewCascade(bloom.CascadeConfig{Capacity: 700, ErrorRate: 0.01, Growth: 3}))
		},
		Capacity: 5600, ErrorRate: 0.01,
	})
}

// The documentation of Cascade compares it with Scalable; these are its figures.
func TestCascadeTradeOff(t *testing.T) {
	const trials = 300_000
	cascade := must(bloom.NewCascade(bloom.CascadeConfig{Capacity: 10_000, ErrorRate: 0.01}))
	scalable := must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 10_000, ErrorRate: 8e-4}))
	hs := filtertest.RandomHashes(1, 320_000)
	absent := filtertest.RandomHashes(2, trials)
	bitsPerKey := func(f bloom.View, n int) int { return int(float64(f.Stats().Bits)/float64(n) + 0.5) }
	added := 0
	for _, want := range []struct {
		n                         int
		cascadeBits, scalableBits int
		rate                      float64
	}{
		{10_000, 144, 16, 0},
		{70_000, 21, 21, 3e-4},
		{80_000, 18, 30, 1e-3},
		{160_000, 9, 23, 0.10},
		{320_000, 4, 26, 0.66},
	} {
		cascade.AddHashes(nil, hs[added:want.n])
		scalable.AddHashes(nil, hs[added:want.n])
		added = want.n
		if got := bitsPerKey(cascade, want.n); got != want.cascadeBits {
			t.Errorf("%d keys: the cascade takes %d bits per key, documented are %d", want.n, got, want.cascadeBits)
		}
		if got := bitsPerKey(scalable, want.n); got != want.scalableBits {
			t.Errorf("%d keys: the scalable filter takes %d bits per key, documented are %d", want.n, got, want.scalableBits)
		}
		// Documented in one or two digits: half a digit is the tolerance.
		lo, _ := filtertest.Limits(trials, 0.9*want.rate, 1e-3, 10)
		_, hi := filtertest.Limits(trials, 1.1*want.rate, 1e-3, 10)
		if n := cascade.HasHashes(nil, absent); n < lo || n > hi {
			t.Errorf("%d keys: the cascade's error rate is %.2g, documented is %g", want.n, float64(n)/trials, want.rate)
		}
		if _, most := filtertest.Limits(trials, 8e-4, 1e-3, 10); scalable.HasHashes(nil, absent) > most {
			t.Errorf("%d keys: the scalable filter exceeds its error rate", want.n)
		}
	}
	if st := cascade.Stats(); st.Probes != 28 || st.Layers != 4 {
		t.Errorf("the cascade has %d levels and makes %d probes, documented are 4 and 28", st.Layers, st.Probes)
	}
}

func TestNewCascadeErrors(t *testing.T) {
	for _, c := range []struct {
		config bloom.CascadeConfig
		want   string
	}{
		{bloom.CascadeConfig{ErrorRate: 0.01}, "capacity is 0"},
		{bloom.CascadeConfig{Capacity: 1, ErrorRate: 1}, "error rate is 1"},
		{bloom.CascadeConfig{Capacity: 1, ErrorRate: 0.01, Levels: 1}, "a cascade of 1 levels; give 2 to 16"},
		{bloom.CascadeConfig{Capacity: 1, ErrorRate: 0.01, Levels: 17}, "17 levels"},
		{bloom.CascadeConfig{Capacity: 1, ErrorRate: 0.01, Growth: 1}, "growth is 1; it must be above 1"},
		{bloom.CascadeConfig{Capacity: 1, ErrorRate: 0.01, Growth: math.NaN()}, "growth is NaN"},
		{bloom.CascadeConfig{Capacity: 1 << 60, ErrorRate: 0.01, Growth: 16}, "out of reach of 64-bit hashes"},
		{bloom.CascadeConfig{Capacity: 1, ErrorRate: 0.01, Hash: bloom.Hash{Algorithm: bloom.SipHash}}, "siphash needs a secret"},
	} {
		if f, err := bloom.NewCascade(c.config); err == nil || f != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewCascade(%+v): error %v, want one about %q", c.config, err, c.want)
		}
	}
}

// Levels must not make the same errors: then the rate would be that of the last
// level alone.
func TestCascadeLevelsAreIndependent(t *testing.T) {
	f := must(bloom.NewCascade(bloom.CascadeConfig{Capacity: 5000, ErrorRate: 0.1, Levels: 2}))
	f.AddHashes(nil, filtertest.RandomHashes(3, 10_000))
	const trials = 400_000
	lo, hi := filtertest.Limits(trials, f.Stats().ErrorRate, 1e-3, 1)
	if n := f.HasHashes(nil, filtertest.RandomHashes(4, trials)); n < lo || n > hi {
		t.Errorf("%d errors of %d, want %d to %d", n, trials, lo, hi)
	}
}
