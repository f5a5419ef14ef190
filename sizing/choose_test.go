package sizing

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

var allShapes = []Shape{Classic, Blocked, Partitioned, Counting}

// smaller returns the layout with the same probes and one unit of memory less;
// false if there is none.
func smaller(p Params) (Params, bool) {
	p.M -= p.unit()
	return p, p.M > 0
}

var (
	sweepCapacities = []uint64{1, 2, 3, 7, 10, 33, 100, 317, 1000, 4000, 31415, 1e6, 123456789, 1e12}
	sweepRates      = []float64{0.99, 0.9, 0.6, 0.5, 0.3, 0.1, 0.03, 0.01, 1e-3, 2e-4, 1e-5, 1e-6, 3e-8, 1e-9, 1e-11, 1e-13}
)

// sweep calls f for each shape, capacity and rate that For can serve.
func sweep(t *testing.T, f func(s Shape, n uint64, rate float64, p Params)) {
	t.Helper()
	for _, s := range allShapes {
		for _, n := range sweepCapacities {
			for _, rate := range sweepRates {
				if rate <= leastErrorRate(n) {
					continue
				}
				p, err := For(s, n, rate)
				if err != nil {
					t.Errorf("For(%v, %d, %v): %v", s, n, rate, err)
					continue
				}
				f(s, n, rate, p)
			}
		}
	}
}

func TestForIsTheLeastThatMeetsTheRate(t *testing.T) {
	sweep(t, func(s Shape, n uint64, rate float64, p Params) {
		if err := p.Validate(); err != nil {
			t.Fatalf("For(%v, %d, %v) = %+v: %v", s, n, rate, p, err)
		}
		if got := p.ErrorRate(n); got > rate {
			t.Errorf("For(%v, %d, %v) = %+v: rate %v", s, n, rate, p, got)
		}
		if q, ok := smaller(p); ok && q.ErrorRate(n) <= rate {
			t.Errorf("For(%v, %d, %v) = %+v, but %d bits are enough", s, n, rate, p, q.M)
		}
	})
}

// The number of probes is a local optimum: one probe more needs no less memory,
// one less needs more.
func TestForTakesTheBestProbes(t *testing.T) {
	sweep(t, func(s Shape, n uint64, rate float64, p Params) {
		if s == Blocked {
			return
		}
		for _, k := range []int{p.K - 1, p.K + 1} {
			if k < 1 || k > MaxProbes || p.M == 1 {
				continue
			}
			q := fitted(s, p.M-1, k)
			if k < p.K {
				q = fitted(s, p.M, k)
			}
			if q.M <= p.M && q.ErrorRate(n) <= rate {
				t.Errorf("For(%v, %d, %v) = %+v, but k = %d needs only %d", s, n, rate, p, k, q.M)
			}
		}
	})
}

// Over a dense range, no other number of probes would have done better.
func TestBestOfAllProbes(t *testing.T) {
	for _, s := range []Shape{Classic, Partitioned} {
		for _, n := range []uint64{3, 50, 3000} {
			for rate := 0.9; rate > 1e-8; rate *= 0.83 {
				p, err := For(s, n, rate)
				if err != nil {
					t.Fatal(err)
				}
				w, err := Within(s, n, p.Bytes())
				if err != nil {
					t.Fatal(err)
				}
				c, v, err := CapacityWithin(s, p.Bytes(), rate)
				if err != nil {
					t.Fatal(err)
				}
				for k := 1; k <= 40; k++ {
					if q := fitted(s, max(p.M-1, 1), k); q.M < p.M && q.ErrorRate(n) <= rate {
						t.Errorf("For(%v, %d, %v) = %+v, but %+v is enough", s, n, rate, p, q)
					}
					q := fitted(s, 8*p.Bytes(), k)
					if q.ErrorRate(n) < w.ErrorRate(n) {
						t.Errorf("Within(%v, %d, %d) = %+v with rate %v, but %+v has %v", s, n, p.Bytes(), w, w.ErrorRate(n), q, q.ErrorRate(n))
					}
					if q.ErrorRate(c+1) <= rate {
						t.Errorf("CapacityWithin(%v, %d, %v) = %d, %+v, but %+v holds more", s, p.Bytes(), rate, c, v, q)
					}
				}
			}
		}
	}
}

func TestForClassicMemory(t *testing.T) {
	// An integer k costs little: 1.2 % at a rate of 0.18, less below.
	for rate := 0.25; rate > 1e-11; rate *= 0.93 {
		p, err := For(Classic, 1e7, rate)
		if err != nil {
			t.Fatal(err)
		}
		if over := float64(p.M) / OptimalBits(1e7, rate); over < 1 || over > 1.0125 {
			t.Errorf("classic filter at %.3g takes %.4f times the optimum", rate, over)
		}
		c, err := For(Counting, 1e7, rate)
		if err != nil || c.M != p.M || c.K != p.K || c.CounterBits != DefaultCounterBits {
			t.Errorf("counting filter at %.3g is %+v (%v), want the classic %+v", rate, c, err, p)
		}
	}
}

// Few keys take whole lines: up to two more than within 10 % of the optimum, and from 1,100
// keys on none.
func TestBlockedMemoryOfFewKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	for n := uint64(1); n < 10_000; n += 1 + n/20 {
		for rate := 0.1; rate >= 0.99e-6; rate *= 0.93 {
			p, err := For(Blocked, n, rate)
			if err != nil {
				t.Fatal(err)
			}
			most := 1.10 * OptimalBits(n, rate)
			if n < 1100 {
				most += 2 * LineBits
			}
			if float64(p.M) > most {
				t.Errorf("%d keys at %.3g: %d bits, more than %.0f", n, rate, p.M, most)
			}
			if got := p.ErrorRate(n); got > rate {
				t.Errorf("%d keys: error rate %v, asked for %v", n, got, rate)
			}
		}
	}
}

// TestBlockedMemory is the promise of the blocked layout: within 10 % of the
// classic optimum at every rate from 0.1 to 1e-6, with as few lines as do it.
func TestBlockedMemory(t *testing.T) {
	for _, n := range []uint64{1e5, 1e6, 1e7, 1e8, 1e9} {
		for rate := 0.1; rate >= 0.99e-6; rate *= 0.95 {
			p, err := For(Blocked, n, rate)
			if err != nil {
				t.Fatal(err)
			}
			optimum := OptimalBits(n, rate)
			if over := float64(p.M) / optimum; over > 1.10 {
				t.Errorf("%d keys at %.3g: %+v is %.4f times the classic optimum", n, rate, p, over)
			}
			meets := func(lines, lanes int, bits float64) bool {
				regionLines := uint64(bits / float64(512*lines))
				return regionLines > 0 && blockedParams(lines, lanes, regionLines).ErrorRate(n) <= rate
			}
			bestLanes := true
			for lanes := 1; lanes <= MaxLanes; lanes++ {
				for lines := 1; lines < p.Lines; lines++ {
					if meets(lines, lanes, 1.10*optimum) {
						t.Errorf("%d keys at %.3g: %+v, but %d lines of %d lanes stay within 10 %%", n, rate, p, lines, lanes)
					}
				}
				less, _ := smaller(p)
				if meets(p.Lines, lanes, float64(less.M)) {
					bestLanes = false
				}
				if p.Lanes == MaxLanes && meets(p.Lines, lanes, float64(p.M)/1.0201) {
					t.Errorf("%d keys at %.3g: all lanes of %+v cost more than 2 %% over %d lanes", n, rate, p, lanes)
				}
			}
			if p.Lanes < MaxLanes {
				if !bestLanes {
					t.Errorf("%d keys at %.3g: %+v does not have the best lanes", n, rate, p)
				}
				if meets(p.Lines, MaxLanes, min(1.0199*float64(p.M), 1.0999*optimum)) {
					t.Errorf("%d keys at %.3g: %+v, but all lanes cost less than 2 %% more", n, rate, p)
				}
			}
		}
	}
}

func TestBlockedGoldenLayouts(t *testing.T) {
	for _, c := range []struct {
		rate         float64
		lines, lanes int
		over         float64
	}{
		{0.5, 1, 1, 1.000},
		{0.1, 1, 3, 1.008},
		{0.05, 1, 4, 1.013},
		{1e-2, 1, 8, 1.054},
		{1e-3, 1, 8, 1.094},
		{1e-4, 2, 8, 1.054},
		{1e-6, 2, 8, 1.094},
		{1e-9, 3, 8, 1.094},
		{1e-11, 3, 8, 1.177},
	} {
		const n = 4e6
		p, err := For(Blocked, n, c.rate)
		if err != nil {
			t.Fatal(err)
		}
		over := float64(p.M) / OptimalBits(n, c.rate)
		if p.Lines != c.lines || p.Lanes != c.lanes || math.Abs(over-c.over) > 0.001 {
			t.Errorf("at %v: %d lines of %d lanes, %.4f times the classic optimum; want %d, %d, %.3f", c.rate, p.Lines, p.Lanes, over, c.lines, c.lanes, c.over)
		}
	}
}

// In small filters whole lines are coarse: the least memory of all layouts
// counts, then the fewest lines.
func TestBlockedSmallCapacities(t *testing.T) {
	for n := uint64(1); n < 300; n++ {
		for _, rate := range []float64{0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-9} {
			p, err := For(Blocked, n, rate)
			if err != nil {
				t.Fatal(err)
			}
			near := 1.10 * OptimalBits(n, rate)
			if q := blockedParams(p.Lines, MaxLanes, p.RegionLines()); p.Lanes != MaxLanes && q.ErrorRate(n) <= rate {
				t.Fatalf("%d keys at %v: %+v, but all lanes do as well", n, rate, p)
			}
			for lines := 1; lines <= MaxLines; lines++ {
				for lanes := 1; lanes <= MaxLanes; lanes++ {
					for q := blockedParams(lines, lanes, 1); q.M <= p.M; q.M += q.unit() {
						if q.ErrorRate(n) > rate {
							continue
						}
						if q.M == p.M && lines < p.Lines || q.M < p.M && float64(p.M) > near || lines < p.Lines && float64(q.M) <= near {
							t.Fatalf("%d keys at %v: %+v, but %+v is better", n, rate, p, q)
						}
						break
					}
				}
			}
		}
	}
}

func TestWithinInvertsFor(t *testing.T) {
	sweep(t, func(s Shape, n uint64, rate float64, p Params) {
		bytes := p.Bytes()
		w, err := Within(s, n, bytes)
		if err != nil {
			t.Fatalf("Within(%v, %d, %d) after For at %v: %v", s, n, bytes, rate, err)
		}
		if err := w.Validate(); err != nil || w.Bytes() > bytes {
			t.Errorf("Within(%v, %d, %d) = %+v of %d bytes (%v)", s, n, bytes, w, w.Bytes(), err)
		}
		if got := w.ErrorRate(n); got > rate {
			t.Errorf("Within(%v, %d, %d) = %+v has rate %v; For needs no more memory for %v: %+v", s, n, bytes, w, got, rate, p)
		}
	})
}

func TestCapacityInvertsFor(t *testing.T) {
	sweep(t, func(s Shape, n uint64, rate float64, p Params) {
		most, err := p.Capacity(rate)
		if err != nil || most < n {
			t.Errorf("For(%v, %d, %v) = %+v, whose capacity is %d (%v)", s, n, rate, p, most, err)
		}
		if p.ErrorRate(most) > rate || p.ErrorRate(most+1) <= rate {
			t.Errorf("%+v at %v: capacity %d has rate %v, one more %v", p, rate, most, p.ErrorRate(most), p.ErrorRate(most+1))
		}
		held, q, err := CapacityWithin(s, p.Bytes(), rate)
		if err != nil || held < n {
			t.Fatalf("CapacityWithin(%v, %d, %v) = %d (%v), want at least %d", s, p.Bytes(), rate, held, err, n)
		}
		if w, err := Within(s, held, p.Bytes()); err != nil || s != Blocked && q != w {
			t.Errorf("CapacityWithin(%v, %d, %v) = %d, %+v, Within for so many keys %+v (%v)", s, p.Bytes(), rate, held, q, w, err)
		}
		if err := q.Validate(); err != nil || q.Bytes() > p.Bytes() || q.ErrorRate(held) > rate {
			t.Errorf("CapacityWithin(%v, %d, %v) = %d, %+v: %d bytes, rate %v (%v)", s, p.Bytes(), rate, held, q, q.Bytes(), q.ErrorRate(held), err)
		}
	})
}

// Away from the seams between layouts, memory buys the layout that For takes.
func TestWithinChoosesAsFor(t *testing.T) {
	for _, rate := range []float64{0.5, 0.1, 0.05, 1e-2, 1e-4, 1e-5, 1e-7, 1e-9, 1e-11} {
		p, err := For(Blocked, 4e6, rate)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := Within(Blocked, 4e6, p.Bytes()+200); err != nil || w.Lines != p.Lines || w.Lanes != p.Lanes {
			t.Errorf("at %v: Within takes %+v (%v), For %+v", rate, w, err, p)
		}
		if _, w, err := CapacityWithin(Blocked, p.Bytes()+200, rate); err != nil || w.Lines != p.Lines || w.Lanes != p.Lanes {
			t.Errorf("at %v: CapacityWithin takes %+v (%v), For %+v", rate, w, err, p)
		}
	}
}

// In filters of few lines the inverse is delicate: here fewer lines per key are
// within 10 % for what the memory delivers, though not for what was asked.
func TestInversesOfSmallFilters(t *testing.T) {
	for _, c := range []struct {
		s    Shape
		n    uint64
		rate float64
	}{
		{Blocked, 564, 0.0013676218943867366},
		{Blocked, 269, 5.3836385581696149e-06},
		{Blocked, 357, 5.7504262577442737e-05},
		{Counting, 80, 3.9709649919459894e-17}, // many k hold 79 keys, few hold 80
		{Counting, 1714, 3.6410714188743736e-16},
		{Classic, 970, 1.1965619146507238e-16},
	} {
		checkWishes(t, c.s, c.n, c.rate, c.n)
	}
}

func TestWithinGrowsWithMemory(t *testing.T) {
	for _, s := range allShapes {
		for _, n := range []uint64{10, 1000, 1e6} {
			rate := 1.0
			for bytes := n/2 + 64; bytes < 16*n; bytes += bytes/9 + 64 {
				p, err := Within(s, n, bytes)
				if err != nil {
					t.Fatal(err)
				}
				if p.Bytes() > bytes {
					t.Errorf("Within(%v, %d, %d) takes %d bytes", s, n, bytes, p.Bytes())
				}
				got := p.ErrorRate(n)
				if got > rate {
					t.Errorf("Within(%v, %d, %d): rate %v, with less memory %v", s, n, bytes, got, rate)
				}
				rate = got
			}
		}
	}
}

// With more memory than the hashes can put to use, the rest stays unused.
func TestWithinLeavesUselessMemory(t *testing.T) {
	for _, s := range allShapes {
		p, err := Within(s, 1000, 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		if p.Bytes() > 100_000 || p.ErrorRate(1000) > 2e-15 {
			t.Errorf("Within(%v, 1000, 1 TiB) = %+v: %d bytes, rate %v", s, p, p.Bytes(), p.ErrorRate(1000))
		}
		n, p, err := CapacityWithin(s, math.MaxUint64, 1e-10)
		if err != nil || leastErrorRate(n) >= 1e-10 || leastErrorRate(n+1) < 1e-10 {
			t.Errorf("CapacityWithin(%v, all, 1e-10) = %d, %+v (%v)", s, n, p, err)
		}
	}
}

// At the largest sizes nothing overflows.
func TestLargestFilters(t *testing.T) {
	for _, s := range allShapes {
		const n = 1 << 57
		p, err := Within(s, n, math.MaxUint64)
		if err != nil || p.Validate() != nil || p.Bytes() > MaxBits/8 || p.Bytes() < MaxBits/8-1<<10 {
			t.Errorf("Within(%v, 2^57, all) = %+v of %d bytes (%v), want the largest filter", s, p, p.Bytes(), err)
		}
		rate := 2 * p.ErrorRate(n)
		q, err := For(s, n, rate)
		if err != nil || q.ErrorRate(n) > rate || q.M > p.M {
			t.Errorf("For(%v, 2^57, %v) = %+v (%v)", s, rate, q, err)
		}
		if c, err := p.Capacity(rate); err != nil || c < n || p.ErrorRate(c) > rate {
			t.Errorf("%+v holds %d keys at %v (%v)", p, c, rate, err)
		}
	}
}

func TestWishesThatCannotBeMet(t *testing.T) {
	check := func(what string, err error, want ...string) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: no error", what)
			return
		}
		for _, w := range append(want, "") {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %q does not say %q", what, err, w)
			}
		}
	}
	for _, s := range append(allShapes, 0, 5) {
		_, err := For(s, 0, 0.01)
		_, err2 := Within(s, 0, 1000)
		_, _, err3 := CapacityWithin(s, 7, 0.01)
		if s < Classic || s > Counting {
			check("For", err, "unknown shape", "Classic")
			check("Within", err2, "unknown shape")
			check("CapacityWithin", err3, "unknown shape")
			continue
		}
		check("For", err, "capacity is 0", "at least 1")
		check("Within", err2, "capacity is 0")
		check("CapacityWithin", err3, "7 bytes", "too little", s.String())
		for _, rate := range []float64{0, 1, -0.1, 1.5, math.NaN(), math.Inf(1), math.Inf(-1)} {
			_, err := For(s, 10, rate)
			check("For", err, "error rate", "above 0 and below 1")
			_, _, err = CapacityWithin(s, 1000, rate)
			check("CapacityWithin", err, "error rate", "above 0 and below 1")
			p, err := For(s, 10, 0.1)
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Capacity(rate)
			check("Capacity", err, "error rate", "above 0 and below 1")
		}
		_, err = For(s, 1e9, 1e-10)
		check("For", err, "1e-10", "1000000000 keys", "1.08e-10")
		_, err = For(s, 1e18, 0.2)
		check("For", err, "2^60 bits", "1000000000000000000 keys")
		_, err = For(s, math.MaxUint64, 0.9)
		check("For", err, "64-bit hashes")
		_, err = Within(s, 10, 0)
		check("Within", err, "0 bytes", "too little")
		_, err = Within(s, 1e6, 1000)
		check("Within", err, "1000 bytes", "1000000 keys", "give at least")
		_, _, err = CapacityWithin(s, 1<<20, 1e-21)
		check("CapacityWithin", err, "64-bit hashes")
		smallest := uint64(8)
		if s == Blocked {
			smallest = 64
		}
		_, _, err = CapacityWithin(s, smallest, 1e-16)
		check("CapacityWithin", err, "single key", "1e-16")
	}
	_, err := For(Blocked, 900, 1e-16)
	check("For", err, "blocked", "1e-16", "1.5 times", "Classic")
	_, _, err = CapacityWithin(Blocked, 11<<10, 1e-16)
	check("CapacityWithin", err, "blocked", "1.5 times", "Classic")
	_, err = Params{Shape: Classic, M: 10, K: 2}.Capacity(1e-3)
	check("Capacity", err, "10 bits", "0.001", "single key")
}

func FuzzChoose(f *testing.F) {
	f.Add(uint8(1), uint64(1e6), 0.01, uint64(1<<20))
	f.Add(uint8(2), uint64(1), 1e-9, uint64(64))
	f.Add(uint8(2), uint64(5000), 1e-14, uint64(12345))
	f.Add(uint8(3), uint64(math.MaxUint64), 0.999999, uint64(math.MaxUint64))
	f.Add(uint8(4), uint64(77), 1-1e-16, uint64(9))
	f.Add(uint8(0), uint64(0), math.NaN(), uint64(0))
	f.Fuzz(func(t *testing.T, shape uint8, n uint64, rate float64, bytes uint64) {
		checkWishes(t, Shape(shape), n, rate, bytes)
	})
}

func TestRandomWishes(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 600 {
		n := uint64(math.Exp(30 * rng.Float64() * rng.Float64()))
		rate := math.Exp(-36 * rng.Float64())
		bytes := uint64(float64(n) * math.Exp(4-8*rng.Float64()))
		checkWishes(t, allShapes[rng.IntN(len(allShapes))], n, rate, bytes)
	}
}

// checkWishes asks all functions for the same and compares their answers: each
// gives an error and nothing else, or a layout that does what was asked.
func checkWishes(t *testing.T, s Shape, n uint64, rate float64, bytes uint64) {
	if p, err := For(s, n, rate); err == nil {
		if err := p.Validate(); err != nil || p.Shape != s || !(p.ErrorRate(n) <= rate) {
			t.Fatalf("For(%v, %d, %v) = %+v: rate %v (%v)", s, n, rate, p, p.ErrorRate(n), err)
		}
		if rate <= uselessRate {
			if w, err := Within(s, n, p.Bytes()); err != nil || w.ErrorRate(n) > rate {
				t.Fatalf("For(%v, %d, %v) = %+v, Within = %+v: rate %v (%v)", s, n, rate, p, w, w.ErrorRate(n), err)
			}
		}
		// Above 1e12 keys, one key more or less is below the rounding errors.
		least := n - uint64(float64(n)*1e-12)
		if c, q, err := CapacityWithin(s, p.Bytes(), rate); err != nil || c < least {
			t.Fatalf("For(%v, %d, %v) = %+v, CapacityWithin = %d, %+v (%v)", s, n, rate, p, c, q, err)
		}
	} else if p != (Params{}) {
		t.Fatalf("For(%v, %d, %v) = %+v and %v", s, n, rate, p, err)
	}
	if p, err := Within(s, n, bytes); err == nil {
		if err := p.Validate(); err != nil || p.Shape != s || p.Bytes() > bytes || !(p.ErrorRate(n) <= uselessRate) {
			t.Fatalf("Within(%v, %d, %d) = %+v: %d bytes, rate %v (%v)", s, n, bytes, p, p.Bytes(), p.ErrorRate(n), err)
		}
	} else if p != (Params{}) {
		t.Fatalf("Within(%v, %d, %d) = %+v and %v", s, n, bytes, p, err)
	}
	if c, p, err := CapacityWithin(s, bytes, rate); err == nil {
		if err := p.Validate(); err != nil || p.Shape != s || p.Bytes() > bytes || c == 0 || !(p.ErrorRate(c) <= rate) {
			t.Fatalf("CapacityWithin(%v, %d, %v) = %d, %+v: %d bytes, rate %v (%v)", s, bytes, rate, c, p, p.Bytes(), p.ErrorRate(c), err)
		}
	} else if c != 0 || p != (Params{}) {
		t.Fatalf("CapacityWithin(%v, %d, %v) = %d, %+v and %v", s, bytes, rate, c, p, err)
	}
}
