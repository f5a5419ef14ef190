package store

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// readAll returns the contents of a file, and writeAll replaces them.
func readAll(t *testing.T, fsys vfs.FS, name string) []byte {
	t.Helper()
	b, err := readSmall(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeAll(t *testing.T, fsys vfs.FS, name string, b []byte) {
	t.Helper()
	f, err := fsys.Create(name, writeCategory)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, strings.NewReader(string(b))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// filesOf lists the files of a folder.
func filesOf(t *testing.T, fsys vfs.FS, dir string) []string {
	t.Helper()
	names, err := fsys.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range names {
		names[i] = fsys.PathJoin(dir, names[i])
	}
	return names
}

// damaged is a data directory with a filter and a cuckoo filter in files, a small
// filter in the catalogue, and changes in the log.
func damageable(t *testing.T) (*vfs.MemFS, model) {
	t.Helper()
	mem := vfs.NewCrashableMem()
	s := mustOpen(t, Options{FS: mem})
	m := model{}
	mustDo(t, s, m, create("a", BloomConfig{ErrorRate: rare, Capacity: 10, Expansion: 2}))
	mustDo(t, s, m, create("large", BloomConfig{ErrorRate: rare, Capacity: 15000, Expansion: 2}))
	mustDo(t, s, m, createCuckoo("c", CuckooConfig{Capacity: 100000}))
	mustDo(t, s, m, add("a", 0, 50))
	mustDo(t, s, m, add("large", 0, 50))
	mustDo(t, s, m, changeCuckoo("c", addCuckoo(0, 50)))
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustDo(t, s, m, add("a", 40, 90))
	mustDo(t, s, m, add("large", 40, 90))
	mustDo(t, s, m, changeCuckoo("c", addCuckoo(40, 90)))
	if err := s.mark(); err != nil {
		t.Fatal(err)
	}
	return mem, m
}

// everything is a copy of a disk with what is not synced.
func everything(mem *vfs.MemFS) *vfs.MemFS {
	return mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
}

// TestDamagedFiles changes one byte, or the length, of the files of arrays and of the
// secret: Open must say which file it is.
func TestDamagedFiles(t *testing.T) {
	mem, m := damageable(t)
	whole := everything(mem)
	s := mustOpen(t, Options{FS: whole.CrashClone(vfs.CrashCloneCfg{})})
	mustMatch(t, s, m)
	names := append(filesOf(t, whole, "/data/values"), "/data/secret")
	if len(names) != 3 {
		t.Fatal(names)
	}
	for _, name := range names {
		b := readAll(t, whole, name)
		damages := map[string][]byte{"empty": {}, "short": b[:len(b)-1], "long": append(b[:len(b):len(b)], 0)}
		for _, at := range []int{0, 1, 8, 15, 520, 4095, 4096, len(b) / 2, len(b) - 5, len(b) - 1} {
			if at < len(b) {
				c := append([]byte(nil), b...)
				c[at] ^= 4
				damages[fmt.Sprint("byte ", at)] = c
			}
		}
		for what, damaged := range damages {
			t.Run(whole.PathBase(name)+"/"+what, func(t *testing.T) {
				fsys := whole.CrashClone(vfs.CrashCloneCfg{})
				writeAll(t, fsys, name, damaged)
				s, err := Open("/data", Options{FS: fsys})
				if err == nil {
					s.Close()
					t.Fatal("opened")
				}
				if !strings.Contains(err.Error(), whole.PathBase(name)) {
					t.Errorf("the error does not name the file: %v", err)
				}
			})
		}
		t.Run(whole.PathBase(name)+"/missing", func(t *testing.T) {
			fsys := whole.CrashClone(vfs.CrashCloneCfg{})
			if err := fsys.Remove(name); err != nil {
				t.Fatal(err)
			}
			if _, err := Open("/data", Options{FS: fsys}); err == nil || !strings.Contains(err.Error(), whole.PathBase(name)) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestDamagedDatabase changes single bytes of the database: whatever Open says, it
// must not come up with less than was there.
func TestDamagedDatabase(t *testing.T) {
	if testing.Short() {
		t.Skip("crash rounds")
	}
	mem, m := damageable(t)
	whole := everything(mem)
	refused, harmless := 0, 0
	for _, name := range filesOf(t, whole, "/data/db") {
		b := readAll(t, whole, name)
		for at := 0; at < len(b); at += 1 + len(b)/40 {
			fsys := whole.CrashClone(vfs.CrashCloneCfg{})
			c := append([]byte(nil), b...)
			c[at] ^= 1
			writeAll(t, fsys, name, c)
			s, err := Open("/data", Options{FS: fsys})
			if err != nil {
				refused++
				continue
			}
			if err := m.check(s); err != nil {
				t.Errorf("%s, byte %d of %d: opened, but %v", name, at, len(b), err)
			}
			harmless++
			s.Close()
		}
	}
	t.Logf("%d refused, %d without effect", refused, harmless)
	if refused == 0 {
		t.Error("no damage was noticed")
	}
}

func TestLocked(t *testing.T) {
	mem := vfs.NewMem()
	mustOpen(t, Options{FS: mem})
	if _, err := Open("/data", Options{FS: mem}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second Open: %v", err)
	}
}
