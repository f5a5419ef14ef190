package sizing

import (
	"fmt"
	"testing"
)

func BenchmarkFor(b *testing.B) {
	for _, s := range allShapes {
		for _, n := range []uint64{10, 1e7} {
			for _, rate := range []float64{1e-2, 1e-6, 1e-11} {
				b.Run(fmt.Sprintf("%v/n=%d/p=%v", s, n, rate), func(b *testing.B) {
					for b.Loop() {
						if _, err := For(s, n, rate); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

func BenchmarkErrorRate(b *testing.B) {
	for _, s := range allShapes {
		for _, n := range []uint64{10, 1e7} {
			for _, rate := range []float64{1e-2, 1e-11} {
				p, err := For(s, n, rate)
				if err != nil {
					b.Fatal(err)
				}
				b.Run(fmt.Sprintf("%v/n=%d/p=%v", s, n, rate), func(b *testing.B) {
					for b.Loop() {
						p.ErrorRate(n)
					}
				})
			}
		}
	}
}
