package sketch

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"seen/bloom"
)

func newTopK(t testing.TB, c TopKConfig) *TopK {
	t.Helper()
	s, err := NewTopK(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTopKModel plays random calls on two sketches, one of which goes through bytes on
// the way, and holds what they say against exact counts: none is ever too high.
func TestTopKModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := TopKConfig{
			K: rapid.IntRange(1, 5).Draw(t, "k"), Width: rapid.IntRange(1, 9).Draw(t, "width"), Depth: rapid.IntRange(1, 4).Draw(t, "depth"),
			Decay: rapid.SampledFrom([]float64{0.5, 0.9, 1}).Draw(t, "decay"), Seed: rapid.Uint64().Draw(t, "seed"),
		}
		s, err := NewTopK(c)
		if err != nil {
			t.Fatal(err)
		}
		twin := must(s.Clone())
		times := map[string]uint32{}
		best := map[string]bool{}
		key := rapid.Custom(func(t *rapid.T) string {
			return string([]byte{0, byte(rapid.IntRange(0, 20).Draw(t, "key")), 0})
		})
		for range rapid.IntRange(0, 150).Draw(t, "calls") {
			k, n := key.Draw(t, "key"), rapid.Uint32Range(0, 5).Draw(t, "n")
			times[k] += n
			expelled, ok := s.Incr([]byte(k), n)
			again, okAgain := twin.Incr([]byte(k), n)
			if ok != okAgain || !bytes.Equal(expelled, again) {
				t.Fatalf("the same calls expel %q and %q", expelled, again)
			}
			if ok {
				if !best[string(expelled)] || string(expelled) == k || len(best) != c.K {
					t.Fatalf("%q is expelled", expelled)
				}
				delete(best, string(expelled))
			}
			if s.Has([]byte(k)) {
				best[k] = true
			} else if best[k] || ok {
				t.Fatalf("%q is not among the best", k)
			} else if n > 0 && len(best) < c.K && s.Count([]byte(k)) > 0 {
				t.Fatalf("%q is counted, there is room among the best, and it is not there", k)
			}
			if rapid.IntRange(0, 30).Draw(t, "through bytes") == 0 {
				b, err := twin.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				if err := twin.UnmarshalBinary(b); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !s.Equal(twin) || s.Bytes() != twin.Bytes() {
			t.Fatal("the same calls leave different sketches")
		}
		list := s.List()
		if len(list) != len(best) {
			t.Fatalf("%d keys are listed, %d are the best", len(list), len(best))
		}
		for i, e := range list {
			if !best[string(e.Key)] || e.Count != s.Count(e.Key) || e.Count == 0 {
				t.Fatalf("%q is listed with %d", e.Key, e.Count)
			}
			if i > 0 && list[i-1].Count < e.Count {
				t.Fatalf("number %d of the list is out of order", i)
			}
		}
		for k, n := range times {
			if got := s.Count([]byte(k)); got > n {
				t.Fatalf("%q counts %d, came %d times", k, got, n)
			}
		}
		s.Clear()
		if len(s.List()) != 0 || s.Has([]byte{0, 1, 0}) || s.Count([]byte{0, 1, 0}) != 0 || s.Bytes() != topKOverhead+8*uint64(len(s.buckets)) {
			t.Fatal("Clear leaves something")
		}
	})
}

// TestTopKAccuracy counts a stream with a Zipf distribution exactly and with the
// sketch. The bound is that of the paper, Pr(n - count >= eps*N) <= 1/(eps w n (b-1))
// for a row and its power for all, with b = 1/decay; eps is chosen so that of all keys
// above the least of interest one fails with a probability below 1e-9.
func TestTopKAccuracy(t *testing.T) {
	const (
		k, width, depth = 20, 1000, 5
		decay           = 0.9
		N               = 300_000
		frequent        = 2000 // the least of interest
	)
	for seed := range uint64(3) {
		s := newTopK(t, TopKConfig{K: k, Width: width, Depth: depth, Decay: decay, Seed: seed, Hash: bloom.Hash{Seed: seed}})
		zipf := rand.NewZipf(rand.New(rand.NewPCG(seed, 1)), 1.1, 1, 100_000)
		times := map[string]uint32{}
		for range N {
			key := fmt.Append(nil, zipf.Uint64())
			times[string(key)]++
			s.Add(key)
		}
		var heavy []string
		for key, n := range times {
			if n >= frequent {
				heavy = append(heavy, key)
			}
		}
		// (1 / (eps * width * frequent * (1/decay - 1)))^depth * len(heavy) = 1e-9
		eps := math.Pow(float64(len(heavy))/1e-9, 1.0/depth) / (width * frequent * (1/decay - 1))
		slack := uint32(math.Ceil(eps * N))
		if len(heavy) < 5 || slack > frequent/2 {
			t.Fatalf("%d frequent keys, slack %d: this tests nothing", len(heavy), slack)
		}
		all := make([]uint32, 0, len(times))
		for _, n := range times {
			all = append(all, n)
		}
		slices.Sort(all)
		next := all[len(all)-k-1] // the k+1st
		for _, key := range heavy {
			n, got := times[key], s.Count([]byte(key))
			if got > n || n-got >= slack {
				t.Errorf("seed %d: %s came %d times and counts %d, more than %d off", seed, key, n, got, slack)
			}
			if n >= next+slack && !s.Has([]byte(key)) {
				t.Errorf("seed %d: %s came %d times and is not among the best; number %d came %d times", seed, key, n, k+1, next)
			}
		}
		for _, e := range s.List() {
			if e.Count > times[string(e.Key)] {
				t.Errorf("seed %d: %s came %d times and counts %d", seed, e.Key, times[string(e.Key)], e.Count)
			}
		}
	}
}

// TestTopKChances holds the probabilities against the powers that they stand for.
func TestTopKChances(t *testing.T) {
	for _, decay := range []float64{0.5, 0.9, 0.999, 1} {
		s := newTopK(t, TopKConfig{K: 1, Decay: decay})
		for _, n := range []uint32{0, 1, 2, 100, 254, 255, 256, 257, 509, 510, 511, 1000, 5000, 70_000, math.MaxUint32} {
			want := math.Pow(decay, float64(n))
			if got := s.chance(n); math.Abs(got-want) > 1e-12*want+1e-300 {
				t.Errorf("%v to the power of %d is %v, want %v", decay, n, got, want)
			}
		}
		yes := 0
		p := s.chance(3)
		for range 100_000 {
			if s.lucky(p) {
				yes++
			}
		}
		// Fixed numbers: four standard deviations.
		if off := math.Abs(float64(yes) - 1e5*p); off > 4*math.Sqrt(1e5*p*(1-p)) {
			t.Errorf("probability %v came true %d times of 100000", p, yes)
		}
	}
}

// TestTopKStuck: a count stays at its largest value.
func TestTopKStuck(t *testing.T) {
	s := newTopK(t, TopKConfig{K: 1})
	s.Incr([]byte("a"), math.MaxUint32)
	s.Incr([]byte("a"), 5)
	if n := s.Count([]byte("a")); n != math.MaxUint32 {
		t.Errorf("count %d", n)
	}
}

func TestTopKConfig(t *testing.T) {
	s := newTopK(t, TopKConfig{K: 3})
	if s.K() != 3 || s.Width() != 100 || s.Depth() != 5 || s.Decay() != 0.9 {
		t.Errorf("%d, %d, %d, %v", s.K(), s.Width(), s.Depth(), s.Decay())
	}
	errNo := errors.New("no")
	for _, c := range []struct {
		config TopKConfig
		text   string
	}{
		{TopKConfig{}, "k = 0"},
		{TopKConfig{K: -1}, "k = -1"},
		{TopKConfig{K: 1, Width: -1}, "width -1"},
		{TopKConfig{K: 1, Width: math.MaxInt, Depth: 2}, "width 9223372036854775807"},
		{TopKConfig{K: 1, Depth: -1}, "depth -1"},
		{TopKConfig{K: 1, Depth: 1025}, "depth 1025 of a top-k sketch is not between 1 and 1024"},
		{TopKConfig{K: 1, Decay: -0.1}, "decay -0.1"},
		{TopKConfig{K: 1, Decay: 1.1}, "decay 1.1 of a top-k sketch is not above 0 and at most 1"},
		{TopKConfig{K: 1, Decay: math.NaN()}, "decay NaN"},
		{TopKConfig{K: 1, Hash: bloom.Hash{Algorithm: 9}}, "unknown hash algorithm"},
		{TopKConfig{K: 1, Reserve: func(uint64) error { return errNo }}, "refused: no"},
	} {
		if s, err := NewTopK(c.config); s != nil || err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.text)
		}
	}
}
