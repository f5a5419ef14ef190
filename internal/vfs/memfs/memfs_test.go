package memfs

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"seen/internal/vfs"
)

// write makes the file name hold text, as a process does, with no sync.
func write(t *testing.T, m *FS, name, text string) vfs.File {
	t.Helper()
	f, err := m.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCrashLosesWhatIsNotSynced(t *testing.T) {
	m := New()
	f := write(t, m, "/d/synced", "abc")
	f.Sync()
	m.SyncDir("/d")
	f.Write([]byte("def"))
	write(t, m, "/d/unsynced", "abc")
	write(t, m, "/d/contents only", "abc").Sync()
	m.Crash(nil)
	if names := m.Names(); !slices.Equal(names, []string{"/d/synced"}) {
		t.Errorf("after the crash: %v", names)
	}
	if got, _ := m.ReadFile("/d/synced"); string(got) != "abc" {
		t.Errorf("after the crash: %q", got)
	}
	if _, err := f.Write([]byte("x")); !errors.Is(err, ErrCrashed) {
		t.Errorf("write to a file opened before the crash: %v", err)
	}
}

// TestCrashOutcomes checks that everything FS's doc comment allows happens, and
// nothing else.
func TestCrashOutcomes(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(300) {
		m := New()
		m.WriteFile("/d/old", []byte("old"), 0o644)
		write(t, m, "/d/new", strings.Repeat("a", page)+"b")
		if err := m.Rename("/d/new", "/d/old"); err != nil {
			t.Fatal(err)
		}
		m.Crash(rand.New(rand.NewPCG(seed, 1)))
		outcome := strings.Join(m.Names(), " ") + ":"
		for _, name := range m.Names() {
			got, _ := m.ReadFile(name)
			switch s := string(got); {
			case s == "old" || s == "":
				outcome += " " + s
			case len(s) == page+1:
				outcome += " " + strings.ReplaceAll(s[:1]+s[page:], "\x00", "0")
			default:
				t.Fatalf("contents %q", got)
			}
		}
		seen[outcome] = true
	}
	for _, want := range []string{
		"/d/old: old",                                  // all lost
		"/d/new /d/old:  old", "/d/new /d/old: ab old", // created, not renamed
		"/d/old: ", "/d/old: 00", "/d/old: a0", "/d/old: 0b", "/d/old: ab", // renamed
	} {
		if !seen[want] {
			t.Errorf("never seen: %q", want)
		}
	}
	for outcome := range seen {
		if strings.HasPrefix(outcome, "/d/new:") || outcome == ":" {
			t.Errorf("half a rename: %q", outcome)
		}
	}
}

func TestMemMapping(t *testing.T) {
	m := New()
	m.WriteFile("/d/f", make([]byte, 3*page), 0o644)
	f, err := m.OpenFile("/d/f", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.(vfs.Mapper).Map(3*page, true)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		p.Bytes()[i*page] = 1
	}
	one := make([]byte, 1)
	if _, err := f.ReadAt(one, 2*page); err != nil || one[0] != 1 {
		t.Errorf("a store into the mapping reads as %d, %v", one[0], err)
	}
	if err := p.Sync(page, page); err != nil {
		t.Fatal(err)
	}
	// The journal of a changing file grows behind its mapping.
	if _, err := f.WriteAt([]byte{7}, 3*page); err != nil {
		t.Fatal(err)
	}
	p.Bytes()[1] = 9
	if now, _ := m.ReadFile("/d/f"); now[1] != 9 || len(now) != 3*page+1 {
		t.Error("the mapping has lost its file")
	}
	if err := f.Truncate(3 * page); err != nil {
		t.Fatal(err)
	}
	if now, _ := m.ReadFile("/d/f"); len(now) != 3*page {
		t.Errorf("%d bytes after the truncation", len(now))
	}
	m.Crash(nil)
	got, _ := m.ReadFile("/d/f")
	if got[0] != 0 || got[page] != 1 || got[2*page] != 0 {
		t.Errorf("after the crash: %d %d %d, want 0 1 0", got[0], got[page], got[2*page])
	}
	if _, err := f.(vfs.Mapper).Map(4*page, false); err == nil {
		t.Error("mapped more than the file")
	}
}

func TestKillLosesNothingWritten(t *testing.T) {
	m := New()
	f := write(t, m, "/d/f", "abc")
	if _, err := vfs.Lock(m, "/d/f"); err != nil {
		t.Fatal(err)
	}
	before, _ := m.BootID()
	m.Kill()
	if got, _ := m.ReadFile("/d/f"); string(got) != "abc" {
		t.Errorf("after the kill: %q", got)
	}
	if after, _ := m.BootID(); before != after {
		t.Error("the machine has another boot id")
	}
	if _, err := vfs.Lock(m, "/d/f"); err != nil {
		t.Errorf("the lock outlived its holder: %v", err)
	}
	if err := f.Sync(); !errors.Is(err, ErrCrashed) {
		t.Errorf("a killed process has synced: %v", err)
	}
}

func TestMemLocksEndWithTheMachine(t *testing.T) {
	m := New()
	l, err := vfs.Lock(m, "/d/f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vfs.Lock(m, "/d/f"); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("second lock: %v", err)
	}
	before, _ := m.BootID()
	m.Crash(nil)
	if after, _ := m.BootID(); before == after {
		t.Error("the boot id survived the crash")
	}
	second, err := vfs.Lock(m, "/d/f")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // of the former life: must not release the lock of this one
	if _, err := vfs.Lock(m, "/d/f"); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("lock released by a process that crashed: %v", err)
	}
	second.Close()
}

// TestMemIsAFileSystem compares FS with what package os does on the same calls.
func TestMemIsAFileSystem(t *testing.T) {
	m := New()
	dir := t.TempDir()
	for name, fsys := range map[string]vfs.FS{"memory": m, "system": vfs.OS} {
		base := "/d"
		if fsys == vfs.OS {
			base = dir
		}
		path := filepath.Join(base, "f")
		fails := func(what string, want error, err error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Errorf("%s: %s: %v, want %v", name, what, err, want)
			}
		}
		works := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %s: %v", name, what, err)
			}
		}
		_, err := fsys.OpenFile(path, os.O_RDONLY, 0)
		fails("open a missing file", fs.ErrNotExist, err)
		_, err = fsys.Stat(path)
		fails("stat a missing file", fs.ErrNotExist, err)
		fails("remove a missing file", fs.ErrNotExist, fsys.Remove(path))
		fails("rename a missing file", fs.ErrNotExist, fsys.Rename(path, path+"2"))
		if _, err := fsys.Readlink(path); err == nil {
			t.Errorf("%s: read a missing link", name)
		}
		f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		works("create", err)
		_, err = fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		fails("create again", fs.ErrExist, err)
		for _, part := range []string{"hello ", "world"} {
			n, err := f.Write([]byte(part))
			if works("write", err); n != len(part) {
				t.Errorf("%s: wrote %d", name, n)
			}
		}
		_, err = f.WriteAt([]byte("!"), 14)
		works("write beyond the end", err)
		works("truncate to more", f.Truncate(16))
		b := make([]byte, 20)
		if n, err := f.ReadAt(b, 4); n != 12 || err != io.EOF || string(b[:n]) != "o world\x00\x00\x00!\x00" {
			t.Errorf("%s: read %d, %q, %v", name, n, b[:n], err)
		}
		if n, err := f.ReadAt(b, 16); n != 0 || err != io.EOF {
			t.Errorf("%s: read at the end: %d, %v", name, n, err)
		}
		works("truncate to less", f.Truncate(5))
		works("chmod", f.Chmod(0o400))
		info, err := f.Stat()
		works("stat", err)
		named, err := fsys.Stat(path)
		works("stat by name", err)
		for _, i := range []fs.FileInfo{info, named} {
			if i.Name() != "f" || i.Size() != 5 || i.Mode() != 0o400 || i.IsDir() {
				t.Errorf("%s: %s of %d bytes, %v", name, i.Name(), i.Size(), i.Mode())
			}
		}
		works("close", f.Close())
		fails("close again", fs.ErrClosed, f.Close())
		_, err = f.Read(b)
		fails("read a closed file", fs.ErrClosed, err)
		works("rename", fsys.Rename(path, path+"2"))
		g, err := fsys.OpenFile(path+"2", os.O_RDONLY, 0)
		works("open", err)
		if all, err := io.ReadAll(g); string(all) != "hello" || err != nil {
			t.Errorf("%s: %q, %v", name, all, err)
		}
		works("close", g.Close())
		works("sync the folder", fsys.SyncDir(base))
		works("remove", fsys.Remove(path+"2"))
	}
}
