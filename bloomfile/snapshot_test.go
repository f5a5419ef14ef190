package bloomfile

import (
	"context"
	"errors"
	"sync"
	"testing"

	"seen/bloom"
	"seen/internal/vfs/memfs"
)

// TestSnapshotReplacesAsAWhole lets every operation of the file system fail in
// turn, and the settling: the file is the former one or the new one, and settle is
// called after the last byte of contents and before the replacement.
func TestSnapshotReplacesAsAWhole(t *testing.T) {
	const path = "/state"
	former, set := filled(t, bloom.Hash{}), filled(t, bloom.Hash{})
	former.Clear()
	set.AddHash(77)
	unsettled := errors.New("the output could not be synced")
	for fault := -1; ; fault++ {
		fsys := memfs.New()
		l, err := lock(fsys, path)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Write(former); err != nil {
			t.Fatal(err)
		}
		seen, settled := 0, 0
		broken := errors.New("broken")
		fail := memfs.FailNth(max(fault, 0), broken)
		fsys.SetFault(func(op, name string) error {
			if op == "rename" && settled == 0 {
				t.Error("replaced before it was settled")
			}
			if settled > 0 && op == "write" && fault < 0 {
				t.Error("written after it was settled")
			}
			seen++
			if fault < 0 {
				return nil
			}
			return fail(op, name)
		})
		var mutex sync.Mutex
		err = l.WriteSnapshot(t.Context(), set, &mutex, func() error {
			if !mutex.TryLock() {
				t.Error("the lock is held while it is settled")
			} else {
				mutex.Unlock()
			}
			if settled++; fault < 0 {
				return unsettled
			}
			return nil
		})
		fsys.SetFault(nil)
		v, readErr := l.Read(bloom.LoadOptions{})
		if readErr != nil {
			t.Fatalf("fault %d: %v", fault, readErr)
		}
		isNew := v.HasHash(77)
		switch {
		case fault < 0 && (!errors.Is(err, unsettled) || isNew):
			t.Errorf("not settled: error %v, replaced %v", err, isNew)
		case fault >= 0 && err == nil && !isNew:
			t.Errorf("fault %d: no error, and the former file is still there", fault)
		}
		if fault >= 0 && seen <= fault {
			if err != nil || settled != 1 {
				t.Errorf("without a fault: settled %d times, %v", settled, err)
			}
			return
		}
	}
}

// TestSnapshotStopsWithContext leaves the former file.
func TestSnapshotStopsWithContext(t *testing.T) {
	fsys := memfs.New()
	l, err := lock(fsys, "/state")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = l.WriteSnapshot(ctx, filled(t, bloom.Hash{}), new(sync.Mutex), func() error {
		t.Error("settled")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := fsys.Stat("/state"); err == nil {
		t.Error("a file was made")
	}
}
