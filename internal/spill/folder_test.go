package spill

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"seen/internal/vfs/memfs"
)

// names returns what is in a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestFilesHaveNoName(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files have names there")
	}
	dir := t.TempDir()
	f := must(Open(Config{Dir: dir}))
	file := must(f.Create())
	at, err := file.Append([]byte("abc"))
	if err != nil || at != 0 {
		t.Fatal(at, err)
	}
	if at = must(file.Append([]byte("defg"))); at != 3 || file.Size() != 7 {
		t.Errorf("the second begins at %d of %d", at, file.Size())
	}
	b := make([]byte, 4)
	if err := file.ReadAt(b, 2); err != nil || string(b) != "cdef" {
		t.Errorf("%q, %v", b, err)
	}
	var damage *DamageError
	if err := file.ReadAt(b, 5); !errors.As(err, &damage) || !strings.Contains(err.Error(), "ends after 7 bytes") {
		t.Errorf("a read behind the end: %v", err)
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("files with names: %v", left)
	}
	if f.Used() != 7 || f.Peak() != 7 || f.Written() != 7 {
		t.Errorf("used %d, peak %d, written %d", f.Used(), f.Peak(), f.Written())
	}
	for range 2 {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
	if f.Used() != 0 || f.Peak() != 7 {
		t.Errorf("used %d, peak %d after Close", f.Used(), f.Peak())
	}
	if free, known := f.Free(); known && free == 0 {
		t.Error("no space is free")
	}
}

// Files of dead processes are removed, those of living ones and others stay.
func TestOrphansAreRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files of this process are as good as those of another there")
	}
	dir := t.TempDir()
	for _, name := range []string{".seen-spill.seen-tmp0", ".seen-spill.seen-tmp7", "seen-spill", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must(Open(Config{Dir: dir}))
	if left := strings.Join(names(t, dir), " "); left != "other seen-spill" {
		t.Errorf("left: %s", left)
	}
}

func TestFolderCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	_, err := Open(Config{Dir: missing})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "temporary files cannot be made in "+missing) {
		t.Errorf("a missing folder: %v", err)
	}
	if os.Geteuid() == 0 {
		return
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Dir: dir}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a folder that cannot be written: %v", err)
	}
}

func TestLimit(t *testing.T) {
	f := must(Open(Config{Dir: t.TempDir(), Max: 10}))
	file := must(f.Create())
	must(file.Append(make([]byte, 10)))
	var limit *LimitError
	if _, err := file.Append(make([]byte, 3)); !errors.As(err, &limit) || limit.Max != 10 || limit.Needed != 13 {
		t.Errorf("past the limit: %v", err)
	}
	if f.Used() != 10 || file.Size() != 10 {
		t.Errorf("used %d, size %d", f.Used(), file.Size())
	}
	file.Close()
	if _, err := must(f.Create()).Append(make([]byte, 10)); err != nil {
		t.Errorf("after Close: %v", err)
	}
}

func TestFullDisk(t *testing.T) {
	for _, number := range []syscall.Errno{syscall.ENOSPC, syscall.EIO} {
		m := memfs.New()
		f := must(Open(Config{Dir: "/tmp", FS: m}))
		file := must(f.Create())
		must(file.Append([]byte("abc")))
		m.SetFault(memfs.FailFrom(0, number))
		_, err := file.Append([]byte("abc"))
		var full *FullError
		if is := errors.As(err, &full); is != (number == syscall.ENOSPC) || is && (full.Used != 3 || full.Dir != "/tmp") || !errors.Is(err, number) {
			t.Errorf("%v: %v", number, err)
		}
		if _, err := f.Create(); !errors.Is(err, number) {
			t.Errorf("%v: a new file: %v", number, err)
		}
		m.SetFault(nil)
		if f.Used() != 3 || file.Size() != 3 {
			t.Errorf("used %d, size %d after an error", f.Used(), file.Size())
		}
		must(file.Append([]byte("def")))
		b := make([]byte, 6)
		if err := file.ReadAt(b, 0); err != nil || !bytes.Equal(b, []byte("abcdef")) {
			t.Errorf("%q, %v", b, err)
		}
		if left := m.Names(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}
