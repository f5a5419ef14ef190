package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Work whose caller no longer waits ends within a step, and leaves nothing: neither a
// value nor memory nor files.
func TestStoppedWorkLeavesNothing(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem()})
	m := model{}
	big := BloomConfig{ErrorRate: rare, Capacity: 200_000}
	for _, step := range []func(*Store, model) (LSN, error){
		create("a", big), add("a", 0, 100), create("b", big), add("b", 50, 150), create("c", big), add("c", 0, 10),
		createCountMin("count", CountMinConfig{Width: 100_000, Depth: 3}), count("count", 0, 50),
		createCountMin("count2", CountMinConfig{Width: 100_000, Depth: 3}), count("count2", 0, 50),
	} {
		mustDo(t, s, m, step)
	}
	before, last := s.Memory(), s.Last()
	files, err := s.opts.FS.List(s.files.dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("nobody waits"))
	get := func(name string) Filter { return s.Get([]byte(name)).(Filter) }
	counts := []*CountMin{s.Get([]byte("count")).(*CountMin), s.Get([]byte("count2")).(*CountMin)}
	for what, do := range map[string]func(w *Work) error{
		"union": func(w *Work) error { _, _, err := s.UnionCardinality(w, get("a"), get("b")); return err },
		"intersection": func(w *Work) error {
			_, _, err := s.IntersectionCardinality(w, get("a"), get("b"), get("c"))
			return err
		},
		"merge":     func(w *Work) error { _, err := s.MergeBloom(w, []byte("a"), []byte("b")); return err },
		"new merge": func(w *Work) error { _, err := s.MergeBloom(w, []byte("new"), []byte("a"), []byte("b")); return err },
		"sum":       func(w *Work) error { _, err := s.MergeCountMin(w, counts[0], counts, nil); return err },
	} {
		err := do(s.NewWork(ctx))
		if !errors.Is(err, ErrStopped) {
			t.Errorf("%s: %v", what, err)
		}
		s.NewWork(ctx).Firmly(func() {})
	}
	if s.Memory() != before || s.Last() != last {
		t.Errorf("%d bytes and position %d, were %d and %d", s.Memory(), s.Last(), before, last)
	}
	if now, err := s.opts.FS.List(s.files.dir); err != nil || len(now) != len(files) {
		t.Errorf("%d files, were %d, %v", len(now), len(files), err)
	}
	mustMatch(t, s, m)
	w := s.NewWork(ctx)
	w.Firmly(func() { _, err = s.MergeBloom(w, []byte("a"), []byte("b")) })
	if err != nil {
		t.Error("firm work was stopped:", err)
	}
	if err := w.Atomically(nil, func() { t.Error("a transaction of nobody runs") }); !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
}

// A source that is named many times costs and counts once.
func TestNamesCountOnce(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem()})
	m := model{}
	mustDo(t, s, m, create("a", BloomConfig{ErrorRate: rare, Capacity: 1000}))
	mustDo(t, s, m, add("a", 0, 100))
	f := s.Get([]byte("a")).(Filter)
	many := make([]Filter, 500)
	names := make([][]byte, len(many))
	for i := range many {
		many[i], names[i] = f, []byte("a")
	}
	layers, _, err := oneLayerEach(many)
	if err != nil || len(layers) != 1 {
		t.Errorf("%d layers are read, %v", len(layers), err)
	}
	if n, _, err := s.IntersectionCardinality(nil, many...); err != nil || n.Value < 95 || n.Value > 105 {
		t.Error(n, err)
	}
	if _, err := s.MergeBloom(nil, []byte("b"), names...); err != nil {
		t.Fatal(err)
	}
	if i := s.Get([]byte("b")).(Filter).Info(); len(i.Layers) != 1 || i.Added != 100 {
		t.Errorf("%d layers, %d keys", len(i.Layers), i.Added)
	}
}

// Long work rests for a caller that wants to run alone, and sees its changes after that.
func TestWorkRests(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem()})
	w := s.NewWork(t.Context())
	w.Begin(Entry{Heavy: true})
	ran := started(func() { s.Atomically(func() {}) })
	soon(t, "the transaction", started(func() {
		for !ended(ran) {
			if err := w.Rest(stepUnits); err != nil {
				t.Error(err)
			}
		}
	}))
	w.End()
	if n := s.gate.inside.Load(); n != 0 || s.long.Load() != 0 {
		t.Errorf("%d are inside, %d take long", n, s.long.Load())
	}
}

// Closing does not wait longer than it may, whatever runs. What was acknowledged is
// there after; of a transaction that had not come to its end there is nothing.
func TestCloseByDoesNotWait(t *testing.T) {
	for _, fsync := range []Fsync{Always, EverySecond} {
		t.Run(fmt.Sprint(fsync), func(t *testing.T) {
			disk := vfs.NewCrashableMem()
			s := mustOpen(t, Options{FS: disk, Fsync: fsync})
			m := model{}
			mustDo(t, s, m, create("a", BloomConfig{ErrorRate: rare, Capacity: 1000}))
			mustDo(t, s, m, add("a", 0, 100))
			inside, over := make(chan struct{}), make(chan struct{})
			transaction := started(func() {
				s.Atomically(func() {
					f := s.Get([]byte("a")).(Filter)
					if _, _, err := f.Add(make([]bool, 50), universe[100:150]); err != nil {
						t.Error(err)
					}
					close(inside)
					<-over
				})
			})
			<-inside
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			soon(t, "closing", started(func() {
				if err := s.CloseBy(ctx); !errors.Is(err, ErrStopped) {
					t.Error(err)
				}
			}))
			clone := disk.CrashClone(vfs.CrashCloneCfg{})
			close(over)
			soon(t, "the transaction", transaction)
			again := mustOpen(t, Options{FS: clone})
			mustMatch(t, again, m)
		})
	}
}
