package store

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fullable is a disk that can be full: it says so when it is asked, or it only
// fails.
type fullable struct {
	*fence
	mem  *vfs.MemFS
	free atomic.Uint64
	fail atomic.Pointer[error]
}

func newFullable() *fullable {
	mem := vfs.NewCrashableMem()
	f := &fullable{fence: &fence{FS: mem}, mem: mem}
	f.free.Store(1 << 40)
	f.before = func() error {
		if p := f.fail.Load(); p != nil {
			return *p
		}
		return nil
	}
	return f
}

func (f *fullable) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: f.free.Load()}, nil
}

func (f *fullable) failWith(err error) { f.fail.Store(&err) }

func mustOpen(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open("/data", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// mustDo makes a change in the store and in the model, and waits for it.
func mustDo(t *testing.T, s *Store, m model, change func(*Store, model) (LSN, error)) {
	t.Helper()
	at, err := change(s, m)
	if err == nil {
		err = s.Wait(context.Background(), at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func mustMatch(t *testing.T, s *Store, m model) {
	t.Helper()
	if err := m.check(s); err != nil {
		t.Fatal(err)
	}
}

// refused checks that changes are refused with the given error, and that questions
// go on.
func refused(t *testing.T, s *Store, m model, want error) {
	t.Helper()
	s.MayShow(t.Context(), 0) // waits until it is known what can be shown
	if _, err := create("new", BloomConfig{ErrorRate: rare, Capacity: 10})(s, model{}); !errors.Is(err, want) {
		t.Errorf("creation: %v, want %v", err, want)
	}
	f := s.Get([]byte("a")).(Filter)
	if done, _, err := f.Add(make([]bool, 3), [][]byte{universe[0], universe[299], universe[298]}); done != 1 || !errors.Is(err, want) {
		t.Errorf("addition of a key that is there and of two that are not: %d were dealt with, %v, want %v", done, err, want)
	}
	if _, err := f.Clear(); !errors.Is(err, want) {
		t.Errorf("clearing: %v, want %v", err, want)
	}
	if _, err := s.Rename([]byte("a"), []byte("b"), false); !errors.Is(err, want) {
		t.Errorf("renaming: %v, want %v", err, want)
	}
	if err := s.Failed(); !errors.Is(err, want) {
		t.Errorf("Failed: %v, want %v", err, want)
	}
	if !s.MayShow(t.Context(), s.Durable()) {
		t.Error("what is durable may not be shown")
	}
	mustMatch(t, s, m)
}

func TestDiskReserve(t *testing.T) {
	disk := newFullable()
	recovered := 0
	s := mustOpen(t, Options{FS: disk, Reserve: 1000, Events: Events{Recovered: func() { recovered++ }}})
	m := model{}
	mustDo(t, s, m, create("a", BloomConfig{ErrorRate: rare, Capacity: 10, Expansion: 2}))
	mustDo(t, s, m, create("b", BloomConfig{ErrorRate: rare, Capacity: 10, Expansion: 2}))
	mustDo(t, s, m, add("a", 0, 50))
	disk.free.Store(999)
	s.considerSpace()
	refused(t, s, m, ErrDiskFull)
	mustDo(t, s, m, remove("b")) // makes room
	s.considerSpace()
	if recovered != 0 {
		t.Error("a store whose disk is full says that it has recovered")
	}
	disk.free.Store(1000)
	for range 2 {
		s.considerSpace()
	}
	if recovered != 1 {
		t.Errorf("a store that takes changes again has said so %d times", recovered)
	}
	mustDo(t, s, m, add("a", 40, 60))
	mustMatch(t, s, m)
	again := mustOpen(t, Options{FS: disk.mem.CrashClone(vfs.CrashCloneCfg{})})
	mustMatch(t, again, m)
}

func TestDiskRunsFull(t *testing.T) {
	for _, fsync := range []Fsync{Always, Never} {
		t.Run(fsync.String(), func(t *testing.T) {
			disk := newFullable()
			s := mustOpen(t, Options{FS: disk, Fsync: fsync})
			m := model{}
			mustDo(t, s, m, create("a", BloomConfig{ErrorRate: rare, Capacity: 10, Expansion: 2}))
			mustDo(t, s, m, add("a", 0, 50))
			if err := s.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			shown := m
			if fsync == Always {
				shown = m.clone() // what is not durable is not shown
			}
			disk.failWith(syscall.ENOSPC)
			at, err := add("a", 50, 60)(s, m)
			if err != nil {
				t.Fatal(err)
			}
			if fsync == Never { // nothing is written before there is a reason to
				if err := s.Checkpoint(t.Context()); !errors.Is(err, ErrDiskFull) && !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("checkpoint: %v", err)
				}
				s.sync()
			}
			if err := s.Wait(t.Context(), at); !errors.Is(err, ErrDiskFull) {
				t.Fatalf("Wait for a change that could not be written: %v", err)
			}
			refused(t, s, shown, ErrDiskFull)
			s.considerHealing()
			refused(t, s, shown, ErrDiskFull) // still full
			if err := s.Checkpoint(t.Context()); !errors.Is(err, ErrDiskFull) {
				t.Fatalf("checkpoint: %v", err)
			}
			disk.fail.Store(nil)
			s.considerHealing()
			if err := s.Failed(); err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(t.Context(), at); err != nil {
				t.Fatal(err)
			}
			again := mustOpen(t, Options{FS: disk.mem.CrashClone(vfs.CrashCloneCfg{})})
			mustMatch(t, again, m)
			mustDo(t, s, m, add("a", 60, 80))
			mustDo(t, s, m, create("b", BloomConfig{ErrorRate: rare, Capacity: 10, Expansion: 2}))
			mustDo(t, s, m, add("b", 0, 3))
			if fsync == Never {
				if err := s.Checkpoint(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			again = mustOpen(t, Options{FS: disk.mem.CrashClone(vfs.CrashCloneCfg{})})
			mustMatch(t, again, m)
		})
	}
}

// TestDiskFails is about a disk that does not take writes any more, for no reason
// that would pass: what was acknowledged is still answered, nothing else is accepted,
// and the next Open finds all that was acknowledged.
func TestDiskFails(t *testing.T) {
	disk := newFullable()
	s := mustOpen(t, Options{FS: disk})
	m := model{}
	mustDo(t, s, m, create("a", BloomConfig{ErrorRate: rare, Capacity: 10, Expansion: 2}))
	mustDo(t, s, m, add("a", 0, 50))
	acked := m.clone()
	disk.failWith(syscall.EIO)
	at, err := add("a", 50, 60)(s, m)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context(), at); !errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context(), at-1); err != nil {
		t.Fatalf("what was durable before is so no more: %v", err)
	}
	refused(t, s, acked, ErrFailed)
	disk.fail.Store(nil)
	s.considerHealing()
	refused(t, s, acked, ErrFailed)
	again := mustOpen(t, Options{FS: disk.mem.CrashClone(vfs.CrashCloneCfg{})})
	mustMatch(t, again, acked)
}

// TestDiskFullAnywhere lets every change of the file system be the first of some that
// fail because the disk is full, during commits, checkpoints and creations.
func TestDiskFullAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("crash rounds")
	}
	for n := int64(0); ; n++ {
		disk := newFullable()
		var opened atomic.Bool
		var changes atomic.Int64
		disk.before = func() error {
			if !opened.Load() {
				return nil
			}
			if c := changes.Add(1) - 1; c >= n && c < n+8 {
				return syscall.ENOSPC
			}
			return nil
		}
		s := mustOpen(t, Options{FS: disk})
		opened.Store(true)
		m := model{}
		for i, change := range []func(*Store, model) (LSN, error){
			create("a", BloomConfig{ErrorRate: rare, Capacity: 10, Expansion: 2}),
			create("large", BloomConfig{ErrorRate: rare, Capacity: 15000, Expansion: 2}),
			add("a", 0, 50), nil, add("large", 0, 50), nil, rename("a", "b"), add("b", 40, 60), merge("c", "large"), nil, add("c", 0, 100),
		} {
			if change == nil {
				_ = s.Checkpoint(t.Context()) // may fail
				continue
			}
			after := m.clone()
			at, err := change(s, after)
			for tries := 0; err != nil; tries++ { // refused: make room, and again
				if tries > 20 {
					t.Fatalf("full at change %d: step %d: %v", n, i, err)
				}
				s.considerHealing()
				after = m.clone()
				at, err = change(s, after)
			}
			m = after
			_ = s.Wait(t.Context(), at) // may fail
		}
		for tries := 0; s.Failed() != nil || s.Checkpoint(t.Context()) != nil; tries++ {
			if tries > 20 {
				t.Fatalf("full at change %d: %v", n, s.Failed())
			}
			s.considerHealing()
		}
		mustMatch(t, s, m)
		again := mustOpen(t, Options{FS: disk.mem.CrashClone(vfs.CrashCloneCfg{})})
		mustMatch(t, again, m)
		again.Close()
		s.Close()
		if changes.Load() < n {
			t.Logf("%d changes", n)
			return
		}
	}
}
