package store

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// makeMany makes n filters for 100 keys with one key each. It lets the log write what they
// add to it, so that its memory does not depend on the speed of the disk.
func makeMany(t *testing.T, s *Store, n int) {
	t.Helper()
	var added [1]bool
	for i := range n {
		f, _, err := s.CreateBloom(fmt.Appendf(nil, "user:%08d", i), BloomConfig{ErrorRate: 0.01, Capacity: 100, Expansion: 2})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.Add(added[:], [][]byte{fmt.Appendf(nil, "key %d", i)}); err != nil || !added[0] {
			t.Fatal(added, err)
		}
		if i%1000 == 999 {
			if err := s.flush(t.Context(), s.Last()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// checkMany looks for the filters of makeMany, and for their keys.
func checkMany(t *testing.T, s *Store, n int) {
	t.Helper()
	if s.Len() != n {
		t.Fatalf("%d filters of %d", s.Len(), n)
	}
	var found [1]bool
	for i := range n {
		f, ok := s.Get(fmt.Appendf(nil, "user:%08d", i)).(Filter)
		if !ok {
			t.Fatalf("filter %d is gone", i)
		}
		if f.Has(found[:], [][]byte{fmt.Appendf(nil, "key %d", i)}); !found[0] {
			t.Fatalf("the key of filter %d is gone", i)
		}
	}
}

// heap returns the bytes that are in use, without those of the database, for which it waits
// until nothing runs in the background.
func heap(t *testing.T, s *Store) int64 {
	t.Helper()
	if err := s.flush(t.Context(), s.Last()); err != nil {
		t.Fatal(err)
	}
	db := s.db.Load().db
	for range 1000 {
		before := db.Metrics()
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		after := db.Metrics()
		tables, cached := after.MemTable, after.BlockCache.Size
		if tables == before.MemTable && cached == before.BlockCache.Size && after.Flush.NumInProgress == 0 && after.Compact.NumInProgress == 0 {
			return int64(m.HeapAlloc-tables.Size-tables.ZombieSize) - cached
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the database does not come to rest")
	return 0
}

// A small filter takes little memory beside its bits, no more than is charged for it,
// and no file; checkpoints and starts take them some at a time.
func TestManySmallFilters(t *testing.T) {
	const n, most = 50_000, 450
	dir := t.TempDir()
	o := Options{Fsync: Never, hooks: hooks{roundBytes: 64 << 10}}
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	makeMany(t, s, 1000) // what comes with the first
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, charged := heap(t, s), int64(s.Memory())
	makeMany(t, s, n)
	if runtime.GOARCH == "amd64" {
		bits := int64(s.Get([]byte("user:00000000")).(Filter).Info().Layers[0].Bytes)
		each := (heap(t, s) - before) / n
		charged := (int64(s.Memory()) - charged) / n
		if each-bits > most || each > charged {
			t.Errorf("a filter takes %d bytes, of which %d are bits; %d are charged", each, bits, charged)
		}
		t.Logf("%d bytes each, of which %d are bits; %d are charged", each, bits, charged)
	}
	if err := s.Record(); err != nil {
		t.Fatal(err)
	}
	if got := len(s.recorder.notes); got != maxHistories {
		t.Errorf("%d histories are kept, want %d", got, maxHistories)
	}
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if files, err := vfs.Default.List(filepath.Join(dir, "values")); err != nil || len(files) > 0 {
		t.Errorf("%d files, %v", len(files), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, o); err != nil {
		t.Fatal(err)
	}
	checkMany(t, s, n)
}

// Small values that are not used make room for histories of others.
func TestHistoriesOfOthers(t *testing.T) {
	s, err := Open("/d", Options{FS: vfs.NewMem(), Fsync: Never})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	makeMany(t, s, maxHistories)
	record := func() {
		t.Helper()
		if err := s.Record(); err != nil {
			t.Fatal(err)
		}
	}
	samples := func(name string) []Sample {
		t.Helper()
		all, err := s.History(s.Get([]byte(name)), Hour)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	record()
	for name, c := range map[string]BloomConfig{"small": small, "large": {ErrorRate: 0.01, Capacity: 1e6}} {
		if _, _, err := s.CreateBloom([]byte(name), c); err != nil {
			t.Fatal(err)
		}
	}
	var found [1]bool
	ask := func(name string) { s.Get([]byte(name)).(Filter).Has(found[:], [][]byte{[]byte("k")}) }
	ask("small")
	record()
	if len(samples("small")) != 0 || len(samples("large")) != 1 {
		t.Errorf("%d samples of a small filter that is one too many, %d of a large one", len(samples("small")), len(samples("large")))
	}
	for range idleHistories {
		record()
	}
	record() // there is room
	got := samples("small")
	if len(got) != 1 || got[0].Checks != 0 { // when the first came is not known
		t.Errorf("samples %+v of a small filter when there is room", got)
	}
	ask("small")
	record()
	if got := samples("small"); len(got) != 1 || got[0].Checks != 1 {
		t.Errorf("samples %+v of a small filter that was asked once more", got)
	}
}
