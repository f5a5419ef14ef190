package sizing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestGoldenRates(t *testing.T) {
	// 2^31 bits hold 93 million keys at k = 7: 23 bits per key.
	p := Params{Shape: Classic, M: 1 << 31, K: 7}
	n, err := p.Capacity(8.56e-5)
	if err != nil || math.Round(float64(n)/1e6) != 93 {
		t.Errorf("2^31 bits at 8.56e-5 hold %d keys (%v), want 93 million", n, err)
	}
	for _, c := range []struct {
		bitsPerKey uint64
		k          int
		want       string
	}{{20, 10, "8.89e-05"}, {23, 7, "8.56e-05"}, {22, 7, "1.12e-04"}} {
		n := uint64(1e8)
		if got := fmt.Sprintf("%.2e", Params{Shape: Classic, M: c.bitsPerKey * n, K: c.k}.ErrorRate(n)); got != c.want {
			t.Errorf("m/n = %d, k = %d: %s, want %s", c.bitsPerKey, c.k, got, c.want)
		}
	}
}

// occupancyRate is the classic rate from the full distribution of the number of
// ones: after each of the k n probes, one more bit is set unless it was already.
func occupancyRate(m, k, n int) float64 {
	dist := make([]float64, m+1)
	dist[0] = 1
	for range k * n {
		for x := m; x >= 0; x-- {
			dist[x] *= float64(x) / float64(m)
			if x > 0 {
				dist[x] += dist[x-1] * float64(m-x+1) / float64(m)
			}
		}
	}
	var rate float64
	for x, weight := range dist {
		rate += weight * math.Pow(float64(x)/float64(m), float64(k))
	}
	return rate
}

func TestSmallClassicRateIsExact(t *testing.T) {
	for _, m := range []int{1, 2, 3, 10, 64, 300, 1024} {
		for _, k := range []int{1, 2, 3, 7, 16, 40, 64} {
			for _, n := range []int{1, 2, 5, 20, 100} {
				if k*n*m > 3e6 {
					continue
				}
				for _, s := range []Shape{Classic, Counting} {
					got, want := classicParams(s, uint64(m), k).ErrorRate(uint64(n)), occupancyRate(m, k, n)+hashFloor(uint64(n))
					if math.Abs(got/want-1) > 1e-9 {
						t.Errorf("%v m=%d k=%d n=%d: %.12g, want %.12g", s, m, k, n, got, want)
					}
				}
			}
		}
	}
}

// Above exactBits the rate is a formula with a correction; at sizes where the
// exact sum can still be had, it is off by no more than the doc says.
func TestLargeClassicRate(t *testing.T) {
	for _, m := range []uint64{exactBits + 1, 4096, 20000} {
		for _, k := range []int{1, 2, 4, 7, 10, 20} {
			for _, load := range []float64{0.2, 0.5, 1, 2, 6} {
				n := uint64(load * math.Ln2 * float64(m) / float64(k))
				got, want := classicRate(m, k, n), classicRateSum(m, k, n)
				cube := math.Pow(float64(k), 3) / float64(m*m)
				if math.Abs(got/want-1) > cube {
					t.Errorf("m=%d k=%d n=%d: %.9g is off %.2g, want at most %.2g", m, k, n, got, got/want-1, cube)
				}
			}
		}
	}
	// Far above, the correction is nothing and the textbook is right.
	p := Params{Shape: Classic, M: 1e9, K: 7}
	textbook := math.Pow(1-math.Pow(1-1e-9, 7*1e8), 7) + 1e8*0x1p-64
	if got := p.ErrorRate(1e8); math.Abs(got/textbook-1) > 1e-6 {
		t.Errorf("m=1e9: %v, textbook %v", got, textbook)
	}
}

func TestPartitionedRate(t *testing.T) {
	p := Params{Shape: Partitioned, M: 700, K: 7}
	want := math.Pow(1-math.Pow(0.99, 50), 7)
	if got := p.ErrorRate(50); math.Abs(got/want-1) > 1e-12 {
		t.Errorf("ErrorRate = %v, want %v", got, want)
	}
	if got, want := p.FillRatio(50), 1-math.Pow(0.99, 50); math.Abs(got-want) > 1e-12 {
		t.Errorf("FillRatio = %v, want %v", got, want)
	}
}

func TestSimulatedClassicAndPartitioned(t *testing.T) {
	var cells []Params
	for _, k := range []int{1, 2, 3, 5, 8} {
		for _, m := range []uint64{40, 200, 1000, 4000} {
			cells = append(cells,
				Params{Shape: Classic, M: m, K: k},
				Params{Shape: Partitioned, M: m / uint64(k) * uint64(k), K: k})
		}
	}
	limit := sigmas(2 * len(cells))
	rng := rand.New(rand.NewPCG(5, 6))
	for _, p := range cells {
		var rate, fill sample
		n := int(p.M) * 6 / (10 * p.K)
		for range 40000/int(p.M) + 100 {
			f := newSim(p, rng)
			f.add(n)
			rate.add(f.conditionalRate())
			fill.add(float64(f.ones()) / float64(p.M))
		}
		if want := p.ErrorRate(uint64(n)); math.Abs(rate.mean()-want) > limit*rate.stdErr() {
			t.Errorf("%+v with %d keys: measured rate %.5g ± %.2g, formula %.5g", p, n, rate.mean(), rate.stdErr(), want)
		}
		if want := p.FillRatio(uint64(n)); math.Abs(fill.mean()-want) > limit*fill.stdErr() {
			t.Errorf("%+v with %d keys: measured fill %.6g ± %.2g, formula %.6g", p, n, fill.mean(), fill.stdErr(), want)
		}
	}
}

// rateParams are layouts of all shapes and sizes.
func rateParams() []Params {
	ps := []Params{
		{Shape: Classic, M: 1, K: 1},
		{Shape: Classic, M: 1, K: 64},
		{Shape: Classic, M: 2, K: 64},
		{Shape: Classic, M: 64, K: 30},
		{Shape: Classic, M: 1024, K: 64},
		{Shape: Classic, M: 1025, K: 64},
		{Shape: Classic, M: 1 << 20, K: 7},
		{Shape: Classic, M: MaxBits, K: 64},
		{Shape: Counting, M: 5000, K: 6, CounterBits: 8},
		{Shape: Partitioned, M: 7, K: 7},
		{Shape: Partitioned, M: 7 << 20, K: 7},
	}
	for lines := 1; lines <= MaxLines; lines++ {
		for lanes := 1; lanes <= MaxLanes; lanes++ {
			for _, regionLines := range []uint64{1, 2, 50, 1 << 22, MaxBits / (512 * 3)} {
				ps = append(ps, blockedParams(lines, lanes, regionLines))
			}
		}
	}
	return ps
}

func TestRateAndFillGrowWithKeys(t *testing.T) {
	for _, p := range rateParams() {
		if p.ErrorRate(0) != 0 || p.FillRatio(0) != 0 {
			t.Errorf("%+v: an empty filter has rate %v and fill %v", p, p.ErrorRate(0), p.FillRatio(0))
		}
		if got := p.ErrorRate(math.MaxUint64); got != 1 {
			t.Errorf("%+v: rate %v at 2^64 keys, want 1", p, got)
		}
		var rate, fill float64
		for n := uint64(1); n < 1<<62; n += n/7 + 1 {
			r, f := p.ErrorRate(n), p.FillRatio(n)
			if !(r >= rate*(1-1e-9) && r <= 1) || r < hashFloor(n)*(1-1e-9) {
				t.Fatalf("%+v: rate %v at %d keys after %v", p, r, n, rate)
			}
			if !(f >= fill && f <= 1) {
				t.Fatalf("%+v: fill %v at %d keys after %v", p, f, n, fill)
			}
			rate, fill = r, f
		}
	}
}

func TestHashFloor(t *testing.T) {
	// So large a filter has no other errors.
	p := Params{Shape: Classic, M: 1 << 50, K: 20}
	for _, n := range []uint64{1, 1000, 1e9} {
		if got, want := p.ErrorRate(n), float64(n)*0x1p-64; math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%d keys: rate %v, want the hash collisions %v", n, got, want)
		}
		if got, want := leastErrorRate(n), 2*float64(n)*0x1p-64; got != want {
			t.Errorf("leastErrorRate(%d) = %v, want %v", n, got, want)
		}
	}
}

// A filter with as many keys as it was made for is not past its rate; one with a tenth
// more is.
func TestPastRate(t *testing.T) {
	for _, asked := range []float64{0.1, 0.01, 1e-6} {
		p, err := For(Classic, 10_000, asked)
		if err != nil {
			t.Fatal(err)
		}
		for keys, want := range map[uint64]bool{10_000: false, 11_000: true} {
			if PastRate(p.ErrorRate(keys), asked) != want {
				t.Errorf("%d keys, %v asked for: past is not %v", keys, asked, want)
			}
		}
	}
	if PastRate(1, 0) || !PastRate(math.NaN(), 0.1) {
		t.Error("a filter made for no rate is past it, or a full one is not")
	}
}
