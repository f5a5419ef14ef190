package store

import (
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// roomForLog is a disk that has room for the log, but perhaps not for the files of
// values.
type roomForLog struct {
	*fullable
	only atomic.Bool
}

func (r *roomForLog) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if r.only.Load() && strings.HasSuffix(name, fileSuffix) {
		return nil, syscall.ENOSPC
	}
	return r.fullable.Create(name, c)
}

// Attempts to write again, of which there is one every second as long as the disk has
// too little room for a checkpoint, leave nothing behind.
func TestFailedHealingLeavesNothing(t *testing.T) {
	disk := &roomForLog{fullable: newFullable()}
	s := mustOpen(t, Options{FS: disk})
	m := model{}
	mustDo(t, s, m, create("a", BloomConfig{ErrorRate: rare, Capacity: 30_000, Expansion: 2}))
	mustDo(t, s, m, add("a", 0, 50))
	disk.only.Store(true)
	disk.failWith(syscall.ENOSPC)
	at, err := add("a", 50, 60)(s, m)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context(), at); err == nil {
		t.Fatal("a change on a full disk is durable")
	}
	disk.fail.Store(nil)
	s.considerHealing()
	was := runtime.NumGoroutine()
	for range 20 {
		s.considerHealing()
	}
	if s.Failed() == nil {
		t.Fatal("it wrote a checkpoint without room")
	}
	if is := runtime.NumGoroutine(); is > was+20 {
		t.Errorf("20 attempts left %d goroutines", is-was)
	}
	disk.only.Store(false)
	s.considerHealing()
	if err := s.Wait(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, Options{FS: disk.mem.CrashClone(vfs.CrashCloneCfg{})})
	mustMatch(t, again, m)
	disk.only.Store(true)
	disk.failWith(syscall.ENOSPC)
	if at, err = add("a", 60, 70)(s, m); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context(), at); err == nil {
		t.Fatal("a change on a full disk is durable")
	}
	disk.fail.Store(nil)
	s.considerHealing() // without success, and the store is closed after that
	if err := s.Close(); err == nil {
		t.Error("Close of what could not be written reports nothing")
	}
}
