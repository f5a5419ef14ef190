package bloomfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"seen/bloom"
	"seen/internal/frame"
)

// empty returns an empty filter of the given type.
func empty(t testing.TB, name string, n uint64) bloom.Set {
	t.Helper()
	c := bloom.Config{Capacity: n, ErrorRate: 0.001}
	var s bloom.Set
	var err error
	switch name {
	case "classic":
		s, err = bloom.NewClassic(c)
	case "blocked":
		s, err = bloom.New(c)
	case "partitioned":
		s, err = bloom.NewPartitioned(c)
	case "counting":
		s, err = bloom.NewCounting(c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mark(t testing.TB, path string) frame.State {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := frame.ParseState(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAddingInPlaceIsAddingInMemory adds the same keys to a file and to a filter
// in every way; answers and contents must be the same.
func TestAddingInPlaceIsAddingInMemory(t *testing.T) {
	for _, name := range []string{"classic", "blocked", "partitioned"} {
		t.Run(name, func(t *testing.T) {
			s := empty(t, name, 100_000)
			path := written(t, s)
			f := mustOpen(t, path, Options{Writable: true})
			hash := s.Hash()
			for i := range 1000 {
				key := fmt.Appendf(nil, "key %d", i*i%700)
				var got bool
				var err error
				switch i % 3 {
				case 0:
					got, err = f.Add(key)
				case 1:
					got, err = f.AddString(string(key))
				case 2:
					got, err = f.AddHash(hash.Sum(key))
				}
				if want := s.AddHash(hash.Sum(key)); got != want || err != nil {
					t.Fatalf("Add %d: %v, %v, want %v", i, got, err, want)
				}
			}
			for round := range 8 {
				var keys [][]byte
				var texts []string
				var hs []uint64
				for i := range 1000 {
					key := fmt.Appendf(nil, "batch %d %d", round/5, i%900)
					keys, texts, hs = append(keys, key), append(texts, string(key)), append(hs, hash.Sum(key))
				}
				got, want := make([]bool, len(hs)), make([]bool, len(hs))
				var n int
				var err error
				switch round % 3 {
				case 0:
					n, err = f.AddKeys(got, keys)
				case 1:
					n, err = f.AddStrings(got, texts)
				case 2:
					n, err = f.AddHashes(got, hs)
				}
				if m := s.AddHashes(want, hs); n != m || err != nil || !slices.Equal(got, want) {
					t.Fatalf("batch %d: %d, %v, want %d", round, n, err, m)
				}
				if round == 2 {
					if err := f.Sync(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if f.Info().Added != s.Stats().Added || !f.Info().Writable {
				t.Errorf("Info %+v, want %d added", f.Info(), s.Stats().Added)
			}
			if st, err := f.Stats(); err != nil || st != s.Stats() {
				t.Errorf("Stats %+v, %v, want %+v", st, err, s.Stats())
			}
			for err := range f.Check() {
				t.Error(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			v, err := Read(path, bloom.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			a, _ := v.AppendBinary(nil)
			if b, _ := s.AppendBinary(nil); !bytes.Equal(a, b) {
				t.Error("the file differs from the filter")
			}
			if i := mustOpen(t, path, Options{}).Info(); i.Added != s.Stats().Added {
				t.Errorf("%d added after opening again, want %d", i.Added, s.Stats().Added)
			}
			if left, _ := filepath.Glob(path + "?*"); len(left) > 0 {
				t.Errorf("left beside the file: %v", left)
			}
		})
	}
}

func TestOnlyNewKeysMarkTheFile(t *testing.T) {
	s := filled(t, bloom.Hash{})
	path := written(t, s)
	before, _ := os.ReadFile(path)
	f := mustOpen(t, path, Options{Writable: true})
	known := hashes(1, 1000)
	for _, h := range known {
		if added, err := f.AddHash(h); added || err != nil {
			t.Fatal(added, err)
		}
	}
	answers := slices.Repeat([]bool{true}, len(known))
	if n, err := f.AddHashes(answers, known); n != 0 || err != nil || slices.Contains(answers, true) {
		t.Fatal(n, err)
	}
	if m := mark(t, path); m.Mark != frame.MarkPristine {
		t.Errorf("known keys left mark %+v", m)
	}
	n, err := f.AddHashes(nil, hashes(3, 1000))
	if n == 0 || err != nil {
		t.Fatal(n, err)
	}
	if m := mark(t, path); m.Mark != frame.MarkDirty || m.BootID == [16]byte{} {
		t.Errorf("new keys left mark %+v", m)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if m := mark(t, path); m.Mark != frame.MarkChanged || m.Added != s.Added()+uint64(n) {
		t.Errorf("Close left mark %+v, want %d added", m, s.Added()+uint64(n))
	}
	after, _ := os.ReadFile(path)
	if len(after) != len(before) {
		t.Errorf("%d bytes, before %d", len(after), len(before))
	}
}

func TestNotEveryFileIsChangedInPlace(t *testing.T) {
	path := written(t, empty(t, "counting", 1000))
	if _, err := Open(path, Options{Writable: true}); err == nil || !strings.Contains(err.Error(), "counting filter cannot be changed in place") {
		t.Errorf("counting: %v", err)
	}
	if _, err := Lock(path); err != nil {
		t.Errorf("the lock was not released: %v", err)
	}
	f := mustOpen(t, written(t, empty(t, "blocked", 1000)), Options{})
	if _, err := f.AddHash(1); err == nil || !strings.Contains(err.Error(), "reading only") {
		t.Errorf("open for reading: %v", err)
	}
	if err := f.Sync(); err == nil {
		t.Error("Sync of a file open for reading")
	}
	g := mustOpen(t, path, Options{})
	if _, err := g.AddKeys(nil, [][]byte{{1}}); err == nil || !strings.Contains(err.Error(), "reading only") {
		t.Errorf("counting, open for reading: %v", err)
	}
}

func TestWriterExcludesWriters(t *testing.T) {
	s := filled(t, bloom.Hash{})
	path := written(t, s)
	f := mustOpen(t, path, Options{Writable: true})
	for name, err := range map[string]error{
		"second writer": func() error { _, err := Open(path, Options{Writable: true}); return err }(),
		"Write":         Write(path, s),
		"Lock":          func() error { _, err := Lock(path); return err }(),
	} {
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(path, s); !errors.Is(err, ErrLocked) {
		t.Errorf("Write beside a lock: %v", err)
	}
	if err := l.Write(s); err != nil {
		t.Errorf("Write under the lock: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestReaderBesideWriter follows a reader that was there before the writer.
func TestReaderBesideWriter(t *testing.T) {
	s := filled(t, bloom.Hash{})
	path := written(t, s)
	known, added := hashes(1, 300_000), hashes(4, 50_000)
	reader := mustOpen(t, path, Options{})
	verified := known[:2]
	if n, err := reader.HasHashes(nil, verified); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	w := mustOpen(t, path, Options{Writable: true})
	if _, err := w.AddHashes(nil, added); err != nil {
		t.Fatal(err)
	}
	if n, err := reader.HasHashes(nil, verified); n != 2 || err != nil {
		t.Errorf("what was verified before: %d, %v", n, err)
	}
	if _, err := reader.HasHashes(nil, known); !errors.Is(err, ErrDirty) {
		t.Errorf("what was not: %v", err)
	}
	for err := range reader.Check() {
		if !errors.Is(err, ErrDirty) {
			t.Errorf("Check: %v", err)
		}
	}
	if _, err := Open(path, Options{}); !errors.Is(err, ErrDirty) || !errors.Is(err, ErrLocked) {
		t.Errorf("second reader: %v", err)
	}
	if _, err := Read(path, bloom.LoadOptions{}); !errors.Is(err, ErrDirty) || !errors.Is(err, ErrLocked) {
		t.Errorf("Read: %v", err)
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*File{"first reader": reader, "third reader": mustOpen(t, path, Options{})} {
		if n, err := f.HasHashes(nil, known); n != len(known) || err != nil {
			t.Errorf("%s after Sync: %d known, %v", name, n, err)
		}
		if n, err := f.HasHashes(nil, added); n != len(added) || err != nil {
			t.Errorf("%s after Sync: %d added, %v", name, n, err)
		}
	}
}

// TestWriterKeepsDamageDamaged adds to a file with a damaged chunk.
func TestWriterKeepsDamageDamaged(t *testing.T) {
	path := written(t, filled(t, bloom.Hash{}))
	flip(t, path, 4096+65536+5)
	f := mustOpen(t, path, Options{Writable: true})
	added, failed := 0, 0
	for _, h := range hashes(6, 3000) {
		ok, err := f.AddHash(h)
		var damage *CorruptError
		switch {
		case errors.As(err, &damage) && damage.Offset == 4096+65536 && !ok:
			failed++
		case err != nil:
			t.Fatal(err)
		case ok:
			added++
		}
	}
	if added == 0 || failed == 0 {
		t.Fatalf("%d added, %d failed", added, failed)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var found []error
	for err := range mustOpen(t, path, Options{}).Check() {
		found = append(found, err)
	}
	var damage *CorruptError
	if len(found) != 1 || !errors.As(found[0], &damage) || damage.Offset != 4096+65536 {
		t.Errorf("after the writer: %v", found)
	}
}

func TestRebuildHidesNoDamage(t *testing.T) {
	path := written(t, filled(t, bloom.Hash{}))
	flip(t, path, 5000)
	if err := Rebuild(path); err != nil {
		t.Fatal(err)
	}
	for range mustOpen(t, path, Options{}).Check() {
		return
	}
	t.Error("the damage of a clean file is gone")
}
