package cli

import (
	"math"
	"testing"

	"seen/internal/filtertest"
	"seen/sizing"
	"seen/sketch"
)

// sigmas is how many standard errors an estimate may be off: by chance more than
// that happens once in 16,000. The tests look at less than 100, with fixed keys.
const sigmas = 4

// The estimate of count is as good as it says.
func TestCountAgainstTruth(t *testing.T) {
	for _, n := range []int{0, 100, 8192, 8193, 300_000} {
		s, err := sketch.NewHyperLogLog(sketch.HyperLogLogConfig{Precision: defaultPrecision})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range filtertest.RandomHashes(7, n) {
			s.AddHash(h)
		}
		e := distinct(s)
		if n <= 8192 && e != (sizing.Estimate{Value: float64(n)}) {
			t.Errorf("%d keys are counted as %v", n, e)
		}
		if math.Abs(e.Value-float64(n)) > sigmas*e.StdErr || e.StdErr > 0.005*float64(n) {
			t.Errorf("%d keys are estimated as %v", n, e)
		}
	}
}
