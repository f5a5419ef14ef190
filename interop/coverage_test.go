package interop

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"seen/internal/filtertest"
)

// The estimated number of keys of a filter of another system, and the standard error that
// it claims, are right: for filters that are nearly empty, full, overfull and grown.
func TestCardinalityCoverage(t *testing.T) {
	arrays := []float64{0.1, 0.5, 1, 3}
	for _, c := range []struct {
		spec  string
		loads []float64 // keys relative to the capacity
	}{
		{"bits-and-blooms", arrays},
		{"dcso", arrays},
		{"guava:funnel=long", arrays},
		{"spark:type=long", arrays},
		{"parquet:type=int64", arrays},
		{"redisbloom", []float64{0.1, 1, 4, 20}},
		{"pyprobables", arrays},
		{"pyprobables:type=expanding", []float64{0.1, 1, 4}},
		{"pyprobables:type=counting", arrays},
		{"npm-bloom-filters", arrays},
		{"bitarray:gen=sha1", arrays},
		{"rocksdb", arrays},
	} {
		t.Run(c.spec, func(t *testing.T) {
			t.Parallel()
			spec, err := ParseSpec(c.spec)
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(31, 1))
			for _, p := range []float64{0.1, 0.01, 1e-4} {
				for _, load := range c.loads {
					const n = 1000
					cell := fmt.Sprintf("%s for %d keys at %v with %v of that", c.spec, n, p, load)
					var covered filtertest.Coverage
					keys := int(math.Ceil(load * n))
					for range filtertest.CoverageTrials {
						f, err := Create(spec, n, p)
						if err != nil {
							t.Fatal(err)
						}
						for range keys {
							var key []byte
							if f.KeyKind() == KeyInt64 {
								key = Int64Key(int64(random.Uint64()))
							} else {
								key = fmt.Appendf(key, "%016x", random.Uint64())
							}
							if _, err := f.(Adder).Add(key); err != nil {
								t.Fatal(err)
							}
						}
						covered.Add(t, cell, f.Stats().Cardinality, float64(keys))
					}
					covered.Check(t, cell)
				}
			}
		})
	}
}
