package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// mustVerify verifies a folder.
func mustVerify(t *testing.T, fsys vfs.FS, dir string) *Verification {
	t.Helper()
	v, err := Verify(t.Context(), dir, VerifyOptions{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// damages returns what may happen to a file, as functions that do it. other is another
// file, or empty.
func damages(t *testing.T, fsys vfs.FS, name, other string) map[string]func(t *testing.T, fsys vfs.FS) {
	t.Helper()
	b := readAll(t, fsys, name)
	change := func(f func(b []byte) []byte) func(*testing.T, vfs.FS) {
		return func(t *testing.T, fsys vfs.FS) { writeAll(t, fsys, name, f(slices.Clone(readAll(t, fsys, name)))) }
	}
	flip := func(at int) func(*testing.T, vfs.FS) {
		return change(func(b []byte) []byte { b[(at+len(b))%len(b)] ^= 4; return b })
	}
	all := map[string]func(*testing.T, vfs.FS){
		"missing": func(t *testing.T, fsys vfs.FS) {
			if err := fsys.Remove(name); err != nil {
				t.Fatal(err)
			}
		},
		"long": change(func(b []byte) []byte { return append(b, 0) }),
		"folder": func(t *testing.T, fsys vfs.FS) {
			if err := errors.Join(fsys.Remove(name), fsys.MkdirAll(name, 0o700)); err != nil {
				t.Fatal(err)
			}
		},
	}
	if len(b) > 0 {
		all["empty"] = change(func([]byte) []byte { return nil })
		all["short"] = change(func(b []byte) []byte { return b[:len(b)-1] })
		for what, at := range map[string]int{"first byte": 0, "byte in the header": 20, "byte of the state": 260, "byte in the middle": 5000, "last byte": -1} {
			all[what] = flip(at)
		}
	}
	if other != "" && string(readAll(t, fsys, other)) != string(b) {
		all["other"] = func(t *testing.T, fsys vfs.FS) { writeAll(t, fsys, name, readAll(t, fsys, other)) }
	}
	return all
}

// verifiable is a data directory of a closed store with files of all kinds. Two filters
// of the same shape can be mistaken for each other.
func verifiable(t *testing.T) (*vfs.MemFS, model) {
	t.Helper()
	mem := vfs.NewCrashableMem()
	s := mustOpen(t, Options{FS: mem})
	m := populate(t, s)
	large := BloomConfig{ErrorRate: rare, Capacity: 15000, Expansion: 2}
	for i, name := range []string{"twin1", "twin2"} {
		mustDo(t, s, m, create(name, large))
		mustDo(t, s, m, add(name, 10*i, 10*i+20))
		mustDo(t, s, m, createCuckoo("c"+name, CuckooConfig{Capacity: 100000}))
		mustDo(t, s, m, changeCuckoo("c"+name, addCuckoo(10*i, 10*i+20)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return mem, m
}

// TestVerifyDataDirectory damages each file of the values, and the secret: Verify names
// it and the filter, and what it passes can be opened.
func TestVerifyDataDirectory(t *testing.T) {
	mem, m := verifiable(t)
	v := mustVerify(t, mem, "/data")
	if len(v.Problems)+len(v.Extra) > 0 || v.Backup || v.Filters != len(m) || v.Files < 4 || v.Bytes == 0 {
		t.Fatalf("of a whole directory: %+v", v)
	}
	names := filesOf(t, mem, "/data/values")
	for i, name := range append(names, "/data/secret") {
		other := ""
		if i < len(names) {
			other = names[(i+1)%len(names)]
		}
		for what, damage := range damages(t, mem, name, other) {
			t.Run(mem.PathBase(name)+"/"+what, func(t *testing.T) {
				fsys := mem.CrashClone(vfs.CrashCloneCfg{})
				damage(t, fsys)
				v := mustVerify(t, fsys, "/data")
				if len(v.Problems) != 1 || v.Problems[0].File != strings.TrimPrefix(name, "/data/") || (other != "") != (v.Problems[0].Filter != "") {
					t.Errorf("problems %v", v.Problems)
				}
			})
		}
	}
	writeAll(t, mem, "/data/values/00000000000fffff.seen", []byte("x"))
	writeAll(t, mem, "/data/values/notes", nil)
	if v := mustVerify(t, mem, "/data"); len(v.Problems) > 0 || !slices.Equal(v.Extra, []string{"values/00000000000fffff.seen", "values/notes"}) {
		t.Errorf("with files too many: %+v", v)
	}
}

// TestVerifyAgreesWithOpen changes single bytes of the database: what Verify passes opens,
// and has all that was there.
func TestVerifyAgreesWithOpen(t *testing.T) {
	mem, m := damageable(t)
	whole := everything(mem)
	if v := mustVerify(t, whole, "/data"); len(v.Problems) > 0 || v.Operations == 0 {
		t.Fatalf("of a whole directory: %+v", v)
	}
	found := 0
	for _, name := range filesOf(t, whole, "/data/db") {
		b := readAll(t, whole, name)
		for at := 0; at < len(b); at += 1 + len(b)/25 {
			fsys := whole.CrashClone(vfs.CrashCloneCfg{})
			c := slices.Clone(b)
			c[at] ^= 1
			writeAll(t, fsys, name, c)
			v := mustVerify(t, fsys, "/data")
			s, err := Open("/data", Options{FS: fsys})
			if err == nil {
				err = m.check(s)
				s.Close()
			}
			if (err != nil) && len(v.Problems) == 0 {
				t.Errorf("%s, byte %d of %d: Verify finds nothing, but %v", name, at, len(b), err)
			}
			if len(v.Problems) > 0 {
				found++
			}
		}
	}
	if found == 0 {
		t.Error("no damage was noticed")
	}
}

// TestVerifyBackup damages every file of a backup in every way: Verify names it, and
// Restore refuses it.
func TestVerifyBackup(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := mustOpen(t, Options{FS: mem})
	m := populate(t, s)
	mustDo(t, s, m, create("twin", BloomConfig{ErrorRate: rare, Capacity: 15000, Expansion: 2}))
	mustDo(t, s, m, add("twin", 0, 20))
	if err := s.Backup(t.Context(), "/backup"); err != nil {
		t.Fatal(err)
	}
	if v := mustVerify(t, mem, "/backup"); len(v.Problems)+len(v.Extra) > 0 || !v.Backup || v.Filters != len(m) {
		t.Fatalf("of a whole backup: %+v", v)
	}
	list, err := readList(mem, "/backup")
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range append(list.entries, listed{name: completeName}) {
		other := "/backup/" + list.entries[(i+1)%len(list.entries)].name
		for what, damage := range damages(t, mem, "/backup/"+l.name, other) {
			t.Run(l.name+"/"+what, func(t *testing.T) {
				fsys := mem.CrashClone(vfs.CrashCloneCfg{})
				damage(t, fsys)
				if v := mustVerify(t, fsys, "/backup"); l.name == completeName && (what == "missing" || what == "empty") {
					return // it counts as a data directory, or as a backup of a former version
				} else if len(v.Problems) == 0 || !slices.ContainsFunc(v.Problems, func(p Problem) bool { return p.File == l.name }) && !strings.HasPrefix(l.name, "db") {
					t.Errorf("problems %v", v.Problems)
				}
				if err := Restore("/backup", "/again", fsys); err == nil {
					t.Error("restored")
				}
				if _, err := fsys.Stat("/again"); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("a folder is left: %v", err)
				}
			})
		}
	}
	// What does not belong there is named and not restored: the database would read it.
	writeAll(t, mem, "/backup/db/999999.log", []byte("x"))
	if v := mustVerify(t, mem, "/backup"); len(v.Problems) > 0 || !slices.Equal(v.Extra, []string{"db/999999.log"}) {
		t.Errorf("with a file too many: %+v", v)
	}
	if err := Restore("/backup", "/again", mem); err != nil {
		t.Fatal(err)
	}
	if _, err := mem.Stat("/again/db/999999.log"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file too many was restored: %v", err)
	}
	again, err := Open("/again", Options{FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	mustMatch(t, again, m)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestBackupOfDamage damages the files of values below a running store in every way: its
// backup is whole, and so is what it opens from then on.
func TestBackupOfDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("crash rounds")
	}
	for _, link := range []bool{true, false} {
		mem, m := verifiable(t)
		names := filesOf(t, mem, "/data/values")
		some := names
		if !link {
			some = names[:1] // what differs is how the copy is made
		}
		for i, name := range some {
			for what, damage := range damages(t, mem, name, names[(i+1)%len(names)]) {
				t.Run(fmt.Sprintf("link %v/%s/%s", link, mem.PathBase(name), what), func(t *testing.T) {
					clone := mem.CrashClone(vfs.CrashCloneCfg{})
					var fsys vfs.FS = clone
					if !link {
						fsys = noLinks{clone}
					}
					var told []error
					s := mustOpen(t, Options{FS: fsys, Events: Events{Error: func(err error) { told = append(told, err) }}})
					damage(t, clone)
					if err := s.Backup(t.Context(), "/backup"); err != nil {
						t.Fatal(err)
					}
					if len(told) != 1 || !strings.Contains(told[0].Error(), clone.PathBase(name)) {
						t.Errorf("told %v", told)
					}
					if v := mustVerify(t, fsys, "/backup"); len(v.Problems)+len(v.Extra) > 0 {
						t.Errorf("backup: %+v", v)
					}
					if err := Restore("/backup", "/again", fsys); err != nil {
						t.Fatal(err)
					}
					for _, dir := range []string{"/again", "/data"} {
						crashed := clone.CrashClone(vfs.CrashCloneCfg{})
						again, err := Open(dir, Options{FS: crashed})
						if err != nil {
							t.Fatal(err)
						}
						mustMatch(t, again, m)
						if err := again.Close(); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
	}
}

// noLinks is a file system without links.
type noLinks struct{ vfs.FS }

func (noLinks) Link(string, string) error { return errors.ErrUnsupported }

// rotten is a disk on which what is written to the folder of a backup is damaged.
type rotten struct{ *vfs.MemFS }

func (r rotten) Link(from, to string) error {
	if !strings.HasSuffix(from, fileSuffix) {
		return r.MemFS.Link(from, to)
	}
	b, err := readSmall(r.MemFS, from)
	if err != nil {
		return err
	}
	b[len(b)/2] ^= 1
	return writeSmall(r.MemFS, r.PathDir(to), r.PathBase(to), b)
}

// A backup that cannot be completed fails, and the error names the filter and the file.
func TestBackupThatStaysDamaged(t *testing.T) {
	mem, _ := verifiable(t)
	s := mustOpen(t, Options{FS: rotten{mem}})
	err := s.Backup(t.Context(), "/backup")
	if err == nil || !strings.Contains(err.Error(), "values/") || !strings.Contains(err.Error(), `"twin1"`) || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("error %v", err)
	}
	if names, err := mem.List("/backup"); err != nil || len(names) > 0 {
		t.Errorf("left: %v, %v", names, err)
	}
}

// Folders that cannot be verified are told from those that are damaged.
func TestVerifyRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	s, err := Open(data, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		file: "is a file", dir: "is neither", filepath.Join(dir, "none"): "no such file", data: "in use",
	} {
		if v, err := Verify(t.Context(), name, VerifyOptions{}); err == nil || !strings.Contains(err.Error(), want) || v != nil {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	if _, err := Verify(t.Context(), data, VerifyOptions{}); !errors.Is(err, ErrLocked) {
		t.Errorf("while it is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := listing(t, data)
	if v, err := Verify(t.Context(), data, VerifyOptions{}); err != nil || len(v.Problems) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
	if after := listing(t, data); !slices.Equal(before, after) {
		t.Errorf("Verify has changed the folder: %v, %v", before, after)
	}
}

// listing lists the files in a folder with their sizes and times.
func listing(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err == nil {
			all = append(all, fmt.Sprint(name, info.Size(), info.ModTime()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Contents that are replaced while a checkpoint begins, and changed before it comes to them,
// leave an operation in the log whose file is gone: the image in the catalogue is newer.
func TestVerifyAfterReplaceDuringCheckpoint(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := mustOpen(t, Options{FS: mem})
	m := model{}
	large := BloomConfig{ErrorRate: rare, Capacity: 15000, Expansion: 2}
	do(t, s, m, true, create("a", large), add("a", 0, 20), create("b", large), add("b", 10, 30), nil)
	err := s.checkpoint(func() (LSN, bool) {
		upTo, flush := s.upToWritten()
		do(t, s, m, true, merge("a", "b"), add("a", 40, 50), merge("new", "b"), add("new", 60, 70))
		return upTo, flush
	})
	if err != nil {
		t.Fatal(err)
	}
	if v := mustVerify(t, mem, "/data"); len(v.Problems)+len(v.Extra) > 0 || v.Operations == 0 {
		t.Errorf("of a whole directory: %+v", v)
	}
	mustMatch(t, mustOpen(t, Options{FS: everything(mem)}), m)
}

// unreadable is a disk without links on which one file cannot be read.
type unreadable struct {
	noLinks
	name *string
}

func (u unreadable) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := u.noLinks.Open(name, o...)
	if err == nil && name == *u.name {
		f = unreadableFile{f}
	}
	return f, err
}

type unreadableFile struct{ vfs.File }

func (unreadableFile) Read([]byte) (int, error) { return 0, syscall.EIO }

// A file that the disk does not give back is written again from memory, also where the
// backup is a copy.
func TestBackupOfUnreadable(t *testing.T) {
	mem, m := verifiable(t)
	for _, name := range filesOf(t, mem, "/data/values") {
		clone, none := mem.CrashClone(vfs.CrashCloneCfg{}), ""
		fsys := unreadable{noLinks{clone}, &none}
		var told []error
		s := mustOpen(t, Options{FS: fsys, Events: Events{Error: func(err error) { told = append(told, err) }}})
		none = name
		if err := s.Backup(t.Context(), "/backup"); err != nil {
			t.Fatal(err)
		}
		if len(told) != 1 || !strings.Contains(told[0].Error(), clone.PathBase(name)) {
			t.Errorf("told %v", told)
		}
		if err := Restore("/backup", "/again", clone); err != nil {
			t.Fatal(err)
		}
		again, err := Open("/again", Options{FS: clone})
		if err != nil {
			t.Fatal(err)
		}
		mustMatch(t, again, m)
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}
