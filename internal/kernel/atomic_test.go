package kernel

import (
	"runtime"
	"sync/atomic"
	"testing"

	"seen/internal/keyhash"
)

// The atomic functions must do what the plain ones do, for every layout, both in
// plain Go and as they are chosen.
func TestAtomicEqualsModel(t *testing.T) {
	for name, impl := range map[string]tested{
		"reference": {
			"", Layout.addAtomicRef, Layout.hasAtomicRef,
			func(l Layout, words []uint64, added []bool, hs []uint64) int {
				return l.batchAtomicRef(l.addAtomicRef, words, added, hs)
			},
			func(l Layout, words []uint64, found []bool, hs []uint64) int {
				return l.batchAtomicRef(l.hasAtomicRef, words, found, hs)
			},
		},
		"chosen": {
			"",
			func(l Layout, words []uint64, h uint64) bool {
				p := l.PrepareAtomic(words, keyhash.Hash{})
				return p.AddHash(h)
			},
			func(l Layout, words []uint64, h uint64) bool {
				p := l.PrepareAtomic(words, keyhash.Hash{})
				return p.HasHash(h)
			},
			Layout.AddBatchAtomic, Layout.HasBatchAtomic,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for lines := 1; lines <= 3; lines++ {
				for lanes := 1; lanes <= LineWords; lanes++ {
					for _, regionLines := range []uint64{1, 50} {
						checkAgainstModel(t, Layout{regionLines, lines, lanes}, impl.add, impl.has, impl.addBatch, impl.hasBatch)
					}
				}
			}
		})
	}
}

// A lock that is given up by Release must keep what was written under it together:
// who takes it next sees all of that.
func TestRelease(t *testing.T) {
	const goroutines, rounds = 4, 20_000
	var lock uint64
	var cells [2]uint64
	done := make(chan bool)
	for range goroutines {
		go func() {
			defer func() { done <- true }()
			for range rounds {
				for !atomic.CompareAndSwapUint64(&lock, 0, 1) {
					runtime.Gosched()
				}
				a, b := atomic.LoadUint64(&cells[0]), atomic.LoadUint64(&cells[1])
				if a != b {
					t.Errorf("under the lock the cells are %d and %d", a, b)
				}
				Release(&cells[0], a+1)
				Release(&cells[1], b+1)
				Release(&lock, 0)
			}
		}()
	}
	for range goroutines {
		<-done
	}
	if cells != [2]uint64{goroutines * rounds, goroutines * rounds} {
		t.Errorf("%d rounds made the cells %v", goroutines*rounds, cells)
	}
}
