package store

import (
	"context"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A filter that begins with keys is never seen without them, cannot be deleted
// before, and is after a crash there with them or not at all.
func TestCreateWithKeys(t *testing.T) {
	for _, layout := range []Layout{LayoutSeen, LayoutRedisBloom} {
		t.Run(layout.String(), func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			s, err := Open("data", Options{FS: fs})
			if err != nil {
				t.Fatal(err)
			}
			name, keys := []byte("new"), [][]byte{[]byte("a"), []byte("b"), []byte("a")}
			added := make([]bool, len(keys))
			var last LSN
			first := func(f Filter) {
				if s.Get(name) != nil {
					t.Error("the filter is seen before it has its keys")
				}
				var done int
				if done, last, err = f.Add(added, keys); done != len(keys) || err != nil {
					t.Errorf("%d keys were added: %v", done, err)
				}
			}
			f, at, err := s.CreateBloomWith(name, BloomConfig{ErrorRate: 0.01, Capacity: 2, Expansion: 2, Layout: layout}, first)
			if err != nil || at == 0 || last <= at || f.LSN() != last {
				t.Fatalf("made at %d, keys at %d, LSN %d: %v", at, last, f.LSN(), err)
			}
			if !added[0] || !added[1] || added[2] {
				t.Errorf("answers %v", added)
			}
			if _, _, err := s.CreateBloomWith(name, BloomConfig{ErrorRate: 0.01, Capacity: 2}, func(Filter) { t.Error("called for a name that is taken") }); !errors.Is(err, ErrExists) {
				t.Errorf("a second one: %v", err)
			}
			if _, _, err := s.CreateCuckooWith([]byte("cuckoo"), CuckooConfig{Capacity: 100, BucketSize: 2, MaxIterations: 20, Expansion: 1, MaxFilters: 8, Layout: layout}, func(c *Cuckoo) {
				if s.Get([]byte("cuckoo")) != nil {
					t.Error("the cuckoo filter is seen before it has its keys")
				}
				last, err = c.Add(keys, func(int, error) {})
			}); err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(context.Background(), last); err != nil {
				t.Fatal(err)
			}
			crashed := fs.CrashClone(vfs.CrashCloneCfg{})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err = Open("data", Options{FS: crashed}); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			found := make([]bool, len(keys))
			if s.Get(name).(Filter).Has(found, keys); !found[0] || !found[1] {
				t.Errorf("after a crash: %v", found)
			}
			if n, _ := s.Get([]byte("cuckoo")).(*Cuckoo).Count([]byte("a")); n != 2 {
				t.Errorf("after a crash the cuckoo filter has %d copies", n)
			}
		})
	}
}
