package filtertest

import (
	"math"
	"testing"

	"seen/sizing"
)

// Coverage compares estimates with the truth, in units of the standard error that each
// claims.
type Coverage struct {
	n            int
	sum, squares float64
}

const (
	// CoverageTrials is the least number of estimates for the limits of Coverage. Their
	// mean has a standard error of 0.07, and their standard deviation one of 0.05, so
	// that right estimates are at least four of these from the limits.
	CoverageTrials = 200

	mostOff                    = 0.3
	leastDeviation, mostSpread = 0.8, 1.25
	leastErr                   = 1e-6 // of the truth; less is taken for none
)

// Add takes an estimate. One without a standard error must be the truth.
func (c *Coverage) Add(t *testing.T, what string, e sizing.Estimate, truth float64) {
	t.Helper()
	c.n++
	switch {
	case !e.Known() || math.IsNaN(e.StdErr) || e.StdErr < 0:
		t.Fatalf("%s: estimated as %v ± %v, but is %v", what, e.Value, e.StdErr, truth)
	case e.StdErr <= leastErr*truth:
		if e.Value != truth {
			t.Fatalf("%s: estimated as %v without an error, but is %v", what, e.Value, truth)
		}
	default:
		z := (e.Value - truth) / e.StdErr
		c.sum += z
		c.squares += z * z
	}
}

// Check fails the test if the estimates are off by more than 0.3 standard errors on
// average, or if they deviate by less than 0.8 or more than 1.25 of what they claim.
func (c *Coverage) Check(t *testing.T, what string) {
	t.Helper()
	if c.n < CoverageTrials {
		t.Fatalf("%s: %d estimates are too few for the limits", what, c.n)
	}
	if c.squares == 0 {
		return // exact, all of them
	}
	mean := c.sum / float64(c.n)
	deviation := math.Sqrt(c.squares/float64(c.n) - mean*mean)
	if math.Abs(mean) > mostOff {
		t.Errorf("%s: the estimates are off by %.2f standard errors on average", what, mean)
	}
	if deviation < leastDeviation || deviation > mostSpread {
		t.Errorf("%s: the estimates deviate by %.2f of the standard error that they claim", what, deviation)
	}
}
