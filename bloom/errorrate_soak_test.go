//go:build soak && !race

package bloom_test

import "testing"

// The error rates of TestErrorRates at one in a million.
func TestSoakErrorRates(t *testing.T) {
	var types []gridType
	for _, g := range gridTypes() {
		switch g.name {
		case "Classic", "Filter", "Scalable":
			types = append(types, g)
		}
	}
	grid(t, types, 200_000, []float64{1e-6}, func(float64) int { return 100_000_000 })
}
