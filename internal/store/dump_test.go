package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// populate makes a value of each kind, small ones and such as need files.
func populate(t *testing.T, s *Store) model {
	t.Helper()
	m := model{}
	for _, step := range []func(*Store, model) (LSN, error){
		create("small", BloomConfig{ErrorRate: rare, Capacity: 10, Expansion: 2}), add("small", 0, 100),
		create("large", BloomConfig{ErrorRate: rare, Capacity: 15000, Expansion: 2}), add("large", 50, 150),
		create("redis", BloomConfig{ErrorRate: rare, Capacity: 100, Expansion: 2, Layout: LayoutRedisBloom}), add("redis", 50, 150),
		createCuckoo("cuckoo", CuckooConfig{Capacity: 16, Expansion: 2}), changeCuckoo("cuckoo", addCuckoo(0, 40)),
		createCuckoo("cuckoo2", CuckooConfig{Capacity: 65536, Layout: LayoutRedisBloom}), changeCuckoo("cuckoo2", addCuckoo(0, 40)),
		createCountMin("count", CountMinConfig{Width: 20, Depth: 3}), count("count", 0, 50),
		createCountMin("count2", CountMinConfig{Width: 6000, Depth: 3}), count("count2", 0, 50),
		createTopK("top", TopKConfig{K: 10}), rank("top", 0, 100),
		createCountMin("count3", CountMinConfig{Width: 21, Depth: 3, Layout: LayoutRedisBloom}), count("count3", 0, 50),
		createCountMin("count4", CountMinConfig{Width: 6000, Depth: 3, Layout: LayoutRedisBloom}), count("count4", 0, 50),
		createTopK("top2", TopKConfig{K: 10, Layout: LayoutRedisBloom}), rank("top2", 0, 100),
		createTopK("top3", TopKConfig{K: 1000, Width: 6000, Depth: 3, Layout: LayoutRedisBloom}), rank("top3", 0, 100),
		createForeign("foreign", 100), createForeign("foreign2", 100_000),
	} {
		mustDo(t, s, m, step)
	}
	mustMatch(t, s, m)
	return m
}

func TestDumpRestore(t *testing.T) {
	mem := vfs.NewMem()
	s := mustOpen(t, Options{FS: mem})
	m := populate(t, s)
	later := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	for name, want := range m.clone() {
		payload, at, err := s.Dump([]byte(name))
		if err != nil || at != s.Get([]byte(name)).LSN() {
			t.Fatalf("%s: %d, %v", name, at, err)
		}
		for i := 0; i < len(payload); i += 1 + len(payload)/50 {
			damaged := append([]byte(nil), payload...)
			damaged[i] ^= 16
			for _, b := range [][]byte{damaged, payload[:i]} {
				if _, err := s.Restore([]byte("x"), b, time.Time{}, false, 0); !errors.Is(err, ErrData) {
					t.Fatalf("%s: byte %d of %d damaged or missing: %v", name, i, len(payload), err)
				}
			}
		}
		copyName := []byte(name + " copy")
		mustDo(t, s, m, func(s *Store, m model) (LSN, error) {
			m[string(copyName)] = want.clone()
			return s.Restore(copyName, payload, time.Time{}, false, 0)
		})
		if _, err := s.Restore(copyName, payload, time.Time{}, false, 0); !errors.Is(err, ErrExists) {
			t.Errorf("%s: restored over another: %v", name, err)
		}
		mustDo(t, s, m, func(s *Store, m model) (LSN, error) { return s.Restore(copyName, payload, later, true, 0) })
		if got := s.Get(copyName).Expires(); !got.Equal(later) {
			t.Errorf("%s: expires %v", name, got)
		}
		if b, ok := m[string(copyName)].(*modelBloom); ok {
			b.expires = later
		}
	}
	mustMatch(t, s, m)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, Options{FS: mem})
	mustMatch(t, s, m) // what was restored is on disk
	if _, _, err := s.Dump([]byte("nothing")); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	before := s.Memory()
	again := mustOpen(t, Options{FS: vfs.NewMem(), MaxMemory: 1000})
	payload, _, _ := s.Dump([]byte("large"))
	if _, err := again.Restore([]byte("x"), payload, time.Time{}, false, 0); !errors.Is(err, ErrData) {
		t.Errorf("a payload for another secret: %v", err)
	}
	if before != s.Memory() || again.Memory() != 0 {
		t.Errorf("memory %d and %d after refusals, want %d and 0", s.Memory(), again.Memory(), before)
	}
}

// TestMemoryIsAccounted checks that the account agrees with the values after all
// kinds of changes, and again after recovery.
func TestMemoryIsAccounted(t *testing.T) {
	mem := vfs.NewMem()
	s := mustOpen(t, Options{FS: mem})
	m := populate(t, s)
	check := func(s *Store) {
		t.Helper()
		sum := uint64(0)
		for _, v := range s.Names() {
			sum += v.Bytes()
		}
		if sum != s.Memory() {
			t.Fatalf("values take %d bytes, the account says %d", sum, s.Memory())
		}
	}
	check(s)
	for _, step := range []func(*Store, model) (LSN, error){
		add("small", 0, 300), clearAll("large"), add("large", 0, 30), add("redis", 0, 300), clearAll("redis"),
		merge("small", "small"), changeCuckoo("cuckoo", addCuckoo(0, 90)), changeCuckoo("cuckoo", removeCuckoo(0, 90)), changeCuckoo("cuckoo", compactCuckoo),
		rank("top", 100, 300), rename("small", "s"), remove("large"), mergeCountMin("count2", nil, "count2"),
	} {
		mustDo(t, s, m, step)
		check(s)
	}
	total := s.Memory()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, Options{FS: mem})
	check(again)
	if got := again.Memory(); got > total || got < total*9/10 { // tables made ahead are gone
		t.Errorf("%d bytes after recovery, %d before", got, total)
	}
	if _, err := again.Flush(); err != nil || again.Memory() != 0 || again.Len() != 0 {
		t.Errorf("after a flush: %d bytes, %d values, %v", again.Memory(), again.Len(), err)
	}
}

func TestMemoryLimit(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem(), MaxMemory: 200 << 10})
	m := model{}
	mustDo(t, s, m, create("a", BloomConfig{ErrorRate: rare, Capacity: 1000, Expansion: 2}))
	keys := testKeys("x", 100000)
	added := make([]bool, len(keys))
	f := s.Get([]byte("a")).(Filter)
	done, _, err := f.Add(added, keys)
	if !errors.Is(err, ErrMemory) || done == 0 || done == len(keys) || s.Memory() > 200<<10 {
		t.Fatalf("%d keys, %v, %d bytes", done, err, s.Memory())
	}
	found := make([]bool, len(keys))
	f.Has(found, keys)
	for i, is := range found {
		if is != (i < done) {
			t.Fatalf("key %d of %d: %v", i, done, is)
		}
	}
	if got := f.Info().Added; got != uint64(done) {
		t.Errorf("%d keys added of %d that were dealt with", got, done)
	}
	before := s.Memory()
	for what, make := range map[string]func(name []byte) error{
		"bloom": func(name []byte) error {
			_, _, err := s.CreateBloom(name, BloomConfig{ErrorRate: 0.01, Capacity: 1 << 30})
			return err
		},
		"redisbloom": func(name []byte) error {
			_, _, err := s.CreateBloom(name, BloomConfig{ErrorRate: 0.01, Capacity: 1 << 30, Layout: LayoutRedisBloom})
			return err
		},
		"cuckoo": func(name []byte) error {
			_, _, err := s.CreateCuckoo(name, CuckooConfig{Capacity: 1 << 30})
			return err
		},
		"count-min": func(name []byte) error {
			_, _, err := s.CreateCountMin(name, CountMinConfig{Width: 1 << 30, Depth: 5})
			return err
		},
		"top-k": func(name []byte) error {
			_, _, err := s.CreateTopK(name, TopKConfig{K: 10, Width: 1 << 28, Depth: 7})
			return err
		},
	} {
		if err := make([]byte(what)); !errors.Is(err, ErrMemory) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if s.Memory() != before || s.Len() != 1 {
		t.Errorf("refusals left %d bytes and %d values, want %d and 1", s.Memory(), s.Len(), before)
	}
	s.SetMaxMemory(0)
	if done, _, err := f.Add(added, keys); err != nil || done != len(keys) {
		t.Errorf("without a limit: %d, %v", done, err)
	}
}

func TestFullFilter(t *testing.T) {
	for _, layout := range []Layout{LayoutSeen, LayoutRedisBloom} {
		s := mustOpen(t, Options{FS: vfs.NewMem(), Layout: layout})
		f, _, err := s.CreateBloom([]byte("a"), BloomConfig{ErrorRate: rare, Capacity: 10})
		if err != nil {
			t.Fatal(err)
		}
		added := make([]bool, 20)
		// The third is there already, and so is the tenth: the eleventh new one is
		// the twelfth key.
		keys := append([][]byte{universe[0], universe[1], universe[0]}, universe[2:19]...)
		keys[9] = universe[1]
		done, _, err := f.Add(added, keys)
		if !errors.Is(err, ErrFull) || done != 12 {
			t.Errorf("%v: %d keys were dealt with, %v", layout, done, err)
		}
		if got := fmt.Sprint(added[:done]); got != fmt.Sprint([]bool{true, true, false, true, true, true, true, true, true, false, true, true}) {
			t.Errorf("%v: %s", layout, got)
		}
		if done, _, err := f.Add(added[:2], keys[:2]); done != 2 || err != nil || added[0] || added[1] {
			t.Errorf("%v: keys that a full filter has: %d, %v, %v", layout, done, err, added[:2])
		}
		s.Close()
	}
}
