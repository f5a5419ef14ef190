package bloomfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestMapped(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	page := os.Getpagesize()
	contents := make([]byte, 3*page+5)
	contents[len(contents)-1] = 7
	if err := os.WriteFile(name, contents, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Map(name)
	if err != nil {
		t.Fatal(err)
	}
	last := func() (last byte, err error) {
		err = m.Guard(func() error {
			last = m.Bytes()[len(contents)-1]
			return nil
		})
		return last, err
	}
	if b, err := last(); len(m.Bytes()) != len(contents) || b != 7 || err != nil {
		t.Fatal(len(m.Bytes()), b, err)
	}
	want := errors.New("its own")
	if err := m.Guard(func() error { return want }); err != want {
		t.Error(err)
	}
	if runtime.GOOS == "linux" {
		if err := os.Truncate(name, int64(page)); err != nil {
			t.Fatal(err)
		}
		if _, err := last(); err == nil || !strings.Contains(err.Error(), "was truncated while it was open") {
			t.Error(err)
		}
	}
	func() {
		defer func() {
			if r := recover(); r != "not ours" {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = m.Guard(func() error { panic("not ours") })
	}()
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := m.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
}

func TestMapRefuses(t *testing.T) {
	dir := t.TempDir()
	if m, err := Map(dir); m != nil || err == nil || !strings.Contains(err.Error(), "regular") && !strings.Contains(err.Error(), "directory") {
		t.Error(m, err)
	}
	if m, err := Map(filepath.Join(dir, "none")); m != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Error(m, err)
	}
	name := filepath.Join(dir, "empty")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Map(name)
	if err != nil || len(m.Bytes()) != 0 {
		t.Fatal(m, err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
