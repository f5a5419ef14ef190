package bloom_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"seen/bloom"
	"seen/internal/filtertest"
)

// BenchmarkSharedAdd adds new keys from one and two goroutines, in batches, one
// hash at a time and one key at a time, beside a Filter.
func BenchmarkSharedAdd(b *testing.B) {
	for _, n := range []int{100_000, 10_000_000} {
		hs := filtertest.RandomHashes(1, n)
		keys := make([][]byte, n)
		for i, h := range hs {
			keys[i] = binary.LittleEndian.AppendUint64(make([]byte, 0, 16), h)[:16]
		}
		for _, p := range []float64{0.01, 1e-4, 1e-9} { // one to three lines
			c := bloom.Config{Capacity: uint64(n), ErrorRate: p}
			shared, blocked := must(bloom.NewShared(c)), must(bloom.New(c))
			for _, use := range []struct {
				name  string
				clear func()
				add   func(from, to int)
			}{
				{"batch", shared.Clear, func(from, to int) {
					for ; from < to; from += 1024 {
						shared.AddHashes(nil, hs[from:min(from+1024, to)])
					}
				}},
				{"hash", shared.Clear, func(from, to int) {
					for _, h := range hs[from:to] {
						shared.AddHash(h)
					}
				}},
				{"key", shared.Clear, func(from, to int) {
					for _, key := range keys[from:to] {
						shared.Add(key)
					}
				}},
				{"blocked batch", blocked.Clear, func(from, to int) {
					for ; from < to; from += 1024 {
						blocked.AddHashes(nil, hs[from:min(from+1024, to)])
					}
				}},
				{"blocked key", blocked.Clear, func(from, to int) {
					for _, key := range keys[from:to] {
						blocked.Add(key)
					}
				}},
			} {
				for goroutines := 1; goroutines <= 2; goroutines++ {
					if use.name[0] == 'b' && use.name != "batch" && goroutines > 1 {
						continue
					}
					b.Run(fmt.Sprintf("n=%d/lines=%d/%s/x%d", n, shared.Params().Lines, use.name, goroutines), func(b *testing.B) {
						for b.Loop() {
							b.StopTimer()
							use.clear()
							b.StartTimer()
							inParallel(goroutines, func(g int) { use.add(g*n/goroutines, (g+1)*n/goroutines) })
						}
						b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
					})
				}
			}
			shared.Release()
			blocked.Release()
		}
	}
}
