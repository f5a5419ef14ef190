//go:build soak

package bloom_test

import (
	"testing"

	"seen/internal/filtertest"
)

func TestSoakCardinalityCoverage(t *testing.T) {
	rates := []float64{0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6}
	testCoverage(t, filtertest.CoverageTrials, []uint64{3000, 10_000}, rates)
	testCoverage(t, filtertest.CoverageTrials, []uint64{100_000}, []float64{0.01, 1e-6})
}
