package store

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// writeGolden makes testdata/v1 anew, which is only right before the format is
// released: the directories there open for ever.
var writeGolden = flag.Bool("write-golden", false, "write the golden data directory of the present format")

// goldenClock is when the golden directories were written; their values expire later.
func goldenClock() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

// goldenLife fills a data directory with values of all kinds, of which a part is in
// files, a part in the catalogue and a part in the log.
func goldenLife(t *testing.T, s *Store) model {
	t.Helper()
	m := model{}
	steps := func(steps ...func(*Store, model) (LSN, error)) {
		t.Helper()
		for _, step := range steps {
			mustDo(t, s, m, step)
		}
	}
	steps(create("small", small), add("small", 0, 30), create("large", BloomConfig{ErrorRate: rare, Capacity: 12000}),
		add("large", 0, 100), create("redis", BloomConfig{ErrorRate: rare, Capacity: 50, Expansion: 2, Layout: LayoutRedisBloom}),
		add("redis", 0, 80), createCuckoo("cuckoo", CuckooConfig{Capacity: 30, Expansion: 2}), changeCuckoo("cuckoo", addCuckoo(0, 50)),
		createCountMin("count", CountMinConfig{Width: 30, Depth: 4}), count("count", 0, 50), createTopK("top", TopKConfig{K: 5}), rank("top", 0, 100))
	if _, _, err := s.CreateBloom([]byte("window"), BloomConfig{ErrorRate: rare, Capacity: 100, Span: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	steps(add("small", 20, 90), add("large", 90, 120), add("redis", 70, 120), changeCuckoo("cuckoo", addCuckoo(40, 60)),
		changeCuckoo("cuckoo", removeCuckoo(0, 10)), changeCuckoo("cuckoo", compactCuckoo), count("count", 40, 60), rank("top", 50, 120),
		merge("union", "small"), rename("small", "renamed"), create("gone", small), remove("gone"), create("cleared", small), add("cleared", 0, 5),
		clearAll("cleared"), add("cleared", 5, 10), createCountMin("sum", CountMinConfig{Width: 30, Depth: 4}), mergeCountMin("sum", []int64{2}, "count"),
		load("redis", "loaded"), load("renamed", "loaded2"), merge("union", "cleared"))
	if _, _, err := s.Get([]byte("window")).(Filter).Add(make([]bool, 50), universe[:50]); err != nil {
		t.Fatal(err)
	}
	if _, at, err := s.Expire([]byte("loaded"), goldenClock().Add(time.Hour)); err != nil || s.Wait(t.Context(), at) != nil {
		t.Fatal(err)
	}
	return m
}

// answers returns what all values of a store answer.
func answers(s *Store) map[string]string {
	all := map[string]string{}
	for name, v := range s.Names() {
		all[name] = observe(v)
		if f, ok := v.(Filter); ok {
			found := make([]bool, len(universe))
			f.Has(found, universe)
			i := f.Info()
			all[name] = fmt.Sprint(i.Layout, i.ErrorRate, i.Capacity, i.Added, i.Expansion, i.Span, len(i.Layers), v.Expires().UTC(), found)
		}
	}
	return all
}

// TestGolden opens the data directories of every format that was released.
func TestGolden(t *testing.T) {
	if *writeGolden {
		writeGoldenDirectory(t, filepath.Join("testdata", "v1"))
	}
	dirs, err := filepath.Glob(filepath.Join("testdata", "v*"))
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(dir, "answers.json"))
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]string
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			mem := vfs.NewMem()
			if _, err := vfs.Clone(vfs.Default, mem, filepath.Join(dir, "data"), "/data"); err != nil {
				t.Fatal(err)
			}
			for range 2 { // as it was written, and after a checkpoint of now
				s, err := Open("/data", Options{FS: mem, Now: goldenClock})
				if err != nil {
					t.Fatal(err)
				}
				got := answers(s)
				for name := range want {
					if got[name] != want[name] {
						t.Errorf("%q answers %s\nwant %s", name, got[name], want[name])
					}
				}
				if len(got) != len(want) {
					t.Errorf("%d values, want %d", len(got), len(want))
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func writeGoldenDirectory(t *testing.T, dir string) {
	t.Helper()
	mem := vfs.NewCrashableMem()
	s := mustOpen(t, Options{FS: mem, Now: goldenClock})
	mustMatchNamed(t, s, goldenLife(t, s))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := vfs.Clone(mem.CrashClone(vfs.CrashCloneCfg{}), vfs.Default, "/data", filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	b, err := json.MarshalIndent(answers(s), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "answers.json"), b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// mustMatchNamed compares those values that the model knows.
func mustMatchNamed(t *testing.T, s *Store, m model) {
	t.Helper()
	for name, want := range m {
		b, ok := want.(*modelBloom)
		if ok {
			b.expires = s.Get([]byte(name)).Expires()
		}
		if err := want.check(s.Get([]byte(name))); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
