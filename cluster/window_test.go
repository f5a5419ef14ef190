package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// openAt opens a window whose engine's time is in now, in nanoseconds.
func openAt(t *testing.T, client rueidis.Client, name string, c WindowConfig, now *atomic.Int64) *Window {
	t.Helper()
	w := &Window{core: core{client: client, name: name, hash: c.Hash}}
	w.clock.ask = func(context.Context) (time.Time, error) { return time.Unix(0, now.Load()), nil }
	if err := w.open(t.Context(), c.Config, c.windowParameters, true); err != nil {
		t.Fatal(err)
	}
	return w
}

// ask makes the window ask for the time again.
func (w *Window) askAgain() { w.clock.asked = time.Time{} }

// A key is remembered for a span at least and for G/(G-1) spans at most, by a model
// that knows when each key was added; and a stale client answers as a fresh one does.
func TestWindow(t *testing.T) {
	for _, noRefresh := range []bool{false, true} {
		t.Run(fmt.Sprintf("NoRefresh=%v", noRefresh), func(t *testing.T) {
			onEngines(t, func(t *testing.T, client rueidis.Client) {
				const span, gens = 3 * time.Hour, 4
				c := WindowConfig{Config: Config{Capacity: 600, ErrorRate: 1e-7, SliceBytes: 1024}, Span: span, Generations: gens, NoRefresh: noRefresh}
				var now atomic.Int64
				now.Store(int64(1000 * time.Hour))
				n := name(t)
				clients := []*Window{openAt(t, client, n, c, &now), openAt(t, client, n, c, &now)}
				const most = span * gens / (gens - 1)
				last := map[string]int64{}
				r := rand.New(rand.NewPCG(4, 4))
				for step := range 400 {
					now.Add(int64(rand.N(span / 15)))
					if step%97 == 96 {
						now.Add(int64(2 * span))
					}
					w := clients[r.IntN(2)]
					w.askAgain()
					key := fmt.Sprintf("key-%d", r.IntN(60))
					at, known := last[key]
					age := time.Duration(now.Load() - at)
					if r.IntN(3) == 0 {
						found, err := w.Has(t.Context(), []byte(key))
						if err != nil {
							t.Fatal(err)
						}
						if known && age <= span && !found[0] || (!known || age > most) && found[0] {
							t.Fatalf("step %d: Has(%s) is %v, %v after it was added (%v)", step, key, found[0], age, known)
						}
						continue
					}
					added, err := w.Add(t.Context(), []byte(key))
					if err != nil {
						t.Fatal(err)
					}
					if known && age <= span && added[0] || (!known || age > most) && !added[0] {
						t.Fatalf("step %d: Add(%s) is %v, %v after it was added (%v)", step, key, added[0], age, known)
					}
					if added[0] || !noRefresh {
						last[key] = now.Load()
					}
				}
				if live := len(clients[0].current.Load().record.Live); live > gens {
					t.Errorf("%d generations are live", live)
				}
				if err := clients[0].Drop(t.Context()); err != nil {
					t.Fatal(err)
				}
				if left := leftOf(t, client, n); len(left) != 0 {
					t.Errorf("%q are left", left)
				}
			})
		})
	}
}

// While generations change and grow, exactly one of many clients is told that a key
// is new.
func TestWindowExactlyOneNew(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		const clients, span = 6, 1000 * time.Hour
		total := underRace(3000)
		c := WindowConfig{Config: Config{Capacity: uint64(total / 2), ErrorRate: 1e-6, SliceBytes: 1024}, Span: span, Generations: 6}
		var now atomic.Int64
		now.Store(int64(400 * span))
		n := name(t)
		told, undecided := make([]atomic.Int32, total), make([]atomic.Bool, total)
		var group sync.WaitGroup
		for i := range clients {
			w := openAt(t, client, n, c, &now)
			group.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), 5))
				order := r.Perm(total)
				for len(order) > 0 {
					m := min(len(order), 50)
					ks := make([][]byte, m)
					for j, k := range order[:m] {
						ks[j] = fmt.Appendf(nil, "key-%d", k)
					}
					// All together stay below a span.
					now.Add(int64(span) / (clients * int64(total/50+1)))
					w.askAgain()
					added, err := w.Add(t.Context(), ks...)
					if errors.Is(err, errTurned) {
						var u *UndecidedError
						errors.As(err, &u)
						for _, j := range u.Keys {
							undecided[order[j]].Store(true)
						}
					} else if err != nil {
						t.Error(err)
						return
					}
					for j, isNew := range added {
						if isNew {
							told[order[j]].Add(1)
						}
					}
					order = order[m:]
				}
			})
		}
		group.Wait()
		never := 0
		for k := range told {
			if n := told[k].Load(); n > 1 {
				t.Errorf("key %d was new %d times", k, n)
			} else if n == 0 && !undecided[k].Load() {
				never++
			}
		}
		if never > 1 {
			t.Errorf("%d keys were new for no client", never)
		}
	})
}

// The engine's time decides, and a window cannot be opened as a filter.
func TestWindowOfEngine(t *testing.T) {
	client := engines[0].dial(t)
	ctx, n := t.Context(), name(t)
	c := WindowConfig{Config: Config{Capacity: 1000, ErrorRate: 0.01}, Span: 7 * time.Hour}
	w, err := OpenWindow(ctx, client, n, c)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := client.Do(ctx, client.B().Time().Build()).AsIntSlice()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := w.current.Load().record.last().Number, parts[0]/3600; want-got > 1 {
		t.Errorf("generation %d at hour %d", got, want)
	}
	for i, want := range []bool{true, false} {
		if added, err := w.Add(ctx, []byte("a")); err != nil || added[0] != want {
			t.Errorf("call %d: %v, %v", i, added, err)
		}
	}
	if _, err := Open(ctx, client, n, Config{}); !isA[*ParameterError](err) {
		t.Errorf("opening a window as a filter: %v", err)
	}
	if again, err := OpenWindow(ctx, client, n, WindowConfig{}); err != nil {
		t.Error(err)
	} else if found, err := again.Has(ctx, []byte("a"), []byte("b")); err != nil || !found[0] || found[1] {
		t.Errorf("%v, %v", found, err)
	}
	if err := w.Clear(ctx); err != nil {
		t.Fatal(err)
	}
	if added, err := w.Add(ctx, []byte("a")); err != nil || !added[0] {
		t.Errorf("after Clear: %v, %v", added, err)
	}
}

// A client that is late at the turn of a window, and whose bits another has taken
// for a key to refresh, does not claim to know.
func TestWindowLateWrite(t *testing.T) {
	client := engines[0].dial(t)
	c := WindowConfig{Config: Config{Capacity: 500, ErrorRate: 1e-6}, Span: 3 * time.Hour, Generations: 4}
	var now atomic.Int64
	now.Store(int64(1000 * time.Hour))
	n := name(t)
	late, other := openAt(t, client, n, c, &now), openAt(t, client, n, c, &now)
	key := []byte("k")
	var failed failures
	b, s := new(batch), late.current.Load()
	b.start(late.hashes([][]byte{key}), make([]bool, 1), 0, &failed)
	b.beginRound()
	b.read(t.Context(), &late.core, s)
	now.Add(int64(time.Hour))
	other.askAgain()
	if added, err := other.Add(t.Context(), []byte("another")); err != nil || !added[0] {
		t.Fatal(added, err)
	}
	late.write(t.Context(), b, s) // to the generation that is sealed by now
	if added, err := other.Add(t.Context(), key); err != nil || added[0] {
		t.Fatalf("%v, %v; want false, as the late bits are there", added, err)
	}
	next, err := late.settle(t.Context(), b, s)
	if err != nil {
		t.Fatal(err)
	}
	b.restart(s, next)
	late.addBatch(t.Context(), b)
	if err := failed.err(); !errors.Is(err, errTurned) {
		t.Errorf("%v; want errTurned", err)
	}
}

// Where a window takes no more keys, one whose bits came late to a generation that was
// sealed is not said to be absent: the next who adds it is told that it was seen.
func TestWindowLateWriteToAFullOne(t *testing.T) {
	client := engines[0].dial(t)
	c := WindowConfig{Config: Config{Capacity: 300, ErrorRate: 1e-6, Fixed: true}, Span: 3 * time.Hour, Generations: 4}
	var now atomic.Int64
	now.Store(int64(1000 * time.Hour))
	n := name(t)
	late, other := openAt(t, client, n, c, &now), openAt(t, client, n, c, &now)
	var failed failures
	b, s := new(batch), late.current.Load()
	b.start(late.hashes([][]byte{[]byte("late")}), make([]bool, 1), 0, &failed)
	b.beginRound()
	b.read(t.Context(), &late.core, s)
	now.Add(int64(time.Hour))
	other.askAgain()
	if _, err := other.Add(t.Context(), keys(0, 200)...); !errors.Is(err, ErrFull) {
		t.Fatalf("%v; want ErrFull", err)
	}
	late.write(t.Context(), b, s) // to the generation that is sealed by now
	next, err := late.settle(t.Context(), b, s)
	if err != nil {
		t.Fatal(err)
	}
	b.restart(s, next)
	late.addBatch(t.Context(), b)
	var u *UndecidedError
	if err := failed.err(); !errors.As(err, &u) || errors.Is(err, ErrFull) || u.NotAdded {
		t.Errorf("%v; want an error that leaves open whether the key is there", err)
	}
	if found, err := other.Has(t.Context(), []byte("late")); err != nil || !found[0] {
		t.Errorf("the late key is found: %v, %v", found, err)
	}
}
