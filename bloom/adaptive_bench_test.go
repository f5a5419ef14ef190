package bloom_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"seen/bloom"
	"seen/internal/filtertest"
)

// crawl is the stream of hashes of a crawl: 20 million, of which 5 million are
// distinct, with repetitions by Zipf's law over those seen so far.
var crawl = sync.OnceValue(func() []uint64 {
	const n, distinct = 20_000_000, 5_000_000
	r := rand.New(rand.NewPCG(1, 2))
	hs := make([]uint64, 0, n)
	known := make([]uint64, 0, distinct)
	for i := range n {
		x := float64(i) / n
		if float64(len(known)) <= distinct*x*(3-x)/2 {
			known = append(known, r.Uint64())
			hs = append(hs, known[len(known)-1])
			continue
		}
		rank := int(math.Exp(r.Float64() * math.Log(float64(len(known)))))
		hs = append(hs, known[min(rank, len(known))-1])
	}
	return hs
})

// BenchmarkAddHashes adds the crawl in batches, as the stream pipeline does.
func BenchmarkAddHashes(b *testing.B) {
	const p = 1e-6
	for _, c := range []struct {
		name string
		new  func() bloom.Set
	}{
		{"sized", func() bloom.Set { return must(bloom.New(bloom.Config{Capacity: 5_000_000, ErrorRate: p})) }},
		{"exact", func() bloom.Set { return must(bloom.NewAdaptive(bloom.AdaptiveConfig{})) }},
		{"switching", func() bloom.Set {
			return must(bloom.NewAdaptive(bloom.AdaptiveConfig{MaxBytes: 32 << 20, ErrorRate: p}))
		}},
		{"scalable", func() bloom.Set {
			return must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 100_000, ErrorRate: p}))
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			hs := crawl()
			added := make([]bool, 4096)
			b.ResetTimer()
			var st bloom.Stats
			for b.Loop() {
				f := c.new()
				for rest := hs; len(rest) > 0; {
					m := min(len(added), len(rest))
					f.AddHashes(added[:m], rest[:m])
					rest = rest[m:]
				}
				b.StopTimer()
				st = f.Stats()
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(len(hs)), "ns/hash")
			b.ReportMetric(float64(st.Bytes)/float64(st.Added), "B/key")
		})
	}
}

// BenchmarkStatic builds a static filter and asks it, half of the keys absent.
func BenchmarkStatic(b *testing.B) {
	const n = 5_000_000
	hs := filtertest.RandomHashes(1, n)
	c := bloom.StaticConfig{Bits: 16, Hashes: hs}
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			must(bloom.NewStatic(c))
		}
		b.ReportMetric(float64(b.Elapsed())/float64(b.N)/n, "ns/key")
	})
	f := must(bloom.NewStatic(c))
	asks := append(filtertest.RandomHashes(2, n), hs...)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(asks), func(i, j int) { asks[i], asks[j] = asks[j], asks[i] })
	b.Run("has", func(b *testing.B) {
		for b.Loop() {
			f.HasHashes(nil, asks)
		}
		b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(len(asks)), "ns/key")
		b.ReportMetric(f.BitsPerKey(), "bits/key")
	})
}
