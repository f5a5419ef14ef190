package bloom_test

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"seen/bloom"
	"seen/internal/filtertest"
	"seen/internal/pages"
)

// TestMemoryOutlivesItsUse drops each filter with its last call, while the garbage
// collector runs all the time: memory outside the heap must not be released before
// the call has ended. What goes wrong here is a fault that ends the process.
func TestMemoryOutlivesItsUse(t *testing.T) {
	var stop atomic.Bool
	defer stop.Store(true)
	go func() {
		for !stop.Load() {
			runtime.GC()
		}
	}()
	hs := filtertest.RandomHashes(1, 5000)
	c := bloom.Config{Capacity: 2_000_000, ErrorRate: 0.01} // 2.4 MB, outside the heap
	b, err := must(bloom.New(c)).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for range 15 {
		must(bloom.NewClassic(c)).AddHashes(nil, hs)
		must(bloom.NewPartitioned(c)).AddHashes(nil, hs)
		must(bloom.NewCounting(c)).AddHashes(nil, hs)
		must(bloom.New(c)).AddHashes(nil, hs)
		must(bloom.New(c)).HasHashes(nil, hs)
		must(bloom.New(c)).AddHash(hs[0])
		must(bloom.New(c)).Add([]byte("a key of some length"))
		must(bloom.New(c)).HasString("a key of some length")
		must(bloom.New(c)).Has(make([]byte, 300))
		must(bloom.New(c)).AddKeys(nil, [][]byte{make([]byte, 10), make([]byte, 300)})
		must(bloom.NewShared(c)).AddHashes(nil, hs)
		must(bloom.NewShared(c)).AddHash(hs[0])
		must(bloom.NewShared(c)).HasHash(hs[0])
		must(bloom.NewCounting(c)).RemoveHash(hs[0])
		must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 2_000_000, ErrorRate: 0.01})).AddHashes(nil, hs)
		must(bloom.New(c)).Clone().Stats()
		must(must(bloom.New(c)).MarshalBinary())
		if err := must(bloom.New(c)).Union(must(bloom.New(c))); err != nil {
			t.Fatal(err)
		}
		if !must(bloom.New(c)).Equal(must(bloom.New(c))) {
			t.Fatal("two empty filters differ")
		}
		must(bloom.Decode(b, bloom.LoadOptions{})).HasHashes(nil, hs)
	}
}

func TestRelease(t *testing.T) {
	before := pages.Live()
	c := bloom.Config{Capacity: 2_000_000, ErrorRate: 0.01}
	f := must(bloom.New(c))
	s := must(bloom.NewScalable(bloom.ScalableConfig{Capacity: 2_000_000, ErrorRate: 0.01}))
	for i := range uint64(3) { // grows a layer
		s.AddHashes(nil, filtertest.RandomHashes(i, 1_000_000))
	}
	if pages.Live() < before+9<<20 {
		t.Skip("arrays are in the heap on this system")
	}
	f.Release()
	f.Release()
	s.Release()
	if live := pages.Live(); live > before {
		t.Errorf("%d bytes are left of filters that were released", live-before)
	}
	defer func() {
		if recover() == nil {
			t.Error("a released filter answers")
		}
	}()
	f.AddHash(1)
}

func TestTooLargeForMemory(t *testing.T) {
	for _, capacity := range []uint64{1e14, 1e16} {
		f, err := bloom.New(bloom.Config{Capacity: capacity, ErrorRate: 0.01})
		if err == nil {
			f.Release()
			t.Fatalf("a filter for %d keys was made", capacity)
		}
		if !strings.HasPrefix(err.Error(), "") {
			t.Errorf("error %v", err)
		}
	}
}
