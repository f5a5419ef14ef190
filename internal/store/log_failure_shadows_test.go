package store

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// change is a step of a scenario.
type change = func(*Store, model) (LSN, error)

// everyKind makes values of all kinds, of which some are in files.
var everyKind = []change{
	create("a", small), add("a", 0, 20), create("large", BloomConfig{ErrorRate: rare, Capacity: 15000, Expansion: 2}), add("large", 0, 50),
	create("redis", BloomConfig{ErrorRate: rare, Capacity: 50, Expansion: 2, Layout: LayoutRedisBloom}), add("redis", 0, 20),
	createCuckoo("cuckoo", CuckooConfig{Capacity: 30, Expansion: 2}), changeCuckoo("cuckoo", addCuckoo(0, 20)),
	createCountMin("count", CountMinConfig{Width: 30, Depth: 4}), count("count", 0, 20), createTopK("top", TopKConfig{K: 5}), rank("top", 0, 50),
	createForeign("foreign", 1000), nil, create("b", small), add("b", 0, 3), add("large", 40, 60), add("a", 20, 25),
}

// lastChanges are changes that a failure of the disk may leave in memory.
var lastChanges = map[string][]change{
	"keys": {add("a", 20, 60)}, "keys of several": {add("a", 20, 60), add("large", 55, 70), add("b", 2, 9)},
	"clear": {clearAll("a")}, "keys and clear": {add("a", 30, 40), clearAll("a"), add("a", 0, 2)},
	"delete": {remove("a", "large")}, "rename": {rename("a", "z")}, "rename over": {rename("a", "b")}, "swap": {rename("a", "z"), rename("b", "a"), rename("z", "b")},
	"create": {create("new", small), add("new", 0, 3)}, "replace": {remove("a"), create("a", small), add("a", 90, 95)},
	"flush": {func(s *Store, m model) (LSN, error) { clear(m); return s.Flush() }},
	"merge": {merge("a", "b")}, "merge anew": {merge("new", "b", "a")},
	"redis": {add("redis", 10, 60)}, "cuckoo": {changeCuckoo("cuckoo", addCuckoo(10, 40)), changeCuckoo("cuckoo", removeCuckoo(0, 5))},
	"sketches": {count("count", 5, 40), rank("top", 40, 90)}, "foreign": {createForeign("foreign2", 1000)}, "load": {load("b", "new")},
	"expire": {func(s *Store, m model) (LSN, error) {
		at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
		m["a"].(*modelBloom).expires = at
		_, lsn, err := s.Expire([]byte("a"), at)
		return lsn, err
	}},
}

// do makes changes in the store and in the model, and waits unless told otherwise.
func do(t *testing.T, s *Store, m model, wait bool, changes ...change) (last LSN) {
	t.Helper()
	for _, c := range changes {
		if c == nil {
			if err := s.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			continue
		}
		at, err := c(s, m)
		if err == nil && wait {
			err = s.Wait(t.Context(), at)
		}
		if err != nil {
			t.Fatal(err)
		}
		last = max(last, at)
	}
	return last
}

// TestQuestionsAfterFailure leaves changes of every kind in memory that the log does not
// get: questions are answered with what was durable, by every way to a value, and what
// comes after is what was answered, or what was tried too.
func TestQuestionsAfterFailure(t *testing.T) {
	for name, changes := range lastChanges {
		for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
			t.Run(fmt.Sprint(name, "/", cause), func(t *testing.T) {
				disk := newFullable()
				s := mustOpen(t, Options{FS: disk})
				durable := model{}
				do(t, s, durable, true, everyKind...)
				tried := durable.clone()
				var at LSN
				s.Atomically(func() { // one record, so that no part of it is written
					disk.failWith(cause)
					at = do(t, s, tried, false, changes...)
				})
				if err := s.Wait(t.Context(), at); err == nil {
					t.Fatal("a change that cannot be written is durable")
				}
				s.MayShow(t.Context(), 0) // it is known from then on
				if !s.MayShow(t.Context(), s.Absent()) || !s.MayShow(t.Context(), s.Shown()) {
					t.Errorf("what does not depend on a value may not be shown: %d, %d, durable %d", s.Absent(), s.Shown(), s.Durable())
				}
				mustMatch(t, s, durable)
				for name, v := range s.Names() {
					if v.LSN() > s.Durable() {
						t.Errorf("%q shows a change that is not durable", name)
					}
				}
				if n := s.Len(); n != len(durable) {
					t.Errorf("%d values, want %d", n, len(durable))
				}
				scanned := map[string]bool{}
				for cursor := uint64(0); ; {
					if cursor = s.Scan(cursor, 3, func(name string, _ Value) { scanned[name] = true }); cursor == 0 {
						break
					}
				}
				if len(scanned) != len(durable) {
					t.Errorf("a scan finds %d values, want %d", len(scanned), len(durable))
				}
				if _, _, err := s.Delete([]byte("a")); err == nil {
					t.Error("deleted while the log cannot be written")
				}
				refused(t, s, durable, s.Failed())
				if cause == syscall.ENOSPC {
					disk.fail.Store(nil)
					s.considerHealing()
					if err := s.Failed(); err != nil {
						t.Fatal(err)
					}
					mustMatch(t, s, tried)
					do(t, s, tried, true, create("later", small), add("later", 0, 5))
					again := mustOpen(t, Options{FS: disk.mem.CrashClone(vfs.CrashCloneCfg{})})
					mustMatch(t, again, tried)
					return
				}
				again := mustOpen(t, Options{FS: disk.mem.CrashClone(vfs.CrashCloneCfg{})})
				if err := again.opts.FS.(*vfs.MemFS); durable.check(again) != nil && tried.check(again) != nil {
					t.Errorf("after a restart: %v, %v, %v", err, durable.check(again), tried.check(again))
				}
			})
		}
	}
}

// TestFailureAnywhere lets the disk fail at every change of the file system, for good:
// questions are answered with what was acknowledged before, and the next start finds
// that, and perhaps what was under way.
func TestFailureAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("crash rounds")
	}
	steps := append(append([]change{}, everyKind...), nil, changeCuckoo("cuckoo", removeCuckoo(0, 1)), add("redis", 10, 30), rename("a", "z"),
		count("count", 5, 40), clearAll("large"), nil, remove("b"), rank("top", 40, 90), add("z", 40, 60))
	for n := int64(0); ; n++ {
		disk := newFullable()
		var opened atomic.Bool
		var changes atomic.Int64
		disk.before = func() error {
			if opened.Load() && changes.Add(1) > n {
				return syscall.EIO
			}
			return nil
		}
		s := mustOpen(t, Options{FS: disk})
		opened.Store(true)
		acked, failed := model{}, false
		tried := acked
		for _, step := range steps {
			if step == nil {
				_ = s.Checkpoint(t.Context()) // may fail
				continue
			}
			tried = acked.clone()
			at, err := step(s, tried)
			if err == nil {
				err = s.Wait(t.Context(), at)
			}
			if err != nil {
				failed = true
				break
			}
			acked = tried
		}
		if failed && s.Failed() != nil {
			s.MayShow(t.Context(), 0) // it is known from then on
			if !s.MayShow(t.Context(), s.Absent()) {
				t.Errorf("failure at change %d: nothing may be shown", n)
			}
			if err := acked.check(s); err != nil {
				t.Errorf("failure at change %d: %v", n, err)
			}
			for name, v := range s.Names() {
				if v.LSN() > s.Durable() {
					t.Errorf("failure at change %d: %q shows a change that is not durable", n, name)
				}
			}
		}
		crashed := disk.mem.CrashClone(vfs.CrashCloneCfg{})
		again, err := Open("/data", Options{FS: crashed})
		if err != nil {
			t.Fatalf("failure at change %d: %v", n, err)
		}
		if err := acked.check(again); err != nil {
			if other := tried.check(again); other != nil {
				t.Errorf("failure at change %d: after a restart: %v; %v", n, err, other)
			}
		}
		if err := errors.Join(again.Close()); err != nil {
			t.Error(err)
		}
		s.Close()
		if !failed && changes.Load() < n {
			t.Logf("%d changes", n)
			return
		}
	}
}

// With EverySecond a change is shown before it is durable, and stays so.
func TestQuestionsAfterFailureEverySecond(t *testing.T) {
	disk := newFullable()
	s := mustOpen(t, Options{FS: disk, Fsync: EverySecond})
	m := model{}
	do(t, s, m, true, everyKind...)
	disk.failWith(syscall.EIO)
	at := do(t, s, m, false, add("a", 20, 60), remove("b"))
	s.sync()
	for s.Failed() == nil {
		time.Sleep(time.Millisecond)
	}
	if !s.MayShow(t.Context(), at) || s.Wait(t.Context(), s.Shown()) != nil {
		t.Error("what was shown may not be shown any more")
	}
	mustMatch(t, s, m)
	refused(t, s, m, ErrFailed)
}

// A value whose time is over while its deletion cannot be written is absent, and has no name
// any more.
func TestShadowExpires(t *testing.T) {
	disk, clock := newFullable(), newClock()
	s := mustOpen(t, Options{FS: disk, Now: clock.Now})
	m := model{}
	do(t, s, m, true, create("a", small), add("a", 0, 5), create("b", small))
	_, at, err := s.Expire([]byte("a"), clock.Now().Add(time.Minute))
	if err == nil {
		err = s.Wait(t.Context(), at)
	}
	if err != nil {
		t.Fatal(err)
	}
	disk.failWith(syscall.EIO)
	if at, err = remove("a")(s, m); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context(), at); err == nil {
		t.Fatal("a change that cannot be written is durable")
	}
	s.MayShow(t.Context(), 0) // it is known from then on
	names := func() (all []string) {
		for name := range s.Names() {
			all = append(all, name)
		}
		slices.Sort(all)
		return all
	}
	if got := names(); s.Get([]byte("a")) == nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the names are %q before its time is over", got)
	}
	clock.advance(time.Hour)
	if got := names(); s.Get([]byte("a")) != nil || !slices.Equal(got, []string{"b"}) {
		t.Errorf("the names are %q after its time is over", got)
	}
}
