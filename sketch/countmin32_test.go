package sketch

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"seen/bloom"
	"seen/internal/filtertest"
)

func newCountMin32(t testing.TB, c CountMin32Config) *CountMin32 {
	t.Helper()
	s, err := NewCountMin32(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCountMin32Model holds it against a CountMin of 64 bits, whose columns are the
// same, up to the value at which counters stick.
func TestCountMin32Model(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width, depth := rapid.Uint64Range(1, 9).Draw(t, "width"), rapid.IntRange(1, 8).Draw(t, "depth")
		s, err := NewCountMin32(CountMin32Config{Width: width, Depth: depth})
		if err != nil {
			t.Fatal(err)
		}
		model, err := NewCountMin(CountMinConfig{Width: width, Depth: depth})
		if err != nil {
			t.Fatal(err)
		}
		hs := filtertest.RandomHashes(1, 30)
		times := map[uint64]uint64{}
		stick := func(n uint64) uint32 { return uint32(min(n, math.MaxUint32)) }
		for range rapid.IntRange(0, 60).Draw(t, "additions") {
			h := rapid.SampledFrom(hs).Draw(t, "hash")
			n := rapid.OneOf(rapid.Uint64Range(0, 9), rapid.Uint64Range(0, 1<<33), rapid.Uint64()).Draw(t, "n")
			times[h] = addSaturating(times[h], n)
			if got, want := s.AddHash(h, n), stick(model.AddHash(h, n)); got != want || got < stick(times[h]) {
				t.Fatalf("adding %d gives %d, want %d; it came %d times", n, got, want, times[h])
			}
			if got, want := s.Total(), min(model.Total(), math.MaxInt64); got != want {
				t.Fatalf("total %d, want %d", got, want)
			}
		}
		for _, h := range hs {
			if got, want := s.CountHash(h), stick(model.CountHash(h)); got != want {
				t.Fatalf("count %d, want %d", got, want)
			}
		}
		c := must(s.Clone())
		s.Clear()
		if s.Total() != 0 || s.CountHash(hs[0]) != 0 || len(times) > 0 && model.Total() > 0 && c.Equal(s) {
			t.Fatal("Clear leaves something, or the clone shares memory")
		}
	})
}

// TestCountMin32Sum holds weighted sums against numbers of any size.
func TestCountMin32Sum(t *testing.T) {
	fits := 0
	rapid.Check(t, func(t *rapid.T) {
		const width, depth = 3, 3
		make1 := func() *CountMin32 {
			s, err := NewCountMin32(CountMin32Config{Width: width, Depth: depth})
			if err != nil {
				t.Fatal(err)
			}
			for range rapid.IntRange(0, 5).Draw(t, "additions") {
				n := rapid.OneOf(rapid.Uint64Range(0, 9), rapid.Uint64Range(0, 1<<33), rapid.Uint64()).Draw(t, "n")
				s.AddHash(rapid.Uint64Range(0, 9).Draw(t, "hash"), n)
			}
			return s
		}
		var sources []*CountMin32
		var weights []int64
		weight := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64())
		for range rapid.IntRange(1, 4).Draw(t, "sources") {
			if len(sources) > 0 && rapid.Bool().Draw(t, "again") {
				sources = append(sources, sources[0])
			} else {
				sources = append(sources, make1())
			}
			weights = append(weights, weight.Draw(t, "weight"))
		}
		like := make1()
		if rapid.Bool().Draw(t, "like a source") {
			like = sources[rapid.IntRange(0, len(sources)-1).Draw(t, "which")]
		}
		if rapid.Bool().Draw(t, "no weights") {
			weights = nil
		}
		sum := func(of func(*CountMin32) uint64) *big.Int {
			total := new(big.Int)
			for i, s := range sources {
				w := int64(1)
				if weights != nil {
					w = weights[i]
				}
				total.Add(total, new(big.Int).Mul(big.NewInt(w), new(big.Int).SetUint64(of(s))))
			}
			return total
		}
		overflow := false
		var want []uint32
		for i := range uint64(width * depth) {
			n := sum(func(s *CountMin32) uint64 { return uint64(s.counter(i)) })
			overflow = overflow || n.Sign() < 0 || n.Cmp(big.NewInt(math.MaxUint32)) > 0
			want = append(want, uint32(n.Uint64()))
		}
		total := sum((*CountMin32).Total)
		overflow = overflow || total.Sign() < 0 || !total.IsInt64()
		before := must(like.Clone())
		dest, err := like.Sum(sources, weights, nil)
		if !like.Equal(before) {
			t.Fatal("the sum has changed its receiver")
		}
		if overflow {
			if !errors.Is(err, ErrOverflow) || dest != nil {
				t.Fatalf("%v, %v; want an overflow", dest, err)
			}
			return
		}
		if err != nil || dest.Total() != total.Uint64() {
			t.Fatalf("%v; total %d, want %d", err, dest.Total(), total)
		}
		for i, n := range want {
			if dest.counter(uint64(i)) != n {
				t.Fatalf("counter %d is %d, want %d", i, dest.counter(uint64(i)), n)
			}
		}
		if len(sources) > 1 {
			fits++
		}
	})
	if fits < 5 && !testing.Short() { // which tries a fifth of the sums
		t.Errorf("only %d sums of several sketches fit, so that this tests less than it should", fits)
	}
}

func TestCountMin32Refusals(t *testing.T) {
	errNo := errors.New("no")
	for _, c := range []struct {
		config CountMin32Config
		text   string
	}{
		{CountMin32Config{Depth: 1}, "width 0 and depth 1"},
		{CountMin32Config{Width: 1}, "width 1 and depth 0"},
		{CountMin32Config{Width: 1, Depth: 1025}, "the depth 1 to 1024"},
		{CountMin32Config{Width: 1 << 62, Depth: 4}, "more than the limit"},
		{CountMin32Config{Width: 1, Depth: 1, Hash: bloom.Hash{Algorithm: 9}}, "unknown hash algorithm"},
		{CountMin32Config{Width: 1 << 30, Depth: 4, Reserve: func(uint64) error { return errNo }}, "refused: no"},
	} {
		if s, err := NewCountMin32(c.config); s != nil || err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.text)
		}
	}
	asked := uint64(0)
	s := newCountMin32(t, CountMin32Config{Width: 7, Depth: 3, Reserve: func(n uint64) error { asked += n; return nil }})
	if asked != s.Bytes() || s.Width() != 7 || s.Depth() != 3 {
		t.Errorf("%d bytes were asked for, %d are said", asked, s.Bytes())
	}
	for _, c := range []struct {
		sources []*CountMin32
		weights []int64
		want    error
	}{
		{nil, nil, nil},
		{[]*CountMin32{s}, []int64{1, 2}, nil},
		{[]*CountMin32{newCountMin32(t, CountMin32Config{Width: 8, Depth: 3})}, nil, ErrIncompatible},
		{[]*CountMin32{s, newCountMin32(t, CountMin32Config{Width: 7, Depth: 4})}, nil, ErrIncompatible},
		{[]*CountMin32{newCountMin32(t, CountMin32Config{Width: 7, Depth: 3, Hash: bloom.Hash{Seed: 1}})}, nil, ErrIncompatible},
	} {
		if sum, err := s.Sum(c.sources, c.weights, nil); sum != nil || err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%v, %v; want %v", sum, err, c.want)
		}
	}
	steps := 0
	sum, err := s.Sum([]*CountMin32{s}, nil, func(counters int) error {
		steps++
		return errNo
	})
	if sum != nil || !errors.Is(err, errNo) || steps != 1 {
		t.Errorf("%v, %v after %d steps, want the error of the first", sum, err, steps)
	}
}

// TestCountMin32Concurrent asks while one goroutine adds: what was told to be added is
// counted, and counts do not fall.
func TestCountMin32Concurrent(t *testing.T) {
	s := newCountMin32(t, CountMin32Config{Width: 20, Depth: 4})
	hs := filtertest.RandomHashes(1, 10)
	var mu sync.Mutex // of added, not of the sketch
	added := map[uint64]uint32{}
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		wg.Go(func() {
			last := make([]uint32, len(hs))
			for {
				for i, h := range hs {
					mu.Lock()
					least := added[h]
					mu.Unlock()
					n := s.CountHash(h)
					if n < least || n < last[i] {
						t.Errorf("count %d after %d were added and %d counted", n, least, last[i])
						return
					}
					last[i] = n
				}
				s.Total()
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range 20_000 {
		h := hs[i%len(hs)]
		n := s.AddHash(h, 1)
		mu.Lock()
		if added[h]++; n < added[h] {
			t.Errorf("%d, after %d additions", n, added[h])
		}
		mu.Unlock()
	}
	close(done)
	wg.Wait()
	if s.Total() != 20_000 {
		t.Errorf("total %d", s.Total())
	}
}

// TestCountMin32Large: a table on pages of its own.
func TestCountMin32Large(t *testing.T) {
	s := newCountMin32(t, CountMin32Config{Width: 200_000, Depth: 3})
	for i := range 1000 {
		s.Add([]byte{byte(i), byte(i >> 8)}, uint64(i))
	}
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	c := newCountMin32(t, CountMin32Config{Width: 1, Depth: 1})
	if _, err := c.ReadFrom(bytes.NewReader(b)); err != nil || !c.Equal(s) || !must(s.Clone()).Equal(s) || c.Count([]byte{7, 1}) < 263 {
		t.Error(err, "or it does not come back")
	}
}
