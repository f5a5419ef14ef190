package sketch

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"seen/internal/filtertest"
	"seen/sizing"
)

// The numbers of keys that sketches estimate, and the standard errors that they claim,
// are right from a few keys to many.
func TestCardinalityCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	random := rand.New(rand.NewPCG(41, 1))
	check := func(cell string, keys int, make func() (cardinal, error)) {
		t.Helper()
		var covered filtertest.Coverage
		for range filtertest.CoverageTrials {
			s, err := make()
			if err != nil {
				t.Fatal(err)
			}
			for range keys {
				s.AddHash(random.Uint64())
			}
			n := s.Cardinality()
			covered.Add(t, cell, sizing.Estimate{Value: n, StdErr: n * s.StdErr()}, float64(keys))
		}
		covered.Check(t, cell)
	}
	for _, precision := range []int{8, 10, 12} {
		registers := 1 << precision
		for _, keys := range []int{10, registers / 8, registers / 2, registers, 2 * registers, 3 * registers, 5 * registers, 20 * registers} {
			check(fmt.Sprintf("HyperLogLog of precision %d with %d keys", precision, keys), keys, func() (cardinal, error) {
				return NewHyperLogLog(HyperLogLogConfig{Precision: precision})
			})
		}
	}
	for _, maps := range []int{64, 256} {
		for _, keys := range []int{maps / 4, maps, 2 * maps, 4 * maps, 7 * maps, 9 * maps, 16 * maps, 100 * maps} {
			check(fmt.Sprintf("Flajolet-Martin of %d maps with %d keys", maps, keys), keys, func() (cardinal, error) {
				return NewFlajoletMartin(FlajoletMartinConfig{Maps: maps})
			})
		}
	}
}

// cardinal is a sketch that tells a number of keys.
type cardinal interface {
	AddHash(h uint64) bool
	Cardinality() float64
	StdErr() float64
}
