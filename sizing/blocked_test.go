package sizing

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

const bigPrecision = 600

// bigLineRate evaluates the alternating sum for one line with so many digits that
// its cancellation does not matter.
func bigLineRate(lanes int, regionLines, n uint64) float64 {
	sum := new(big.Float).SetPrec(bigPrecision)
	for i := 0; i <= lanes; i++ {
		// q: a key in the line misses all of i targets
		q := new(big.Rat)
		for c := 0; c <= min(i, lanes); c++ {
			ways := new(big.Int).Mul(new(big.Int).Binomial(int64(i), int64(c)), new(big.Int).Binomial(int64(8-i), int64(lanes-c)))
			term := new(big.Rat).SetFrac(ways, new(big.Int).Binomial(8, int64(lanes)))
			for range c {
				term.Mul(term, big.NewRat(63, 64))
			}
			q.Add(q, term)
		}
		// 1 - (1-q)/regionLines
		miss := new(big.Rat).Sub(big.NewRat(1, 1), q)
		miss.Quo(miss, new(big.Rat).SetInt(new(big.Int).SetUint64(regionLines)))
		miss.Sub(big.NewRat(1, 1), miss)
		term := bigPower(new(big.Float).SetPrec(bigPrecision).SetRat(miss), n)
		term.Mul(term, new(big.Float).SetInt(new(big.Int).Binomial(int64(lanes), int64(i))))
		if i%2 == 0 {
			sum.Add(sum, term)
		} else {
			sum.Sub(sum, term)
		}
	}
	r, _ := sum.Float64()
	return r
}

func bigPower(x *big.Float, n uint64) *big.Float {
	r := new(big.Float).SetPrec(bigPrecision).SetInt64(1)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			r.Mul(r, x)
		}
		x = new(big.Float).SetPrec(bigPrecision).Mul(x, x)
	}
	return r
}

func TestLineRateAgainstBigFloat(t *testing.T) {
	worst := 0.0
	for lanes := 1; lanes <= MaxLanes; lanes++ {
		for _, regionLines := range []uint64{1, 2, 3, 5, 64, 1e4, 1e7, 1 << 40} {
			for _, load := range []float64{1e-6, 1e-3, 0.1, 0.5, 1, 3, 7, 12, 20, 28, 40, 70, 150, 500} {
				n := uint64(math.Round(load * float64(regionLines)))
				if n == 0 {
					continue
				}
				got, want := lineRate(lanes, regionLines, n), bigLineRate(lanes, regionLines, n)
				off := math.Abs(got/want - 1)
				worst = max(worst, off)
				if !(off < 1e-9) {
					t.Errorf("%d lanes, %d lines, %d keys: %.12g, want %.12g", lanes, regionLines, n, got, want)
				}
			}
		}
	}
	t.Logf("worst relative error %.2g", worst)
}

// The two ways to sum must agree where either could be taken, or the rate would
// jump at the seam.
func TestLineSumsAgree(t *testing.T) {
	for lanes := 1; lanes <= MaxLanes; lanes++ {
		for _, regionLines := range []uint64{1, 2, 7, 1000} {
			for _, perLine := range []uint64{1, 2, 8, 16, 30, 60, 200} {
				n := perLine * regionLines
				got, want := lineRateSum(lanes, regionLines, n), bigLineRate(lanes, regionLines, n)
				if math.Abs(got/want-1) > 1e-12 {
					t.Errorf("%d lanes, %d lines, %d keys: positive sum %.15g, exact %.15g", lanes, regionLines, n, got, want)
				}
			}
		}
	}
}

// TestBlockedRateBySimulation throws keys into filters of all layouts, down to
// those with a single line, where a Poisson load would be far off.
func TestBlockedRateBySimulation(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	type cell struct {
		p Params
		n int
	}
	var cells []cell
	for lines := 1; lines <= MaxLines; lines++ {
		for lanes := 1; lanes <= MaxLanes; lanes++ {
			for _, regionLines := range []uint64{1, 2, 5, 16} {
				// about 5/8 of the probes' optimum, and twice that
				for _, perLine := range []int{220 / lanes, 440 / lanes} {
					cells = append(cells, cell{blockedParams(lines, lanes, regionLines), perLine * int(regionLines)})
				}
			}
		}
	}
	limit := sigmas(2 * len(cells))
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range cells {
		var rate, fill sample
		for range max(60, 20000/c.n) {
			f := newSim(c.p, rng)
			f.add(c.n)
			rate.add(f.conditionalRate())
			fill.add(float64(f.ones()) / float64(c.p.M))
		}
		want := c.p.ErrorRate(uint64(c.n))
		if off := math.Abs(rate.mean() - want); off > limit*rate.stdErr() {
			t.Errorf("%+v with %d keys: measured rate %.5g ± %.2g, formula %.5g", c.p, c.n, rate.mean(), rate.stdErr(), want)
		}
		want = c.p.FillRatio(uint64(c.n))
		if off := math.Abs(fill.mean() - want); off > limit*fill.stdErr()+1e-12 {
			t.Errorf("%+v with %d keys: measured fill %.6g ± %.2g, formula %.6g", c.p, c.n, fill.mean(), fill.stdErr(), want)
		}
	}
}

// TestRateByProbing asks for absent keys one by one, as a user would meet them.
func TestRateByProbing(t *testing.T) {
	cells := []struct {
		p Params
		n int
	}{
		{blockedParams(1, 8, 3), 120},
		{blockedParams(1, 3, 40), 4000},
		{blockedParams(2, 4, 1), 80},
		{blockedParams(2, 6, 20), 1500},
		{blockedParams(3, 2, 4), 400},
		{Params{Shape: Classic, M: 100, K: 3}, 20},
		{Params{Shape: Classic, M: 5000, K: 4}, 900},
		{Params{Shape: Partitioned, M: 99, K: 3}, 20},
		{Params{Shape: Partitioned, M: 5000, K: 4}, 900},
	}
	limit := sigmas(len(cells))
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range cells {
		var found sample // per filter: the filters differ from each other
		for range 100 {
			f := newSim(c.p, rng)
			f.add(c.n)
			var buf [MaxProbes]uint64
			hits := 0
			for range 2000 {
				if f.has(f.draw(buf[:0])) {
					hits++
				}
			}
			found.add(float64(hits) / 2000)
		}
		want := c.p.ErrorRate(uint64(c.n))
		if math.Abs(found.mean()-want) > limit*found.stdErr() {
			t.Errorf("%+v with %d keys: measured %.5g ± %.2g, formula %.5g", c.p, c.n, found.mean(), found.stdErr(), want)
		}
	}
}
