//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package vfs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"seen/internal/vfs"
	"seen/internal/vfs/memfs"
)

func put(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func folder(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWriteAtomicKeepsMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for i, mode := range []fs.FileMode{0, 0o600, 0o664} {
		if mode != 0 {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		text := fmt.Sprint("version ", i)
		if err := vfs.WriteAtomic(vfs.OS, path, put(text)); err != nil {
			t.Fatal(err)
		}
		if got := mustRead(t, path); got != text {
			t.Errorf("contents %q, want %q", got, text)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if mode == 0 {
			mode = 0o666 &^ umask(t)
		}
		if info.Mode().Perm() != mode {
			t.Errorf("mode %v, want %v", info.Mode().Perm(), mode)
		}
	}
	if names := folder(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("left in the folder: %v", names)
	}
}

// umask finds out what mode a new file gets.
func umask(t *testing.T) fs.FileMode {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "new"), os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return 0o666 &^ info.Mode().Perm()
}

func TestWriteAtomicFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": "real", "sub/link2": "../link", "loop": "loop", "absolute": real} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	// The first write goes through links whose target does not exist yet.
	for _, name := range []string{"sub/link2", "link", "absolute"} {
		if err := vfs.WriteAtomic(vfs.OS, filepath.Join(dir, name), put(name)); err != nil {
			t.Fatal(err)
		}
		if got := mustRead(t, real); got != name {
			t.Errorf("through %s: target holds %q", name, got)
		}
		if _, err := os.Readlink(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s is no link any more: %v", name, err)
		}
	}
	if err := vfs.WriteAtomic(vfs.OS, filepath.Join(dir, "loop"), put("x")); err == nil {
		t.Error("a link to itself was written")
	}
}

func TestWriteAtomicRefuses(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, fifo} {
		err := vfs.WriteAtomic(vfs.OS, path, put("x"))
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := vfs.WriteAtomic(vfs.OS, filepath.Join(dir, "missing", "f"), put("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a missing folder: %v", err)
	}
	// In memory, because root may write what is read-only.
	m := memfs.New()
	m.WriteFile("/d/f", []byte("former"), 0o444)
	if err := vfs.WriteAtomic(m, "/d/f", put("x")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("read-only: %v", err)
	}
	if got, _ := m.ReadFile("/d/f"); string(got) != "former" {
		t.Errorf("read-only file now holds %q", got)
	}
}

func TestFailedWriteLeavesFormerFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := vfs.WriteAtomic(vfs.OS, path, put("former")); err != nil {
		t.Fatal(err)
	}
	fails := errors.New("no more data")
	err := vfs.WriteAtomic(vfs.OS, path, func(w io.Writer) error {
		io.WriteString(w, "half of the n")
		return fails
	})
	if err != fails {
		t.Errorf("error %v", err)
	}
	func() {
		defer func() { recover() }()
		vfs.WriteAtomic(vfs.OS, path, func(io.Writer) error { panic("bug") })
	}()
	r, err := vfs.Replace(vfs.OS, path, vfs.Shared)
	if err != nil {
		t.Fatal(err)
	}
	r.Abort()
	if err := r.Commit(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Commit after Abort: %v", err)
	}
	if got := mustRead(t, path); got != "former" {
		t.Errorf("contents %q", got)
	}
	if names := folder(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("left in the folder: %v", names)
	}
}

const former, latter = "former contents", "latter contents, which are longer, so that a mixture would show"

// operations counts those of one vfs.WriteAtomic over a former file.
func operations(t *testing.T) int {
	t.Helper()
	m := memfs.New()
	m.WriteFile("/d/f", []byte(former), 0o644)
	n := 0
	m.SetFault(func(op, name string) error { n++; return nil })
	if err := vfs.WriteAtomic(m, "/d/f", put(latter)); err != nil {
		t.Fatal(err)
	}
	return n
}

// crashEverywhere stops the machine at each operation of a vfs.WriteAtomic in many
// ways and returns what it finds wrong. wrap may break the file system.
func crashEverywhere(t *testing.T, wrap func(vfs.FS) vfs.FS) (problems []string) {
	for n := range operations(t) + 1 {
		for seed := range uint64(60) {
			m := memfs.New()
			m.WriteFile("/d/f", []byte(former), 0o644)
			m.SetFault(memfs.FailFrom(n, syscall.EIO))
			err := vfs.WriteAtomic(wrap(m), "/d/f", put(latter))
			m.Crash(rand.New(rand.NewPCG(seed, uint64(n))))
			got, readErr := m.ReadFile("/d/f")
			switch {
			case readErr != nil:
				problems = append(problems, fmt.Sprintf("crash at operation %d: %v", n, readErr))
			case string(got) != former && string(got) != latter:
				problems = append(problems, fmt.Sprintf("crash at operation %d: torn: %q", n, got))
			case err == nil && string(got) != latter:
				problems = append(problems, fmt.Sprintf("crash after success: %q", got))
			}
			// The next writer works and clears what was left.
			if err := vfs.WriteAtomic(m, "/d/f", put("next")); err != nil {
				t.Fatalf("after a crash at operation %d: %v", n, err)
			}
			if names := m.Names(); !slices.Equal(names, []string{"/d/f"}) {
				t.Fatalf("after a crash at operation %d and a new write: %v", n, names)
			}
		}
	}
	return problems
}

func TestCrashLeavesOneOfTwoFiles(t *testing.T) {
	if p := crashEverywhere(t, func(f vfs.FS) vfs.FS { return f }); len(p) > 0 {
		t.Errorf("%d problems; first: %s", len(p), p[0])
	}
}

// noSync and noSyncDir are the file system without one of the two syncs.
type noSync struct{ vfs.FS }

type noSyncFile struct{ vfs.File }

func (f noSync) CreateTemp(name string, perm fs.FileMode) (vfs.File, error) {
	t, err := f.FS.CreateTemp(name, perm)
	return noSyncFile{t}, err
}

func (noSyncFile) Sync() error { return nil }

type noSyncDir struct{ vfs.FS }

func (noSyncDir) SyncDir(string) error { return nil }

// TestCrashTestSeesMissingSyncs shows that TestCrashLeavesOneOfTwoFiles would
// fail if either sync were dropped.
func TestCrashTestSeesMissingSyncs(t *testing.T) {
	for name, c := range map[string]struct {
		wrap func(vfs.FS) vfs.FS
		want string
	}{
		"file":   {func(f vfs.FS) vfs.FS { return noSync{f} }, "torn"},
		"folder": {func(f vfs.FS) vfs.FS { return noSyncDir{f} }, "crash after success"},
	} {
		p := crashEverywhere(t, c.wrap)
		if !slices.ContainsFunc(p, func(s string) bool { return strings.Contains(s, c.want) }) {
			t.Errorf("without the sync of the %s no crash shows %q; problems: %q", name, c.want, p)
		}
	}
}

func TestFaultLeavesOneOfTwoFiles(t *testing.T) {
	for n := range operations(t) {
		m := memfs.New()
		m.WriteFile("/d/f", []byte(former), 0o640)
		failed := ""
		fault := memfs.FailNth(n, syscall.ENOSPC)
		m.SetFault(func(op, name string) error {
			err := fault(op, name)
			if err != nil {
				failed = op
			}
			return err
		})
		err := vfs.WriteAtomic(m, "/d/f", put(latter))
		m.SetFault(nil)
		got, _ := m.ReadFile("/d/f")
		info, _ := m.Stat("/d/f")
		want := former
		switch failed {
		case "readlink":
			want = latter // taken for what is no link
		case "syncdir":
			want = latter
		case "close":
			if err == nil { // the last, after everything that can be lost
				want = latter
			}
		}
		if string(got) != want || info.Mode() != 0o640 {
			t.Errorf("%s failed: %q %v, want %q", failed, got, info.Mode(), want)
		}
		if err == nil && want == former || err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s failed: error %v", failed, err)
		}
		if names := m.Names(); len(names) != 1 {
			t.Errorf("%s failed: files %v", failed, names)
		}
	}
}

// Errors name the file that the caller named, not the temporary file or the lock.
func TestErrorsNameTheFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	name := filepath.Join(dir, "f")
	expect := func(what string, err error, want string) {
		t.Helper()
		if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), want+" "+name+": ") {
			t.Errorf("%s: %v, want one that begins with %q", what, err, want+" "+name)
		}
	}
	_, err := vfs.Replace(vfs.OS, name, vfs.Shared)
	expect("no folder", err, "open")
	_, err = vfs.Lock(vfs.OS, name)
	expect("no folder for the lock", err, "lock")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	r, err := vfs.Replace(vfs.OS, name, vfs.Shared)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	expect("the folder is gone", r.Commit(), "replace")

	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	r, err = vfs.Replace(vfs.OS, name, vfs.Shared)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Write([]byte("late")); err == nil || strings.Contains(err.Error(), "seen-tmp") {
		t.Errorf("a write after the end: %v", err)
	}
}
