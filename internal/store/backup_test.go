package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestBackupIsOneMoment makes backups while transactions keep two filters and a
// cuckoo filter in step: every backup has them in step.
func TestBackupIsOneMoment(t *testing.T) {
	mem := vfs.NewMem()
	s := mustOpen(t, Options{FS: mem, Fsync: Never, CheckpointBytes: 4 << 10})
	m := populate(t, s)
	for _, name := range []string{"x", "y"} {
		if _, _, err := s.CreateBloom([]byte(name), BloomConfig{ErrorRate: rare, Capacity: 100, Expansion: 2}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.CreateCuckoo([]byte("z"), CuckooConfig{Capacity: 100, Expansion: 2}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := uint64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			key := [][]byte{binary.BigEndian.AppendUint64(nil, i)}
			s.Atomically(func() {
				_, _, errX := s.Get([]byte("x")).(Filter).Add(make([]bool, 1), key)
				_, _, errY := s.Get([]byte("y")).(Filter).Add(make([]bool, 1), key)
				_, errZ := s.Get([]byte("z")).(*Cuckoo).Add(key, func(_ int, err error) {
					if err != nil {
						t.Error(err)
					}
				})
				if err := errors.Join(errX, errY, errZ); err != nil {
					t.Error(err)
				}
			})
		}
	})
	for _, dir := range []string{"/backup1", "/backup2", "/backup3"} {
		if err := s.Backup(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	if err := s.Backup(t.Context(), "/backup1"); err == nil {
		t.Error("a backup over another")
	}
	last := uint64(0)
	for _, dir := range []string{"/backup1", "/backup2", "/backup3"} {
		restored := dir + "-restored/data"
		if err := mem.MkdirAll(dir+"-restored", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := Restore(dir, restored, mem); err != nil {
			t.Fatal(err)
		}
		if err := Restore(dir, restored, mem); err == nil {
			t.Error("restored over another")
		}
		r, err := Open(restored, Options{FS: mem})
		if err != nil {
			t.Fatal(err)
		}
		x, y := r.Get([]byte("x")).(Filter).Info().Added, r.Get([]byte("y")).(Filter).Info().Added
		z := r.Get([]byte("z")).(*Cuckoo).Info().Added
		if x != y || x != z || x < last {
			t.Errorf("%s has %d, %d and %d keys, the one before %d", dir, x, y, z, last)
		}
		last = x
		for name, want := range m {
			if err := want.check(r.Get([]byte(name))); err != nil {
				t.Errorf("%s: %q: %v", dir, name, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		checkIncomplete(t, mem, dir)
		// Without the mark it is not a backup.
		if err := mem.Remove(dir + "/" + completeName); err != nil {
			t.Fatal(err)
		}
		if err := Restore(dir, dir+"-again", mem); err == nil {
			t.Error("an incomplete backup was restored")
		}
	}
}

// checkIncomplete takes away each file of a backup in turn, and cuts each short: what
// is left, as of a copy that was broken off, is refused.
func checkIncomplete(t *testing.T, mem *vfs.MemFS, backup string) {
	list, err := listAll(mem, backup)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list.entries {
		name := mem.PathJoin(backup, l.name)
		b, err := readSmall(mem, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := mem.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := Restore(backup, backup+"-part", mem); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("restored without %s: %v", name, err)
		}
		if len(b) > 0 {
			if err := writeSmall(mem, mem.PathDir(name), mem.PathBase(name), b[:len(b)-1]); err != nil {
				t.Fatal(err)
			}
			if err := Restore(backup, backup+"-part", mem); err == nil || !strings.Contains(err.Error(), "when the backup was written") {
				t.Errorf("restored with a short %s: %v", name, err)
			}
		}
		if err := writeSmall(mem, mem.PathDir(name), mem.PathBase(name), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := Restore(backup, backup+"-whole", mem); err != nil {
		t.Error(err)
	}
}

// TestOnDisk runs a store on the system's files: permissions, a second process, a
// backup, and what is left in the folder.
func TestOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "data")
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := populate(t, s)
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second Open: %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, secretName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("secret: %v, %v", info, err)
	}
	backup := filepath.Join(t.TempDir(), "backup")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	mustDo(t, s, m, add("small", 100, 200))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
	if s, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	mustMatch(t, s, m)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	if err := Restore(backup, restored, nil); err != nil {
		t.Fatal(err)
	}
	info, err = os.Stat(filepath.Join(restored, secretName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("restored secret: %v, %v", info, err)
	}
	if s, err = Open(restored, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := s.Get([]byte("small")).(Filter).Info().Added; got != 100 {
		t.Errorf("%d keys in the restored filter", got)
	}
}

// Of two backups to one folder at the same time one is refused, and the other is whole.
func TestTwoBackupsToOneFolder(t *testing.T) {
	mem := vfs.NewMem()
	s := mustOpen(t, Options{FS: mem})
	populate(t, s)
	for i := range 10 {
		dir := fmt.Sprint("/backup", i)
		s.checkpointing.Lock() // both begin before one has written anything
		errs := make(chan error, 2)
		for range cap(errs) {
			go func() { errs <- s.Backup(t.Context(), dir) }()
		}
		time.Sleep(5 * time.Millisecond)
		s.checkpointing.Unlock()
		if first, second := <-errs, <-errs; (first == nil) == (second == nil) {
			t.Errorf("errors %v and %v", first, second)
		}
		if v := mustVerify(t, mem, dir); !v.Backup || len(v.Problems) > 0 {
			t.Errorf("backup: %+v", v)
		}
	}
}

// cancelling is a disk without links that calls cancel for each file of values in a backup.
type cancelling struct {
	noLinks
	cancel func()
}

func (c cancelling) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(name, "/backup/"+filesName) {
		c.cancel()
	}
	return c.noLinks.Create(name, category)
}

// A backup whose caller no longer waits ends within a file, and leaves nothing.
func TestBackupIsStopped(t *testing.T) {
	mem, _ := verifiable(t)
	ctx, cancel := context.WithCancel(t.Context())
	files := 0
	s := mustOpen(t, Options{FS: cancelling{noLinks{mem}, func() { files++; cancel() }}})
	if err := s.Backup(ctx, "/backup"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if files != 1 {
		t.Errorf("%d files were begun", files)
	}
	if names, err := mem.List("/backup"); err != nil || len(names) > 0 {
		t.Errorf("left: %v, %v", names, err)
	}
}
