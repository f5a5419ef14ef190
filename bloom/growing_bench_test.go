package bloom_test

import (
	"fmt"
	"testing"
	"time"

	"seen/bloom"
	"seen/internal/filtertest"
)

// Batches of the filters that ask several arrays, beside a Filter that is large
// enough from the start.
func BenchmarkGrowing(b *testing.B) {
	const p = 1e-3
	for _, n := range []int{100_000, 5_000_000} {
		hs := filtertest.RandomHashes(1, n)
		absent := filtertest.RandomHashes(2, n)
		for name, f := range map[string]func() bloom.Set{
			"Filter": func() bloom.Set {
				return must(bloom.New(bloom.Config{Capacity: uint64(n), ErrorRate: p}))
			},
			"Scalable": func() bloom.Set { // four layers
				return must(bloom.NewScalable(bloom.ScalableConfig{Capacity: uint64(n) / 12, ErrorRate: p}))
			},
			"Window": func() bloom.Set { // seven generations
				return must(bloom.NewWindow(bloom.WindowConfig{SpanKeys: uint64(n), ErrorRate: p}))
			},
			"WindowByTime": func() bloom.Set { // one generation, of four layers
				return must(bloom.NewWindow(bloom.WindowConfig{Span: 1e6 * time.Hour, Capacity: uint64(n) * 7 / 12, ErrorRate: p}))
			},
		} {
			s := f()
			for use, call := range map[string]func(hs []uint64){
				"Add":      func(hs []uint64) { s.AddHashes(nil, hs) },
				"AddAgain": func(hs []uint64) { s.AddHashes(nil, hs) },
				"Has":      func(hs []uint64) { s.HasHashes(nil, hs) },
				"HasNot":   func([]uint64) { s.HasHashes(nil, absent) },
			} {
				b.Run(fmt.Sprintf("%s/%s/n=%d", name, use, n), func(b *testing.B) {
					s.Clear()
					s.AddHashes(nil, hs)
					for b.Loop() {
						if use == "Add" {
							b.StopTimer()
							s.Clear()
							b.StartTimer()
						}
						call(hs)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
				})
			}
		}
	}
}
