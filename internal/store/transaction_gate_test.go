package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func newGate() *gate {
	g := new(gate)
	g.init()
	return g
}

// soon fails the test if c is not closed within a time that no machine needs.
func soon(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s takes for ever", what)
	}
}

// started calls do in a goroutine and returns what is closed at its end.
func started(do func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		do()
		close(done)
	}()
	return done
}

func ended(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// While one command takes long and somebody waits to run alone, others come and go:
// also if the long one has not said that it is.
func TestNobodyWaitsBehindWhoWaitsToRunAlone(t *testing.T) {
	for _, heavy := range []bool{true, false} {
		g := newGate()
		g.enter(Entry{Heavy: heavy})
		ran := started(func() { g.run(nil, nil, func() {}) })
		for !g.wanted() {
			time.Sleep(time.Millisecond)
		}
		soon(t, "a command", started(func() {
			for range 100 {
				g.enter(Entry{})
				g.leave(false)
			}
		}))
		if ended(ran) {
			t.Fatal("it did not run alone")
		}
		waits := started(func() {
			g.enter(Entry{Heavy: true})
			g.leave(true)
		})
		g.leave(heavy)
		soon(t, "running alone", ran)
		soon(t, "the next that takes long", waits)
	}
}

// A caller that runs alone keeps out only the commands that could see its changes.
func TestWhoIsIndifferentPasses(t *testing.T) {
	g := newGate()
	a, b := [][]byte{[]byte("a")}, [][]byte{[]byte("b"), []byte("c")}
	inside, over := make(chan struct{}), make(chan struct{})
	ran := started(func() {
		g.run(map[string]bool{"a": true}, nil, func() {
			close(inside)
			<-over
		})
	})
	<-inside
	var kept []<-chan struct{}
	for _, heavy := range []bool{false, true} {
		soon(t, "a question about others", started(func() {
			g.enter(Entry{Heavy: heavy, Reads: b})
			g.leave(heavy)
		}))
		for _, reads := range [][][]byte{a, nil, {b[0], a[0]}} {
			kept = append(kept, started(func() {
				g.enter(Entry{Heavy: heavy, Reads: reads})
				g.leave(heavy)
			}))
		}
	}
	time.Sleep(20 * time.Millisecond)
	for i, c := range kept {
		if ended(c) {
			t.Errorf("command %d sees a transaction by half", i)
		}
	}
	close(over)
	soon(t, "the transaction", ran)
	for _, c := range kept {
		soon(t, "what had to wait", c)
	}
}

// Commands that take long and follow each other without a gap do not keep those out
// for ever who wait to run alone, nor the other way round.
func TestEverybodyGetsATurn(t *testing.T) {
	g := newGate()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var heavy, alone atomic.Int64
	for range 3 {
		wg.Go(func() {
			for !ended(stop) {
				g.enter(Entry{Heavy: true})
				time.Sleep(3 * time.Millisecond)
				g.leave(true)
				heavy.Add(1)
			}
		})
		wg.Go(func() {
			for !ended(stop) {
				g.run(nil, nil, func() { time.Sleep(time.Millisecond) })
				alone.Add(1)
			}
		})
	}
	soon(t, "one of both", started(func() {
		for heavy.Load() < 20 || alone.Load() < 20 {
			time.Sleep(time.Millisecond)
		}
	}))
	close(stop)
	soon(t, "the end", started(wg.Wait))
	if n := g.inside.Load(); n != 0 || g.heavy != 0 || g.awaited {
		t.Errorf("%d and %d are left inside", n, g.heavy)
	}
}

// No command is inside together with a caller that runs alone, whatever comes at once.
func TestGateIsExclusive(t *testing.T) {
	g := newGate()
	var values [3]struct{ readers, writers atomic.Int64 }
	names := [][]byte{[]byte("0"), []byte("1"), []byte("2")}
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			for range 1500 {
				at := rng.IntN(len(values))
				v := &values[at]
				if rng.IntN(4) == 0 {
					g.run(map[string]bool{string(names[at]): true}, nil, func() {
						if v.writers.Add(1) != 1 || v.readers.Load() != 0 {
							t.Error("not alone")
						}
						v.writers.Add(-1)
					})
					continue
				}
				heavy := rng.IntN(3) == 0
				if heavy || !g.try() {
					g.enter(Entry{Heavy: heavy, Reads: names[at : at+1]})
				}
				v.readers.Add(1)
				if v.writers.Load() != 0 {
					t.Error("inside with a caller that runs alone")
				}
				v.readers.Add(-1)
				g.leave(heavy)
			}
		})
	}
	soon(t, "all of it", started(wg.Wait))
}

// What was logged before a transaction began becomes durable while it goes on.
func TestTransactionDoesNotKeepBackWhatWasBefore(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem()})
	s.log.notify = func() {} // the committer comes late
	f, at, err := s.CreateBloom([]byte("a"), BloomConfig{ErrorRate: rare, Capacity: 10})
	if err != nil {
		t.Fatal(err)
	}
	s.Atomically(func() {
		if _, _, err := f.Add(make([]bool, 1), universe[:1]); err != nil {
			t.Error(err)
		}
		s.log.signal()
		soon(t, "the log", started(func() {
			if err := s.Wait(context.Background(), at); err != nil {
				t.Error(err)
			}
		}))
		if s.Durable() >= s.Last() {
			t.Error("half a transaction is durable")
		}
	})
}

// A change of one value that takes long does not keep others from making, deleting
// and counting values, even if somebody waits to delete that one.
func TestLongChangeOfOneValueKeepsNobodyElse(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem()})
	m := model{}
	for _, name := range []string{"a", "b", "c"} {
		mustDo(t, s, m, create(name, BloomConfig{ErrorRate: rare, Capacity: 10}))
	}
	h := s.lookup([]byte("a")).head()
	h.mu.Lock()
	var waiting []<-chan struct{}
	for _, do := range []func() error{
		func() error { _, _, err := s.Delete([]byte("b"), []byte("a")); return err },
		func() error { _, err := s.Rename([]byte("a"), []byte("x"), false); return err },
		func() error { _, _, err := s.Expire([]byte("a"), time.Now().Add(time.Hour)); return err },
		func() error { _, err := s.Flush(); return err },
	} {
		waiting = append(waiting, started(func() {
			if err := do(); err != nil && !errors.Is(err, ErrNotFound) {
				t.Error(err)
			}
		}))
	}
	time.Sleep(20 * time.Millisecond)
	soon(t, "what concerns others", started(func() {
		for range 20 {
			if s.Len() != 3 || s.Version([]byte("nothing")) != 0 {
				t.Error("something was done to a value that is being changed")
			}
			if _, _, err := s.CreateBloom([]byte("d"), BloomConfig{ErrorRate: rare, Capacity: 10}); err != nil {
				t.Error(err)
			}
			if n, _, err := s.Delete([]byte("d")); n != 1 || err != nil {
				t.Error(n, err)
			}
		}
	}))
	h.mu.Unlock()
	for _, c := range waiting {
		soon(t, "what waited", c)
	}
}

// Neither does a look at the files of values, or the wish to write some again, while a
// change of one of these values takes long.
func TestFilesOfLongChangeKeepNobody(t *testing.T) {
	s := mustOpen(t, Options{FS: vfs.NewMem()})
	m := model{}
	do(t, s, m, true, create("large", BloomConfig{ErrorRate: rare, Capacity: 15000, Expansion: 2}), add("large", 0, 50), nil)
	files := map[uint64]bool{}
	for _, n := range s.fileNumbers() {
		files[n] = true
	}
	if len(files) == 0 || len(s.currentFiles()) != len(files) {
		t.Fatalf("the filter has the files %v, and %v are current", files, s.currentFiles())
	}
	h := s.lookup([]byte("large")).head()
	h.mu.Lock()
	unlock := sync.OnceFunc(h.mu.Unlock)
	defer unlock()
	waiting := []<-chan struct{}{
		started(func() { s.currentFiles() }),
		started(func() {
			if !s.renew(files) {
				t.Error("the filter is not found by its file")
			}
		}),
	}
	time.Sleep(20 * time.Millisecond)
	soon(t, "what concerns others", started(func() {
		mustDo(t, s, m, create("a", small))
		mustDo(t, s, m, remove("a"))
	}))
	unlock()
	for _, c := range waiting {
		soon(t, "what waited", c)
	}
}
