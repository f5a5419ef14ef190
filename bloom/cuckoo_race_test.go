package bloom_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"seen/bloom"
	"seen/internal/filtertest"
)

// TestCuckooReadersMissNothing asks for keys that are in the filter all the time,
// while one goroutine fills the tables up to the last slot and empties them again, so
// that fingerprints are moved in and between tables without a break. The keys are
// found always, and counted as often as they were added: the fingerprints of the
// others are not theirs.
func TestCuckooReadersMissNothing(t *testing.T) {
	for _, c := range []bloom.CuckooConfig{
		{Capacity: 64, BucketSize: 2, MaxIterations: 50},
		{Capacity: 64, BucketSize: 1, MaxIterations: 50, Expansion: 2, MaxFilters: 4},
		{Capacity: 64, BucketSize: 4, MaxIterations: 200, Expansion: 1, MaxFilters: 4},
		{Capacity: 3, BucketSize: 3, MaxIterations: 20, Expansion: 1, MaxFilters: 8},
	} {
		f := newCuckoo(c)
		var kept, others []uint64
		for _, h := range filtertest.RandomHashes(5, 40_000) {
			switch fp := h % 255; {
			case fp >= 8:
				others = append(others, h)
			case len(kept) < int(c.Capacity)/4+1 && f.CountHash(h) == 0 && f.AddHash(h) == nil:
				kept = append(kept, h)
				// A second copy, so that counts have something to miss.
				if f.AddHash(h) != nil {
					f.RemoveHash(h)
					kept = kept[:len(kept)-1]
				}
			}
		}
		if len(kept) == 0 {
			t.Fatalf("%+v: nothing was added", c)
		}
		counts := make([]uint64, len(kept))
		for i, h := range kept {
			counts[i] = f.CountHash(h)
		}
		var stop atomic.Bool
		var asked atomic.Int64
		var wg sync.WaitGroup
		for r := range 3 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(r), 1))
				found := make([]bool, 16)
				for n := int64(0); !stop.Load(); n++ {
					i := rng.IntN(len(kept))
					if !f.HasHash(kept[i]) {
						t.Errorf("%+v: key %d is missing", c, i)
						return
					}
					if got := f.CountHash(kept[i]); got != counts[i] {
						t.Errorf("%+v: key %d counts %d, was added %d times", c, i, got, counts[i])
						return
					}
					some := kept[i:min(i+16, len(kept))]
					if f.HasHashes(found[:len(some)], some) != len(some) {
						t.Errorf("%+v: a batch misses a key", c)
						return
					}
					f.Info()
					asked.Add(1)
				}
			})
		}
		rng := rand.New(rand.NewPCG(7, 7))
		moved, before := 0, []byte(nil)
		for round := 0; round < 60 || asked.Load() < 2000 && !t.Failed(); round++ {
			var added []uint64
			for failures := 0; failures < 20; {
				h := others[rng.IntN(len(others))]
				if f.AddHash(h) != nil {
					failures++
					continue
				}
				added = append(added, h)
			}
			if now := tables(f); len(before) != len(now) || string(before) != string(now) {
				moved++
				before = now
			}
			for _, h := range added {
				f.RemoveHash(h)
			}
			if round%3 == 0 {
				f.Compact()
			}
		}
		stop.Store(true)
		wg.Wait()
		if moved == 0 {
			t.Errorf("%+v: nothing was moved", c)
		}
	}
}
