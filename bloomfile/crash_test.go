package bloomfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"seen/bloom"
	"seen/internal/frame"
	"seen/internal/vfs"
	"seen/internal/vfs/memfs"
	"seen/sizing"
)

const memPath = "/d/f.seen"

// crashFile returns a file of three chunks, the last short, the second of which
// may be damaged.
func crashFile(t testing.TB, damaged bool) []byte {
	t.Helper()
	f, err := bloom.NewPartitioned(bloom.Config{Params: sizing.Params{
		Shape: sizing.Partitioned, M: 4 * (2*frame.ChunkSize + 5000) * 2, K: 4,
	}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if damaged {
		b[4096+frame.ChunkSize] ^= 1
	}
	return b
}

// session is what a process does to the file in these tests. It records which
// hashes it was told are in: acked when Add returned, durable when Sync did.
type session struct {
	acked, durable []uint64
}

func (s *session) run(fsys vfs.FS) error {
	f, err := open(fsys, memPath, Options{Writable: true})
	if err != nil {
		return err
	}
	// A real process whose syncs fail goes on or ends; this one closes, which may
	// fail too.
	defer f.Close()
	for round := range uint64(3) {
		for _, h := range hashes(round, 5) {
			_, err := f.AddHash(h)
			var damage *CorruptError
			if errors.As(err, &damage) {
				continue // not in, and not said to be
			}
			if err != nil {
				return err
			}
			s.acked = append(s.acked, h)
		}
		if round < 2 {
			if err := f.Sync(); err != nil {
				return err
			}
			s.durable = append(s.durable[:0:0], s.acked...)
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	s.durable = s.acked
	return nil
}

// steps counts the operations of a session.
func steps(t *testing.T, damaged bool) int {
	t.Helper()
	m := memfs.New()
	m.WriteFile(memPath, crashFile(t, damaged), 0o644)
	n := 0
	m.SetFault(func(op, name string) error { n++; return nil })
	var s session
	if err := s.run(m); err != nil {
		t.Fatal(err)
	}
	return n
}

// missing returns what is wrong with the file for one who was told that hs are in.
func missing(fsys vfs.FS, hs []uint64, damaged bool) error {
	f, err := open(fsys, memPath, Options{})
	if err != nil {
		return err
	}
	defer f.Close()
	for _, h := range hs {
		if found, err := f.HasHash(h); err != nil || !found {
			return fmt.Errorf("acknowledged key: %v, %v", found, err)
		}
	}
	var found []int64
	for err := range f.Check() {
		var damage *CorruptError
		if !errors.As(err, &damage) {
			return err
		}
		found = append(found, damage.Offset)
	}
	want := "[]"
	if damaged {
		want = fmt.Sprint([]int64{4096 + frame.ChunkSize})
	}
	if fmt.Sprint(found) != want {
		return fmt.Errorf("damage at %v, want %s", found, want)
	}
	return nil
}

// TestKillLosesNothing ends the process before each operation: the next Open of the
// file finds every acknowledged key, sound checksums, and the damage that
// was there before.
func TestKillLosesNothing(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		for n := range steps(t, damaged) {
			m := memfs.New()
			m.WriteFile(memPath, crashFile(t, damaged), 0o644)
			m.SetFault(memfs.FailFrom(n, syscall.EIO))
			var s session
			s.run(m)
			m.Kill()
			// An I/O error is not a kill: a writer that saw a sync fail makes the
			// file one to be refused, if it still can. Here it cannot.
			if err := missing(m, s.acked, damaged); err != nil {
				t.Errorf("killed before operation %d (damaged: %v): %v", n, damaged, err)
			}
			var next session
			if err := next.run(m); err != nil {
				t.Errorf("killed before operation %d: next writer: %v", n, err)
			}
		}
	}
}

// crashEverywhere stops the machine before each operation of a session, in many
// ways, and returns what is wrong with what it finds.
func crashEverywhere(t *testing.T, wrap func(vfs.FS) vfs.FS) (problems []string, refused int) {
	for n := range steps(t, false) + 1 {
		for seed := range uint64(6) {
			m := memfs.New()
			m.WriteFile(memPath, crashFile(t, false), 0o644)
			m.SetFault(memfs.FailFrom(n, syscall.EIO))
			var s session
			s.run(wrap(m))
			m.Crash(rand.New(rand.NewPCG(seed, uint64(n))))
			err := missing(m, s.durable, false)
			if errors.Is(err, ErrDirty) {
				refused++
				if !strings.Contains(err.Error(), "accept the loss with Rebuild") {
					t.Fatalf("cannot be repaired: %v", err)
				}
				if err := repair(m, memPath, true); err != nil {
					t.Fatalf("Rebuild after a crash before operation %d: %v", n, err)
				}
				err = missing(m, s.durable, false)
			}
			if err != nil {
				problems = append(problems, fmt.Sprintf("crash before operation %d: %v", n, err))
			}
		}
	}
	return problems, refused
}

// TestMachineCrashIsNoticed: after a crash the file is sound and holds what was
// synced, or it is refused and Rebuild makes it so.
func TestMachineCrashIsNoticed(t *testing.T) {
	problems, refused := crashEverywhere(t, func(f vfs.FS) vfs.FS { return f })
	if len(problems) > 0 {
		t.Errorf("%d problems; first: %s", len(problems), problems[0])
	}
	if refused == 0 {
		t.Error("no crash left a file that had to be refused")
	}
}

// without is a file system that leaves the syncs of files out.
type without struct{ vfs.FS }

type withoutFile struct{ vfs.File }

func (w without) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := w.FS.OpenFile(name, flag, perm)
	if err != nil || flag&os.O_RDWR == 0 {
		return f, err
	}
	return withoutFile{f}, nil
}

func (withoutFile) Sync() error { return nil }

func (f withoutFile) Map(size int, writable bool) (vfs.Mapping, error) {
	return f.File.(vfs.Mapper).Map(size, writable)
}

// TestCrashTestSeesMissingSync shows that TestMachineCrashIsNoticed would fail
// without the syncs of the file.
func TestCrashTestSeesMissingSync(t *testing.T) {
	problems, _ := crashEverywhere(t, func(f vfs.FS) vfs.FS { return without{f} })
	if len(problems) == 0 {
		t.Error("no crash shows that the syncs are missing")
	}
}

// TestFaults fails each operation of a session alone. Keys that were acknowledged
// are there afterwards, or the file is refused and Rebuild brings them back.
func TestFaults(t *testing.T) {
	for n := range steps(t, false) {
		m := memfs.New()
		m.WriteFile(memPath, crashFile(t, false), 0o644)
		failed := ""
		fault := memfs.FailNth(n, syscall.ENOSPC)
		m.SetFault(func(op, name string) error {
			err := fault(op, name)
			if err != nil {
				failed = op
			}
			return err
		})
		var s session
		err := s.run(m)
		if failed == "readlink" {
			continue // a failed readlink counts as a name that is not a link
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("operation %d, %s: %v", n, failed, err)
		}
		m.SetFault(nil)
		err = missing(m, s.acked, false)
		if errors.Is(err, ErrDirty) && !errors.Is(err, ErrLocked) {
			if err := repair(m, memPath, true); err != nil {
				t.Errorf("operation %d, %s: Rebuild: %v", n, failed, err)
			}
			err = missing(m, s.acked, false)
		}
		if err != nil {
			t.Errorf("operation %d, %s: %v", n, failed, err)
		}
	}
}

// TestFailedSyncIsRemembered: the system may have dropped what it could not
// write, so the file takes nothing more and must not be trusted when it is opened.
func TestFailedSyncIsRemembered(t *testing.T) {
	for _, op := range []string{"msync", "sync", "truncate"} {
		m := memfs.New()
		m.WriteFile(memPath, crashFile(t, false), 0o644)
		f, err := open(m, memPath, Options{Writable: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.AddHash(1); err != nil {
			t.Fatal(err)
		}
		fault := memfs.FailNth(0, syscall.EIO)
		m.SetFault(func(o, name string) error {
			if o != op {
				return nil
			}
			return fault(o, name)
		})
		if err := f.Sync(); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: Sync: %v", op, err)
		}
		if _, err := f.AddHash(2); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: Add after it: %v", op, err)
		}
		if err := f.Close(); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: Close after it: %v", op, err)
		}
		if _, err := open(m, memPath, Options{}); !errors.Is(err, ErrDirty) || errors.Is(err, ErrLocked) {
			t.Errorf("%s: opened again: %v", op, err)
		}
		if err := repair(m, memPath, true); err != nil {
			t.Errorf("%s: Rebuild: %v", op, err)
		}
	}
}

// TestRepairEstimatesAdded: the exact count dies with the process.
func TestRepairEstimatesAdded(t *testing.T) {
	m := memfs.New()
	m.WriteFile(memPath, crashFile(t, false), 0o644)
	f, err := open(m, memPath, Options{Writable: true})
	if err != nil {
		t.Fatal(err)
	}
	n, err := f.AddHashes(nil, hashes(8, 10_000))
	if err != nil {
		t.Fatal(err)
	}
	m.Kill()
	f, err = open(m, memPath, Options{Writable: true})
	if err != nil {
		t.Fatal(err)
	}
	// The estimate's standard error is below 40 keys at this fill; five of them.
	if got := f.Info().Added; got < uint64(n)-200 || got > uint64(n)+200 {
		t.Errorf("%d added, want about %d", got, n)
	}
	if st, err := f.Stats(); err != nil || st.Cardinality.StdErr > 40 {
		t.Errorf("standard error %v, %v", st.Cardinality, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRepairRefuses covers files with a dirty mark that bloomfile does not leave,
// or that cannot be repaired now.
func TestRepairRefuses(t *testing.T) {
	counting, err := bloom.NewCounting(bloom.Config{Capacity: 100, ErrorRate: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	counters, err := counting.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := memfs.New()
	id, err := m.BootID()
	if err != nil {
		t.Fatal(err)
	}
	dirty := func(b []byte) []byte {
		copy(b[frame.StateOffset:], frame.AppendState(nil, frame.State{Mark: frame.MarkDirty, BootID: id}))
		return b
	}
	sound := dirty(crashFile(t, false))
	headless := dirty(crashFile(t, false))
	headless[600] ^= 1
	for name, c := range map[string]struct {
		b    []byte
		mode fs.FileMode
		text string
	}{
		"counters":       {dirty(counters), 0o644, "counting filter has the mark of a change in place, which is not possible for its type"},
		"truncated":      {sound[:len(sound)-1], 0o644, "truncated"},
		"journal":        {append(sound, 1, 1, 1, 1), 0o644, "oversized: 4 bytes follow"},
		"header":         {headless, 0o644, "header, bytes 0 to 4095, does not match"},
		"not for us":     {sound, 0o444, "its writer has died, and it cannot be repaired"},
		"not even dirty": {crashFile(t, false), 0o644, ""},
	} {
		m.WriteFile(memPath, c.b, c.mode)
		f, err := open(m, memPath, Options{})
		if c.text == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else if err == nil || f != nil || !strings.Contains(err.Error(), c.text) || !strings.HasPrefix(err.Error(), ""+memPath) && name != "not for us" {
			t.Errorf("%s: %v, want %q", name, err, c.text)
		}
		if now, _ := m.ReadFile(memPath); string(now) != string(c.b) {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

// TestRebuildOfWhatNeedsNone: a file without a mark is whole also for one who may not
// write it.
func TestRebuildOfWhatNeedsNone(t *testing.T) {
	m := memfs.New()
	m.WriteFile(memPath, crashFile(t, false), 0o444)
	if err := rebuild(m, memPath); err != nil {
		t.Error(err)
	}
}

// TestRepairOfFullFilter has no estimate to put in.
func TestRepairOfFullFilter(t *testing.T) {
	s, err := bloom.NewClassic(bloom.Config{Params: sizing.Params{Shape: sizing.Classic, M: 64, K: 1}})
	if err != nil {
		t.Fatal(err)
	}
	s.AddHashes(nil, hashes(1, 1000))
	b, err := s.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := memfs.New()
	copy(b[frame.StateOffset:], frame.AppendState(nil, frame.State{Mark: frame.MarkDirty}))
	m.WriteFile(memPath, b, 0o644)
	if err := repair(m, memPath, true); err != nil {
		t.Fatal(err)
	}
	f, err := open(m, memPath, Options{})
	if err != nil || f.Info().Added != 64 {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestReadUnderLockAfterKill: one who has the lock already, to read a file and
// write it back, gets the repaired file too, and does not wait for himself.
func TestReadUnderLockAfterKill(t *testing.T) {
	repaired := 0
	for n := range steps(t, false) {
		m := memfs.New()
		m.WriteFile(memPath, crashFile(t, false), 0o644)
		m.SetFault(memfs.FailFrom(n, syscall.EIO))
		var s session
		s.run(m)
		m.Kill()
		if _, _, err := readParts(m, memPath); isDirty(err) {
			repaired++
		}
		l, err := lock(m, memPath)
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.Read(bloom.LoadOptions{})
		if err != nil {
			t.Fatalf("killed before operation %d: %v", n, err)
		}
		for _, h := range s.acked {
			if !v.HasHash(h) {
				t.Fatalf("killed before operation %d: key %x is lost", n, h)
			}
		}
		if err := l.Write(v); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if repaired == 0 {
		t.Error("no kill left a file that had to be repaired")
	}
}
