package sizing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// estimateParams are filters of a few thousand bits of each shape, so that many
// of them can be filled.
var estimateParams = []Params{
	{Shape: Classic, M: 10000, K: 1},
	{Shape: Classic, M: 10000, K: 7},
	{Shape: Counting, M: 10000, K: 4, CounterBits: 4},
	{Shape: Partitioned, M: 10000, K: 5},
	{Shape: Blocked, M: 512 * 20, K: 8, Lines: 1, Lanes: 8},
	{Shape: Blocked, M: 512 * 20, K: 3, Lines: 1, Lanes: 3},
	{Shape: Blocked, M: 512 * 2 * 10, K: 16, Lines: 2, Lanes: 8},
	{Shape: Blocked, M: 512 * 3 * 7, K: 3, Lines: 3, Lanes: 1},
}

// TestEstimatesAndTheirErrors fills pairs of filters with known sets and checks
// that every estimate is right on average, and off by as much as its standard
// error says.
func TestEstimatesAndTheirErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	const runs = 400
	type sets struct{ a, b, common float64 } // keys of A only, of B only, of both; in filters of half-full size
	cases := []sets{{1, 0, 0}, {0.5, 0.5, 0.2}, {0.05, 0.05, 1.2}, {0.1, 1.4, 0.3}, {1, 1, 1}}
	rng := rand.New(rand.NewPCG(9, 10))
	limit := sigmas(2 * 4 * len(cases) * len(estimateParams))
	for _, p := range estimateParams {
		for _, c := range cases {
			half := float64(p.M) * math.Ln2 / float64(p.K)
			a, b, common := int(c.a*half), int(c.b*half), int(c.common*half)
			truth := map[string]float64{
				"Cardinality":  float64(a + common),
				"Union":        float64(a + b + common),
				"Intersection": float64(common),
				"Jaccard":      float64(common) / float64(a+b+common),
			}
			off := map[string]*sample{"Cardinality": {}, "Union": {}, "Intersection": {}, "Jaccard": {}}
			for range runs {
				x, y, both := newSim(p, rng), newSim(p, rng), newSim(p, rng)
				x.add(a)
				y.add(b)
				both.add(common)
				or := make([]uint64, len(x.words))
				for i, w := range both.words {
					x.words[i] |= w
					y.words[i] |= w
					or[i] = x.words[i] | y.words[i]
				}
				onesA, onesB, onesUnion := x.ones(), y.ones(), countOnes(or)
				for what, e := range map[string]Estimate{
					"Cardinality":  p.Cardinality(onesA),
					"Union":        p.Union(onesUnion),
					"Intersection": p.Intersection(onesA, onesB, onesUnion),
					"Jaccard":      p.Jaccard(onesA, onesB, onesUnion),
				} {
					if e.StdErr > 0 {
						off[what].add((e.Value - truth[what]) / e.StdErr)
					} else if e.Value != truth[what] {
						t.Fatalf("%+v %+v: %s %v without error, truth %v", p, c, what, e, truth[what])
					}
				}
			}
			// ln(zeros) is not linear. To second order its bias is half the relative
			// deviation of the zeros, in standard errors, for each cardinality.
			bias := 3.0 / 2 * math.Sqrt(p.relativeVariance(float64(a+b+common))/float64(p.M))
			for what, s := range off {
				if c.common == 0 && (what == "Intersection" || what == "Jaccard") {
					continue // kept from falling below 0, so neither unbiased nor normal
				}
				name := fmt.Sprintf("%+v, %d + %d + %d keys: %s", p, a, b, common, what)
				if mean := s.mean(); math.Abs(mean) > limit/math.Sqrt(runs)+bias {
					t.Errorf("%s is off by %.2f standard errors on average", name, mean)
				}
				if v := s.variance(); math.Abs(v-1) > limit*math.Sqrt(2.0/runs)+bias {
					t.Errorf("%s: standard error is %.3f times the real one", name, 1/math.Sqrt(v))
				}
			}
		}
	}
}

// For k = 1 the standard error is that of linear counting.
func TestCardinalityOfLinearCounting(t *testing.T) {
	const m = 1e6
	p := Params{Shape: Classic, M: m, K: 1}
	for _, n := range []float64{1e3, 1e5, 1e6, 5e6} {
		load := n / m
		ones := uint64(math.Round(m * -math.Expm1(n*math.Log1p(-1.0/m))))
		e := p.Cardinality(ones)
		want := math.Sqrt(m * (math.Expm1(load) - load))
		if math.Abs(e.Value/n-1) > 1e-3 || math.Abs(e.StdErr/want-1) > 1e-2 {
			t.Errorf("%v ones: %v, want %v ± %.3g", ones, e, n, want)
		}
	}
}

func TestCardinalityInvertsFill(t *testing.T) {
	for _, p := range estimateParams {
		for _, load := range []float64{0, 0.01, 0.3, 1, 3} {
			n := math.Round(load * float64(p.M) / float64(p.K))
			e := p.Cardinality(uint64(math.Round(p.FillRatio(uint64(n)) * float64(p.M))))
			// Half a bit of rounding is worth so many keys:
			bit := 0.5 / (1 - p.FillRatio(uint64(n))) / float64(p.K)
			if math.Abs(e.Value-n) > 1.1*bit {
				t.Errorf("%+v with %v keys: cardinality %v", p, n, e)
			}
		}
	}
	// n ~ (m/k) ln(m/m0), the form in every text.
	p := Params{Shape: Classic, M: 1 << 20, K: 7}
	if got, want := p.Cardinality(1<<19).Value, float64(1<<20)/7*math.Ln2; math.Abs(got/want-1) > 1e-5 {
		t.Errorf("half-full: %v, want %v", got, want)
	}
}

func TestEstimatesAtTheEdges(t *testing.T) {
	for _, p := range append(estimateParams, Params{Shape: Classic, M: 1, K: 1}, Params{Shape: Partitioned, M: 3, K: 3}) {
		if e := p.Cardinality(0); e != (Estimate{}) || p.ErrorRateAt(0) != 0 {
			t.Errorf("%+v: empty filter holds %v keys at rate %v", p, e, p.ErrorRateAt(0))
		}
		if e := p.Cardinality(p.M); !math.IsInf(e.Value, 1) || e.Known() || e.String() != "full" || p.ErrorRateAt(p.M) != 1 {
			t.Errorf("%+v: full filter holds %v keys at rate %v", p, e, p.ErrorRateAt(p.M))
		}
		if e := p.Union(p.M); !math.IsInf(e.Value, 1) {
			t.Errorf("%+v: full union holds %v keys", p, e)
		}
		if e := p.Cardinality(p.M + 1); !math.IsNaN(e.Value) || e.Known() || e.String() != "unknown" || !math.IsNaN(p.ErrorRateAt(p.M+1)) {
			t.Errorf("%+v: more ones than bits: %v", p, e)
		}
		if p.M < 1000 {
			continue
		}
		if e := p.Cardinality(p.M - 1); !e.Known() || !(e.StdErr > 0) || math.IsInf(e.StdErr, 0) {
			t.Errorf("%+v: one zero left: %v", p, e)
		}
		for _, ones := range [][3]uint64{
			{p.M, 5, p.M}, {p.M - 10, 20, p.M}, // full
			{10, 5, 9}, {5, 10, 9}, // a union smaller than a part
			{10, 5, 16}, // and larger than the parts
			{10, 5, p.M + 1},
		} {
			for _, e := range []Estimate{p.Intersection(ones[0], ones[1], ones[2]), p.Jaccard(ones[0], ones[1], ones[2])} {
				if !math.IsNaN(e.Value) || !math.IsNaN(e.StdErr) {
					t.Errorf("%+v, ones %v: %v, want unknown", p, ones, e)
				}
			}
		}
		if e := p.Intersection(0, 0, 0); e != (Estimate{}) {
			t.Errorf("%+v: empty sets have %v in common", p, e)
		}
		if e := p.Jaccard(0, 0, 0); e.Known() {
			t.Errorf("%+v: empty sets have similarity %v", p, e)
		}
		// Equal sets have everything in common, and no doubt about it.
		ones := p.M / 3
		if e := p.Jaccard(ones, ones, ones); e.Value != 1 || e.StdErr > 1e-9 {
			t.Errorf("%+v: equal sets have similarity %v", p, e)
		}
		if e, n := p.Intersection(ones, ones, ones), p.Cardinality(ones); e.Value != n.Value || math.Abs(e.StdErr/n.StdErr-1) > 1e-9 {
			t.Errorf("%+v: equal sets of %v have %v in common", p, n, e)
		}
		// Fewer common keys than chance would have it are none.
		if e := p.Intersection(ones, ones, 2*ones); e.Value != 0 || !(e.StdErr > 0) {
			t.Errorf("%+v: disjoint bits have %v in common", p, e)
		}
	}
}

// A filter that one key fills has nothing to tell.
func TestCardinalityOfOneBitSlices(t *testing.T) {
	p := Params{Shape: Partitioned, M: 3, K: 3}
	if e := p.Cardinality(1); e != (Estimate{}) || math.Signbit(e.Value) {
		t.Errorf("Cardinality(1) = %v, want 0 ± 0", e)
	}
}

func TestErrorRateAt(t *testing.T) {
	for _, p := range estimateParams {
		half := p.M / 2
		want := p.ErrorRate(uint64(math.Ceil(p.Cardinality(half).Value)))
		if got := p.ErrorRateAt(half); got != want {
			t.Errorf("%+v: rate %v at half fill, want %v", p, got, want)
		}
	}
	// A classic filter's rate is its fill ratio to the k.
	p := Params{Shape: Classic, M: 1 << 24, K: 7}
	if got, want := p.ErrorRateAt(1<<22), math.Pow(0.25, 7); math.Abs(got/want-1) > 1e-5 {
		t.Errorf("a quarter full: %v, want %v", got, want)
	}
}

func TestEstimateString(t *testing.T) {
	if got := (Estimate{1234.56, 7.89}).String(); got != "1234.56 ± 7.9" {
		t.Errorf("String = %q", got)
	}
}

func TestStuckCounters(t *testing.T) {
	// At the best k a counter is met by ln 2 probes on average.
	best := Params{Shape: Counting, M: 1e9, K: 7, CounterBits: 4}
	n := uint64(math.Round(1e9 / 7 * math.Ln2))
	poisson := 0.0 // P(Poisson(ln 2) >= 15)
	term := 0.5
	for c := 1; c < 40; c++ {
		term *= math.Ln2 / float64(c)
		if c >= 15 {
			poisson += term
		}
	}
	if got := best.StuckCounters(n) / 1e9; math.Abs(got/poisson-1) > 1e-4 || got > 2e-15 {
		t.Errorf("share of stuck counters %v, Poisson gives %v", got, poisson)
	}
	for _, c := range []struct {
		p    Params
		n    uint64
		want float64
	}{
		{best, 0, 0},
		{best, 2, 0},         // 14 probes cannot make a 15
		{best, 1 << 60, 1e9}, // far overfull
		{Params{Shape: Counting, M: 1, K: 5, CounterBits: 4}, 2, 0},
		{Params{Shape: Counting, M: 1, K: 5, CounterBits: 4}, 3, 1},
		{Params{Shape: Counting, M: 2, K: 15, CounterBits: 4}, 1, 2 * 0x1p-15},
		{Params{Shape: Counting, M: 2, K: 16, CounterBits: 4}, 1, 2 * 17 * 0x1p-16},
		{Params{Shape: Classic, M: 100, K: 7}, 1e6, 0},
	} {
		if got := c.p.StuckCounters(c.n); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%+v with %d keys: %v stuck counters, want %v", c.p, c.n, got, c.want)
		}
	}
}

// On both sides of the mean, the tail agrees with throwing probes.
func TestStuckCountersBySimulation(t *testing.T) {
	const m, k = 400, 4
	rng := rand.New(rand.NewPCG(11, 12))
	cases := []int{500, 1000, 1490, 1700, 2500}
	limit := sigmas(len(cases))
	for _, n := range cases {
		var stuck sample
		for range 200 {
			var counts [m]int
			for range n * k {
				counts[rng.IntN(m)]++
			}
			top := 0
			for _, c := range counts {
				if c >= 15 {
					top++
				}
			}
			stuck.add(float64(top))
		}
		want := Params{Shape: Counting, M: m, K: k, CounterBits: 4}.StuckCounters(uint64(n))
		if math.Abs(stuck.mean()-want) > limit*stuck.stdErr() {
			t.Errorf("%d keys: %.3f ± %.2g stuck counters, formula %.3f", n, stuck.mean(), stuck.stdErr(), want)
		}
	}
	for _, bits := range []int{8, 16} {
		p := Params{Shape: Counting, M: 100, K: 1, CounterBits: bits}
		top := uint64(1)<<bits - 1
		// The mean is the top: about half of the counters are there.
		if got := p.StuckCounters(100 * top); got < 50 || got > 53 {
			t.Errorf("%d bits: %v of 100 counters stuck at a mean of %d", bits, got, top)
		}
	}
}
