package store

import (
	"fmt"
	"math"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func testKeys(prefix string, n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "%s-%d", prefix, i)
	}
	return keys
}

func TestAddHas(t *testing.T) {
	s, err := Open("/d", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f, _, err := s.CreateBloom([]byte("a"), BloomConfig{ErrorRate: 0.001, Capacity: 100, Expansion: 2})
	if err != nil {
		t.Fatal(err)
	}
	if rate := f.Info().ErrorRateNow; rate != 0 || math.Signbit(rate) {
		t.Errorf("error rate of an empty filter: %v, want 0", rate) // not -0, which JSON would show
	}
	keys := testKeys("k", 10000)
	added := make([]bool, len(keys))
	done, _, err := f.Add(added, keys)
	if err != nil || done != len(keys) {
		t.Fatal(done, err)
	}
	n := 0
	for _, a := range added {
		if a {
			n++
		}
	}
	if uint64(n) != f.Info().Added || n < 9900 {
		t.Fatal(n, f.Info())
	}
	found := make([]bool, len(keys))
	f.Has(found, keys)
	for i := range found {
		if !found[i] {
			t.Fatal(i)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		s.Get([]byte("a")).(*Bloom).Has(found[:4096], keys[:4096])
	}); n != 0 {
		t.Fatal(n)
	}
}

func TestReopen(t *testing.T) {
	fsys := vfs.NewCrashableMem()
	s, err := Open("/a/b", Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		name := fmt.Appendf(nil, "f%d", i)
		f, _, err := s.CreateBloom(name, BloomConfig{ErrorRate: 0.001, Capacity: 1000 << (3 * i), Expansion: 2})
		if err != nil {
			t.Fatal(err)
		}
		keys := testKeys("k", 10000)
		_, at, err := f.Add(make([]bool, len(keys)), keys)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			if err := s.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	clone := fsys.CrashClone(vfs.CrashCloneCfg{})
	for range 3 {
		s, err := Open("/a/b", Options{FS: clone})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			f := s.Get(fmt.Appendf(nil, "f%d", i)).(*Bloom)
			keys := testKeys("k", 10000)
			found := make([]bool, len(keys))
			f.Has(found, keys)
			for i := range found {
				if !found[i] {
					t.Fatal(i)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
