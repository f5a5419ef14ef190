package cluster

import (
	"fmt"
	"testing"

	"seen/internal/filtertest"
)

// BenchmarkAdd adds keys in batches, all new or four of five seen, to a filter on a
// single server.
func BenchmarkAdd(b *testing.B) {
	for _, batch := range []int{1, 100, 1000} {
		for _, seen := range []int{0, 80} {
			b.Run(fmt.Sprintf("batch=%d/seen=%d%%", batch, seen), func(b *testing.B) {
				f := open(b, engines[0].dial(b), Config{Capacity: 10_000_000, ErrorRate: 0.01})
				next := uint64(0)
				hs := make([]uint64, batch)
				old := filtertest.RandomHashes(1, 1000)
				if _, err := f.AddHashes(b.Context(), old); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					for i := range hs {
						next++
						hs[i] = next * 0x9e3779b97f4a7c15
						if int(next%100) < seen {
							hs[i] = old[next%1000]
						}
					}
					if _, err := f.AddHashes(b.Context(), hs); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/key")
			})
		}
	}
}
