package store

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Every kind of value counts what it is asked, and goes on counting under another
// name.
func TestTraffic(t *testing.T) {
	s, err := Open("/d", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	keys := testKeys("k", 7)
	asked := append(testKeys("k", 3), []byte("absent"))
	found, counts := make([]bool, 7), make([]uint32, 7)
	filter := func(layout Layout) func(name string) Value {
		return func(name string) Value {
			f, _, err := s.CreateBloom([]byte(name), BloomConfig{ErrorRate: 1e-6, Capacity: 100, Layout: layout})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := f.Add(found, keys); err != nil {
				t.Fatal(err)
			}
			f.Has(found[:4], asked)
			return f
		}
	}
	for name, use := range map[string]func(name string) Value{
		"seen": filter(LayoutSeen), "redisbloom": filter(LayoutRedisBloom),
		"cuckoo": func(name string) Value {
			c, _, err := s.CreateCuckoo([]byte(name), CuckooConfig{Capacity: 10000, MaxFilters: 1})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Add(keys, func(int, error) {}); err != nil {
				t.Fatal(err)
			}
			c.Has(found[:4], asked)
			return c
		},
		"countmin": func(name string) Value {
			c, _, err := s.CreateCountMin([]byte(name), CountMinConfig{Width: 10000, Depth: 5})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Increment(counts, keys, make([]uint64, 7)); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Increment(counts, keys, []uint64{1, 1, 1, 1, 1, 1, 1}); err != nil {
				t.Fatal(err)
			}
			c.Count(counts[:4], asked)
			return c
		},
		"topk": func(name string) Value {
			k, _, err := s.CreateTopK([]byte(name), TopKConfig{K: 10})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.Add(keys, nil, func(int, []byte, bool) {}); err != nil {
				t.Fatal(err)
			}
			k.Has(found[:4], asked)
			return k
		},
	} {
		v := use(name)
		want := Traffic{Adds: 7, Checks: 4, Hits: 3}
		if name == "countmin" {
			want.Adds = 14
		}
		if got := v.Traffic(); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		if _, err := s.Rename([]byte(name), []byte("other "+name), false); err != nil {
			t.Fatal(err)
		}
		if got := s.Get([]byte("other " + name)).Traffic(); got != want {
			t.Errorf("%s under another name: %+v, want %+v", name, got, want)
		}
	}
}

// Keys that a full filter refuses are not traffic.
func TestRefusedKeysAreNotTraffic(t *testing.T) {
	s, err := Open("/d", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const capacity = 100
	for _, layout := range []Layout{LayoutSeen, LayoutRedisBloom} {
		f, _, err := s.CreateBloom([]byte(layout.String()), BloomConfig{ErrorRate: 1e-6, Capacity: capacity, Layout: layout})
		if err != nil {
			t.Fatal(err)
		}
		keys, found := testKeys("k", 3*capacity), make([]bool, 3*capacity)
		done, _, err := f.Add(found, keys)
		if err == nil || done >= len(keys) {
			t.Fatalf("%v: %d keys were added, %v", layout, done, err)
		}
		for range 10 {
			if _, _, err := f.Add(found[:1], keys[2*capacity:][:1]); err == nil {
				t.Fatalf("%v takes a key although it is full", layout)
			}
		}
		if got := f.Traffic().Adds; got != uint64(done) {
			t.Errorf("%v: %d additions, want %d", layout, got, done)
		}
	}
	c, _, err := s.CreateCuckoo([]byte("cuckoo"), CuckooConfig{Capacity: capacity, MaxFilters: 1})
	if err != nil {
		t.Fatal(err)
	}
	added := uint64(0)
	if _, err := c.AddNew(testKeys("k", 5*capacity), func(_ int, _ bool, err error) {
		if err == nil {
			added++
		}
	}); err != nil {
		t.Fatal(err)
	}
	if got := c.Traffic().Adds; got != added || added >= 5*capacity {
		t.Errorf("cuckoo: %d additions, want %d", got, added)
	}
}
