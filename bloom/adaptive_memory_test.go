package bloom

import (
	"math/rand/v2"
	"runtime"
	"testing"
)

func newAdaptive(t *testing.T, c AdaptiveConfig) *Adaptive {
	t.Helper()
	a, err := NewAdaptive(c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestAdaptiveBudget follows the memory of sets of all sizes up to and through the
// switch, when set and filter are there together.
func TestAdaptiveBudget(t *testing.T) {
	for budget := uint64(leastBudget); budget < 12<<20; budget = budget*3 + 1234 {
		for _, p := range []float64{0.1, 1e-6, 1e-9} {
			a := newAdaptive(t, AdaptiveConfig{MaxBytes: budget, ErrorRate: p})
			r := rand.New(rand.NewPCG(budget, 1))
			var before, n uint64
			set := a.set
			for !a.Switched() {
				before = a.set.bytes()
				h := r.Uint64()
				if _, done := a.set.add(h); !done {
					if a.room(h) {
						// The former slots are still there while the new ones are filled.
						before += a.set.growth(h)
					}
					if !a.AddHash(h) {
						continue // the filter takes it for seen
					}
				}
				if n++; before > budget {
					t.Fatalf("budget %d, p = %g: %d bytes for %d keys", budget, p, before, n)
				}
			}
			for i := range set.segments {
				if set.segments[i].lines != nil {
					t.Fatalf("budget %d, p = %g: segment %d is still there after the switch", budget, p, i)
				}
			}
			both := before + a.filter.layers[0].params.Bytes()
			// Small sets have one segment, and growing it takes 2.4 times its memory.
			least := budget / 4
			if budget > 4<<20 {
				least = budget * 9 / 10
			}
			if both > budget || both < least {
				t.Errorf("budget %d, p = %g: set and filter take %d bytes for %d keys when one becomes the other", budget, p, both, n)
			}
			if first := a.filter.layers[0]; first.capacity != first.added || a.Added() != n {
				t.Errorf("budget %d, p = %g: the first layer has %d keys of %d, %d were added", budget, p, first.added, first.capacity, n)
			}
		}
	}
}

// TestAdaptiveHeap compares the accounts with those of the garbage collector.
func TestAdaptiveHeap(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // the first one may only empty pools
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const n, leeway = 1_000_000, 1 << 20
	start := heap()
	a := newAdaptive(t, AdaptiveConfig{ErrorRate: 1e-6})
	r := rand.New(rand.NewPCG(1, 1))
	for range n {
		a.AddHash(r.Uint64())
	}
	if got := heap() - start; got > 14*n || got > int64(a.Stats().Bytes)+leeway {
		t.Errorf("the heap holds %d bytes for %d keys, the set says %d", got, n, a.Stats().Bytes)
	}
	if err := a.SetLimits(leastBudget, 0, false); err != nil {
		t.Fatal(err)
	}
	for !a.Switched() {
		a.AddHash(r.Uint64())
	}
	if got := heap() - start; got > int64(a.Stats().Bytes)+leeway {
		t.Errorf("the heap holds %d bytes after the switch, the filter says %d", got, a.Stats().Bytes)
	}
	runtime.KeepAlive(a)
}

// TestAdaptiveDrains checks that the switch gives up the set as it goes.
func TestAdaptiveDrains(t *testing.T) {
	set := newFingerprints(nil)
	r := rand.New(rand.NewPCG(2, 2))
	for range 200_000 {
		set.addAll(r.Uint64())
	}
	largest, drained := 0, 0
	for i := range set.segments {
		largest = max(largest, set.segments[i].n())
	}
	left := func() (n int) {
		for i := range set.segments {
			n += set.segments[i].n()
		}
		return n
	}
	for hs := range set.batches(true) {
		drained += len(hs)
		if most := 200_000 - drained + largest; left() > most {
			t.Fatalf("%d hashes are left after %d, want at most %d", left(), drained, most)
		}
	}
	if drained != 200_000 || left() != 0 {
		t.Errorf("%d hashes were drained, %d are left", drained, left())
	}
}

// TestAdaptiveWithoutFilter makes the switch impossible, which configurations do
// not allow: the set must stay and say so.
func TestAdaptiveWithoutFilter(t *testing.T) {
	a := newAdaptive(t, AdaptiveConfig{MaxBytes: leastBudget, ErrorRate: 0.01})
	a.config.ErrorRate = 1e-19
	r := rand.New(rand.NewPCG(3, 3))
	for n := range 2000 {
		if isNew, err := a.TryAddHash(r.Uint64()); !isNew || err != nil {
			t.Fatalf("key %d: new %v, error %v", n, isNew, err)
		}
	}
	if a.Switched() || a.Err() == nil || a.Added() != 2000 {
		t.Errorf("switched %v, Err %v, %d keys", a.Switched(), a.Err(), a.Added())
	}
}
