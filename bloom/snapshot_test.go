package bloom

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"seen/internal/bridge"
)

// meanwhile is a snapshot file in memory that lets something happen between its
// writes, when the lock is free.
type meanwhile struct {
	t    *testing.T
	data []byte
	lock *sync.Mutex
	do   func(write int)
	n    int
}

func (m *meanwhile) Write(p []byte) (int, error) {
	if !m.lock.TryLock() {
		m.t.Fatal("the lock is held during a write")
	}
	m.do(m.n)
	m.lock.Unlock()
	m.n++
	m.data = append(m.data, p...)
	return len(p), nil
}

func (m *meanwhile) WriteAt(p []byte, off int64) (int, error) {
	if !m.lock.TryLock() {
		m.t.Fatal("the lock is held during a write")
	}
	m.lock.Unlock()
	return copy(m.data[off:], p), nil
}

// snapshots are sets as the command makes them, with what they go through while
// they are written.
var snapshots = []struct {
	name   string
	before int // keys before the snapshot
	each   int // keys added at each write
	make   func() (Set, error)
}{
	{"blocked", 50_000, 300, func() (Set, error) { return New(Config{Capacity: 200_000, ErrorRate: 1e-6}) }},
	{"classic", 50_000, 300, func() (Set, error) { return NewClassic(Config{Capacity: 200_000, ErrorRate: 1e-6}) }},
	{"partitioned", 50_000, 300, func() (Set, error) { return NewPartitioned(Config{Capacity: 200_000, ErrorRate: 1e-6}) }},
	{"counting", 20_000, 300, func() (Set, error) { return NewCounting(Config{Capacity: 100_000, ErrorRate: 1e-6}) }},
	{"scalable, growing", 90_000, 5000, func() (Set, error) { return NewScalable(ScalableConfig{Capacity: 50_000, ErrorRate: 1e-6}) }},
	{"cascade", 40_000, 300, func() (Set, error) { return NewCascade(CascadeConfig{Capacity: 50_000, ErrorRate: 1e-6}) }},
	{"exact", 200_000, 5000, func() (Set, error) { return NewAdaptive(AdaptiveConfig{}) }},
	{"adaptive filter", 200_000, 5000, func() (Set, error) {
		return NewAdaptive(AdaptiveConfig{MaxBytes: 1 << 20, ErrorRate: 1e-6})
	}},
	{"window", 50_000, 500, func() (Set, error) {
		return NewWindow(WindowConfig{Span: time.Hour, Capacity: 100_000, ErrorRate: 1e-6})
	}},
	// Every write makes it begin a new generation and drop one of those that are
	// written.
	{"window, turning", 70_000, 11_000, func() (Set, error) {
		return NewWindow(WindowConfig{SpanKeys: 70_000, ErrorRate: 1e-6})
	}},
}

// TestSnapshotWhileAdding: a snapshot has every key that was there when it began,
// unless its owner forgets it, and none that came after it; and it is a file like
// any other.
func TestSnapshotWhileAdding(t *testing.T) {
	for _, c := range snapshots {
		t.Run(c.name, func(t *testing.T) {
			s, err := c.make()
			if err != nil {
				t.Fatal(err)
			}
			s.SetTag(77)
			if err := s.SetRules("email"); err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, 1))
			add := func(n int) []uint64 {
				hs := make([]uint64, n)
				for i := range hs {
					hs[i] = rng.Uint64()
				}
				s.AddHashes(nil, hs)
				return hs
			}
			before := add(c.before)
			s.AddHash(0)
			var during []uint64
			var lock sync.Mutex
			file := &meanwhile{t: t, lock: &lock, do: func(int) { during = append(during, add(c.each)...) }}
			if err := writeSnapshot(t.Context(), s, file, &lock); err != nil {
				t.Fatal(err)
			}
			if file.n < 3 {
				t.Fatalf("%d writes; nothing happened meanwhile", file.n)
			}
			after := add(c.before)

			v, err := Read(bytes.NewReader(file.data), LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			loaded := v.(Set)
			if got := loaded.HasHashes(nil, before); got != len(before) || !loaded.HasHash(0) {
				t.Errorf("%d of %d keys of before are in the snapshot", got, len(before))
			}
			// At 1e-6 and fewer than 100,000 keys, three by error are one in a thousand.
			if got := loaded.HasHashes(nil, after); got > 3 {
				t.Errorf("%d of %d keys of after are in the snapshot", got, len(after))
			}
			if got := v.Tag(); got != 77 {
				t.Errorf("the tag is %d", got)
			}
			if got := v.Rules(); got != "email" {
				t.Errorf("the rules are %q", got)
			}
			has := loaded.HasHashes(nil, during)
			if added := v.Stats().Added; added < uint64(len(before)+has-3) {
				t.Errorf("the snapshot counts %d keys, and has %d", added, len(before)+has)
			}
			t.Logf("%d bytes, %d writes; %d of %d keys that came meanwhile", len(file.data), file.n, has, len(during))
			// It goes on as any filter does.
			if loaded.AddHashes(nil, after); loaded.HasHashes(nil, after) != len(after) {
				t.Error("keys cannot be added to what was read")
			}
		})
	}
}

// waits counts how often a lock is taken, and lets something happen each time.
type waits struct {
	sync.Mutex
	n  int
	do func(n int)
}

func (w *waits) Lock() {
	w.do(w.n)
	w.n++
	w.Mutex.Lock()
}

// TestSnapshotOfChangingSet adds between any two segments of an exact set, until
// its segments are split, or until it is a filter.
func TestSnapshotOfChangingSet(t *testing.T) {
	for name, config := range map[string]AdaptiveConfig{
		"split":    {},
		"switched": {MaxBytes: 2 << 20, ErrorRate: 1e-6},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := NewAdaptive(config)
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(2, 2))
			var before []uint64
			for range 50_000 {
				before = append(before, rng.Uint64())
			}
			a.AddHashes(nil, before)
			segments := len(a.set.segments)
			lock := &waits{do: func(n int) {
				for range 3000 {
					if n < 60 {
						a.AddHash(rng.Uint64())
					}
				}
			}}
			file := &meanwhile{t: t, lock: &lock.Mutex, do: func(int) {}}
			err = writeSnapshot(t.Context(), a, file, lock)
			if name == "switched" {
				if !errors.Is(err, bridge.ErrSwitched) {
					t.Fatalf("error %v", err)
				}
				file.data = nil
				err = writeSnapshot(t.Context(), a, file, lock)
			}
			if err != nil {
				t.Fatal(err)
			}
			if a.Switched() != (name == "switched") || !a.Switched() && len(a.set.segments) == segments {
				t.Fatalf("switched: %v, from %d segments; the test shows nothing", a.Switched(), segments)
			}
			v, err := Read(bytes.NewReader(file.data), LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := v.HasHashes(nil, before); got != len(before) {
				t.Errorf("%d of %d keys are in the snapshot", got, len(before))
			}
		})
	}
}

// TestSnapshotStops: a context that ends, and a file that fails, end it with the
// lock free.
func TestSnapshotStops(t *testing.T) {
	for _, c := range snapshots {
		for _, by := range []string{"context", "file"} {
			s, err := c.make()
			if err != nil {
				t.Fatal(err)
			}
			s.AddHash(1)
			ctx, cancel := context.WithCancel(t.Context())
			var lock sync.Mutex
			wantErr := context.Canceled
			var file bridge.SnapshotFile = &meanwhile{t: t, lock: &lock, do: func(n int) {
				if n == 0 {
					cancel()
				}
			}}
			if by == "file" {
				wantErr = io.ErrShortWrite
				file = failing{file}
			}
			if err := writeSnapshot(ctx, s, file, &lock); !errors.Is(err, wantErr) {
				t.Errorf("%s, %s: %v", c.name, by, err)
			}
			if !lock.TryLock() {
				t.Errorf("%s, %s: the lock is still held", c.name, by)
			}
			cancel()
		}
	}
}

type failing struct{ bridge.SnapshotFile }

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestSnapshotBesideAdding is for the race detector.
func TestSnapshotBesideAdding(t *testing.T) {
	for _, c := range snapshots {
		t.Run(c.name, func(t *testing.T) {
			s, err := c.make()
			if err != nil {
				t.Fatal(err)
			}
			var lock sync.Mutex
			stop := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(3, 3))
				hs := make([]uint64, 100)
				for range 1000 {
					select {
					case <-stop:
						return
					default:
					}
					for i := range hs {
						hs[i] = rng.Uint64()
					}
					lock.Lock()
					s.AddHashes(nil, hs)
					lock.Unlock()
				}
			})
			file := &meanwhile{t: t, lock: new(sync.Mutex), do: func(int) {}}
			err = writeSnapshot(t.Context(), s, file, &lock)
			close(stop)
			wg.Wait()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Read(bytes.NewReader(file.data), LoadOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSnapshotAtRest: where nothing is added meanwhile, it is what WriteTo writes.
func TestSnapshotAtRest(t *testing.T) {
	for _, c := range snapshots {
		for _, n := range []int{0, 1, c.before} {
			s, err := c.make()
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(4, 4))
			for i := range n {
				s.AddHash(rng.Uint64() * uint64(i)) // the first is 0
			}
			var want bytes.Buffer
			if _, err := s.(io.WriterTo).WriteTo(&want); err != nil {
				t.Fatal(err)
			}
			var lock sync.Mutex
			file := &meanwhile{t: t, lock: &lock, do: func(int) {}}
			if err := writeSnapshot(t.Context(), s, file, &lock); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(file.data, want.Bytes()) {
				t.Errorf("%s of %d keys: the snapshot is not what WriteTo writes", c.name, n)
			}
		}
	}
}
