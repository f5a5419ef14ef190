//go:build unix

package store

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// openToAll makes the process give all rights to what it makes, until the test ends.
func openToAll(t *testing.T) {
	t.Helper()
	former := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(former) })
}

// wantPrivate fails for everything in a folder, but the folder itself, that others than
// the owner have a right to.
func wantPrivate(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := privateFile
		if d.IsDir() {
			want = privateFolder
		}
		if name != dir && info.Mode().Perm() != want {
			t.Errorf("%s has the mode %04o, want %04o", name, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fillLarge makes values that have files of their own, and has them written.
func fillLarge(t *testing.T, s *Store) {
	t.Helper()
	f, _, err := s.CreateBloom([]byte("large"), BloomConfig{Capacity: 200_000, ErrorRate: 0.01, Expansion: 2})
	if err != nil {
		t.Fatal(err)
	}
	keys := make([][]byte, 10_000)
	for i := range keys {
		keys[i] = fmt.Append(nil, i)
	}
	if _, _, err := f.Add(make([]bool, len(keys)), keys); err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// Whatever the umask, and in folders that others can enter, everything that a store
// makes is for its owner alone: data, backup and what is restored.
func TestEverythingIsPrivate(t *testing.T) {
	openToAll(t)
	base := t.TempDir()
	dir, backup, restored := filepath.Join(base, "data"), filepath.Join(base, "backup"), filepath.Join(base, "restored")
	for _, name := range []string{dir, backup} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time files are used again
		s, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.lookup([]byte("large")) == nil {
			fillLarge(t, s)
		}
		wantPrivate(t, dir)
		if _, err := os.Stat(filepath.Join(backup, completeName)); err != nil {
			if err := s.Backup(context.Background(), backup); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wantPrivate(t, dir)
	wantPrivate(t, backup)
	if err := Restore(backup, restored, nil); err != nil {
		t.Fatal(err)
	}
	wantPrivate(t, restored)
	if info, err := os.Stat(restored); err != nil || info.Mode().Perm() != privateFolder {
		t.Errorf("the restored folder: %v, %v", info, err)
	}
	if _, all, err := Loose(restored); err != nil || all != 0 {
		t.Errorf("%d files can be reached, %v", all, err)
	}
	if names, all, err := Loose(dir); err != nil || all != 1 || !strings.Contains(names[0], "0755") {
		t.Errorf("of the folder that was there: %v, %d, %v", names, all, err)
	}
}

// Files of earlier versions, which others could read, are still read, are named, and do
// not get into a backup with their mode.
func TestLooseFilesOfEarlierVersions(t *testing.T) {
	openToAll(t)
	base := t.TempDir()
	dir, backup := filepath.Join(base, "data"), filepath.Join(base, "backup")
	s, err := Open(dir, Options{FS: vfs.Default}) // as they did
	if err != nil {
		t.Fatal(err)
	}
	fillLarge(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	names, all, err := Loose(dir)
	if err != nil || all < 3 || len(names) != 3 {
		t.Errorf("%v, %d, %v", names, all, err)
	}
	if s, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(context.Background(), backup); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantPrivate(t, backup)
	if _, all, err := Loose(filepath.Join(base, "nothing")); all != 0 || err != nil {
		t.Errorf("of no folder: %d, %v", all, err)
	}
}

// A file is private from its first moment on.
func TestPrivateFromTheFirstMoment(t *testing.T) {
	openToAll(t)
	name := filepath.Join(t.TempDir(), "f")
	stop, seen := make(chan struct{}), make(chan fs.FileMode)
	go func() {
		worst := fs.FileMode(0)
		for {
			if info, err := os.Stat(name); err == nil {
				worst |= info.Mode().Perm()
			}
			select {
			case <-stop:
				seen <- worst
				return
			default:
			}
		}
	}()
	for until := time.Now().Add(100 * time.Millisecond); time.Now().Before(until); {
		f, err := systemFS.Create(name, writeCategory)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if worst := <-seen; worst&^privateFile != 0 {
		t.Errorf("it had the mode %04o", worst)
	}
}
