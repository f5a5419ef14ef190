package redisbloom

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkRedisBloomHas asks a filter that is larger than the caches and as full as
// one at its capacity, key by key and in batches.
func BenchmarkRedisBloomHas(b *testing.B) {
	f := newFilter(b, Config{Capacity: 100_000_000, ErrorRate: 0.01})
	rng := rand.New(rand.NewPCG(1, 1))
	for _, l := range f.chain() {
		for i := range l.words {
			l.words[i] = rng.Uint64()
		}
	}
	hashes := map[string][]Hash{"absent": make([]Hash, 1_000_000), "present": make([]Hash, 1_000_000)}
	for i := range hashes["absent"] {
		hashes["absent"][i] = Hash{rng.Uint64(), rng.Uint64()}
		h := Hash{rng.Uint64(), rng.Uint64()}
		hashes["present"][i] = h
		f.chain()[0].set(h)
	}
	found := make([]bool, 1000)
	for kind, hs := range hashes {
		b.Run(kind+"/single", func(b *testing.B) {
			for i := range b.N {
				f.HasHash(hs[i%len(hs)])
			}
		})
		b.Run(kind+"/batch", func(b *testing.B) {
			for i := 0; i < b.N; i += len(found) {
				at := i % len(hs)
				f.HasHashes(found, hs[at:at+len(found)])
			}
		})
	}
}
