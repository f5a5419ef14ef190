package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// begin does the first half of an Add: what a client knows that has asked and not
// yet written.
func (f *Filter) begin(t *testing.T, keys ...[]byte) (write func() ([]bool, error)) {
	t.Helper()
	b := new(batch)
	answers := make([]bool, len(keys))
	var failed failures
	s := f.current.Load()
	b.start(f.hashes(keys), answers, 0, &failed)
	b.beginRound()
	b.read(t.Context(), &f.core, s)
	return func() ([]bool, error) {
		f.write(t.Context(), b, s)
		if len(b.items) > 0 {
			next, err := f.settle(t.Context(), b, s)
			if err != nil {
				return nil, err
			}
			b.restart(s, next)
			// The rest is what any round does.
			f.addBatch(t.Context(), b)
		}
		return answers, failed.err()
	}
}

// pair returns two clients of one new filter.
func pair(t *testing.T, client rueidis.Client, c Config) (a, b *Filter) {
	t.Helper()
	a = open(t, client, c)
	b, err := Open(t.Context(), client, a.name, c)
	if err != nil {
		t.Fatal(err)
	}
	return a, b
}

func (f *Filter) mustGrow(t *testing.T) {
	t.Helper()
	if err := f.grow(t.Context(), f.current.Load().newest()); err != nil {
		t.Fatal(err)
	}
}

// A client that has asked before a layer was sealed, and writes after, goes on to
// the newest layer: of all who add the key, one is told that it is new.
func TestLateWrite(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		c := Config{Capacity: 5000, ErrorRate: 1e-6, SliceBytes: 2048}
		key := []byte("k")
		t.Run("others first", func(t *testing.T) {
			late, other := pair(t, client, c)
			write := late.begin(t, key)
			other.mustGrow(t)
			other.mustGrow(t)
			if !mustAdd(t, other, key)[0] {
				t.Fatal("the key is not new")
			}
			if got, err := write(); err != nil || got[0] {
				t.Errorf("the late client is told %v, %v; want false", got, err)
			}
		})
		t.Run("late first", func(t *testing.T) {
			late, other := pair(t, client, c)
			write := late.begin(t, key)
			other.mustGrow(t)
			if got, err := write(); err != nil || !got[0] {
				t.Errorf("the late client is told %v, %v; want true", got, err)
			}
			if mustAdd(t, other, key)[0] || !mustHas(t, other, key)[0] {
				t.Error("the key is new again, or not found")
			}
			if n := len(late.current.Load().layers); n != 2 {
				t.Errorf("the late client knows %d layers", n)
			}
		})
		t.Run("both had asked", func(t *testing.T) {
			// other has found the key absent in both layers, when late's bits come
			// to the sealed one.
			late, other := pair(t, client, c)
			first := late.begin(t, key)
			other.mustGrow(t)
			second := other.begin(t, key)
			a, err := first()
			if err != nil {
				t.Fatal(err)
			}
			b, err := second()
			if err != nil {
				t.Fatal(err)
			}
			if !a[0] || b[0] {
				t.Errorf("the late client is told %v, the other %v; want true and false", a[0], b[0])
			}
		})
		t.Run("cleared", func(t *testing.T) {
			late, other := pair(t, client, c)
			write := late.begin(t, key)
			if err := other.Clear(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !mustAdd(t, other, key)[0] {
				t.Fatal("the key is not new")
			}
			if got, err := write(); err != nil || got[0] {
				t.Errorf("the late client is told %v, %v; want false", got, err)
			}
			want := int(other.current.Load().newest().Slices) + 1
			if left := leftOf(t, client, late.name); len(left) != want {
				t.Errorf("%d keys are there, want %d: %q", len(left), want, left)
			}
		})
	})
}

// What a client leaves half done that dies while it creates, grows or clears a
// filter, the next one finishes, and no key is forgotten by that.
func TestHalfDone(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		ctx := t.Context()
		c := Config{Capacity: 5000, ErrorRate: 1e-4, SliceBytes: 1024}
		p, err := c.parameters()
		if err != nil {
			t.Fatal(err)
		}
		t.Run("create", func(t *testing.T) {
			dead := &core{client: client, name: name(t)}
			if _, err := dead.create(ctx, p); err != nil {
				t.Fatal(err)
			}
			_, r, err := dead.get(ctx)
			if err != nil {
				t.Fatal(err)
			}
			// Some of the slices.
			half := dead.newLayer(r.last(), 0, true)
			half.Slices /= 2
			if err := dead.makeSlices(ctx, half, 0); err != nil {
				t.Fatal(err)
			}
			f, err := Open(ctx, client, dead.name, c)
			if err != nil {
				t.Fatal(err)
			}
			if n := trues(mustAdd(t, f, keys(0, 1000)...)); n < 990 {
				t.Errorf("%d of 1000 keys are new", n)
			}
		})
		t.Run("grow", func(t *testing.T) {
			f, g := pair(t, client, c)
			mustAdd(t, f, keys(0, 1000)...)
			raw, r, err := f.get(ctx)
			if err != nil {
				t.Fatal(err)
			}
			next := r.clone()
			s, err := p.shapeOf(1)
			if err != nil {
				t.Fatal(err)
			}
			next.last().Layers = append(next.last().Layers, s)
			if done, err := f.swap(ctx, raw, next); err != nil || !done {
				t.Fatal(done, err)
			}
			// Half of the slices are sealed, and one of the new ones is there.
			half := f.newLayer(next.last(), 0, true)
			half.Slices /= 2
			if err := f.seal(ctx, half); err != nil {
				t.Fatal(err)
			}
			if n := trues(mustHas(t, g, keys(0, 1000)...)); n != 1000 {
				t.Errorf("%d of 1000 keys are found", n)
			}
			if n := trues(mustAdd(t, g, keys(500, 1000)...)); n < 495 || n > 500 {
				t.Errorf("%d of 500 keys are new", n)
			}
			if n := trues(mustHas(t, f, keys(0, 1500)...)); n != 1500 {
				t.Errorf("%d of 1500 keys are found", n)
			}
		})
		t.Run("clear", func(t *testing.T) {
			f, g := pair(t, client, c)
			mustAdd(t, f, keys(0, 1000)...)
			raw, r, err := f.get(ctx)
			if err != nil {
				t.Fatal(err)
			}
			next := r.clone()
			next.Gone = r.Live
			next.Live = []generation{{Number: 1, Epoch: newEpoch(), Layers: r.Live[0].Layers[:1]}}
			if done, err := f.swap(ctx, raw, next); err != nil || !done {
				t.Fatal(done, err)
			}
			h, err := Open(ctx, client, f.name, Config{})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range []*Filter{g, h} {
				if n := trues(mustHas(t, x, keys(0, 1000)...)); n != 0 {
					t.Errorf("%d keys are found after Clear", n)
				}
			}
		})
		t.Run("drop", func(t *testing.T) {
			f, g := pair(t, client, c)
			raw, r, err := f.get(ctx)
			if err != nil {
				t.Fatal(err)
			}
			next := r.clone()
			next.Dropped = true
			if done, err := f.swap(ctx, raw, next); err != nil || !done {
				t.Fatal(done, err)
			}
			// Its slices are still there; a new filter must not find them.
			mustAdd(t, g, keys(0, 10)...)
			h, err := Open(ctx, client, f.name, c)
			if err != nil {
				t.Fatal(err)
			}
			if n := trues(mustHas(t, h, keys(0, 10)...)); n != 0 {
				t.Errorf("%d keys are found in a new filter", n)
			}
		})
	})
}

// A client that is slow to make the slices of a new layer leaves none behind when the
// filter is cleared or dropped meanwhile.
func TestLateSlices(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		ctx := t.Context()
		for _, drop := range []bool{false, true} {
			late, other := pair(t, client, Config{Capacity: 5000, ErrorRate: 1e-4, SliceBytes: 1024})
			raw, r, err := late.get(ctx)
			if err != nil {
				t.Fatal(err)
			}
			next := r.clone()
			s, err := r.shapeOf(1)
			if err != nil {
				t.Fatal(err)
			}
			next.last().Layers = append(next.last().Layers, s)
			if done, err := late.swap(ctx, raw, next); err != nil || !done {
				t.Fatal(done, err)
			}
			if raw, next, err = late.get(ctx); err != nil {
				t.Fatal(err)
			}
			want := 0
			if drop {
				err = other.Drop(ctx)
			} else if err = other.Clear(ctx); err == nil {
				want = 1 + int(other.current.Load().newest().Slices)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := late.finish(ctx, raw, next); err != nil {
				t.Fatal(err)
			}
			if left := leftOf(t, client, late.name); len(left) != want {
				t.Errorf("dropped %v: %d keys are there, want %d", drop, len(left), want)
			}
		}
	})
}

// A key that is written to a fixed filter in the moment in which it becomes full is
// in it, and so its client is told that it is new; those after it are not in it.
func TestLateWriteToAFullFilter(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		a, b := pair(t, client, Config{Capacity: 5000, ErrorRate: 1e-6, SliceBytes: 2048, Fixed: true})
		late, both := keys(0, 20), keys(10, 20)
		one, two := a.begin(t, late...), b.begin(t, both...)
		if err := a.closeLayer(t.Context(), a.current.Load().newest()); err != nil {
			t.Fatal(err)
		}
		first, err := one()
		if err != nil || trues(first) != 20 {
			t.Errorf("%d of 20 keys are new, %v", trues(first), err)
		}
		second, err := two()
		if err != nil || trues(second[:10]) != 0 || trues(second) != 10 {
			t.Errorf("of 10 keys that are new and 10 that are not, %v is told: %v", second, err)
		}
		var u *UndecidedError
		if _, err := a.Add(t.Context(), keys(0, 50)...); !errors.As(err, &u) || !errors.Is(err, ErrFull) || len(u.Keys) != 20 {
			t.Errorf("%v; want 20 keys that have no room", err)
		}
		if n := trues(mustHas(t, b, keys(0, 50)...)); n != 30 {
			t.Errorf("%d of 30 keys are found", n)
		}
	})
}

// A seal that a failover has lost is set again before anything is decided.
func TestReopened(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		ctx := t.Context()
		f := open(t, client, Config{Capacity: 5000, ErrorRate: 1e-6, SliceBytes: 2048})
		f.mustGrow(t)
		l := f.current.Load().layers[0]
		err := f.eachSlice(ctx, l, func(key string) rueidis.Completed {
			return client.B().Arbitrary("BITFIELD").Keys(key).Args("SET", "u8", stateAt, "0").Build()
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := trues(mustAdd(t, f, keys(0, 500)...)); n != 500 {
			t.Errorf("%d of 500 keys are new", n)
		}
		for i := range l.Slices {
			head, err := client.Do(ctx, client.B().Arbitrary("BITFIELD").Keys(l.prefix+string(rune('0'+i))).Args("GET", "u8", stateAt).Build()).AsIntSlice()
			if err != nil || head[0] != stateSealed {
				t.Errorf("slice %d: state %v, %v", i, head, err)
			}
		}
	})
}

// A client that knows neither that a failover has lost the seal of an old layer nor
// that the newest it knows is no longer the newest does not say that a key is absent.
func TestReopenedBeforeANewLayer(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		late, other := pair(t, client, Config{Capacity: 5000, ErrorRate: 1e-6, SliceBytes: 2048})
		late.mustGrow(t)
		if _, err := other.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		other.mustGrow(t)
		mustAdd(t, other, keys(0, 500)...)
		err := other.eachSlice(t.Context(), other.current.Load().layers[0], func(key string) rueidis.Completed {
			return client.B().Arbitrary("BITFIELD").Keys(key).Args("SET", "u8", stateAt, "0").Build()
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := trues(mustHas(t, late, keys(0, 500)...)); n != 500 {
			t.Errorf("%d of 500 keys are found", n)
		}
	})
}

// A context that has ended leaves all keys undecided.
func TestContext(t *testing.T) {
	f := open(t, engines[0].dial(t), Config{Capacity: 100, ErrorRate: 0.01})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, call := range []func(context.Context, ...[]byte) ([]bool, error){f.Add, f.Has} {
		_, err := call(ctx, keys(0, 3)...)
		var u *UndecidedError
		if !errors.As(err, &u) || len(u.Keys) != 3 || !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	if found := mustHas(t, f, keys(0, 3)...); trues(found) != 0 {
		t.Error("keys were added")
	}
}

// TestSlicesOfADroppedFilter has a client that was slow go on with a layer of a filter
// of which Drop has deleted the slices, and not yet the record.
func TestSlicesOfADroppedFilter(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		for name, wait := range map[string]Wait{"": {}, "too few replicas": {Replicas: 5, Timeout: time.Millisecond}} {
			t.Run(name, func(t *testing.T) { slicesOfADroppedFilter(t, client, wait) })
		}
	})
}

func slicesOfADroppedFilter(t *testing.T, client rueidis.Client, wait Wait) {
	ctx := t.Context()
	f := open(t, client, Config{Capacity: 20000, ErrorRate: 0.01, SliceBytes: 2048})
	raw, r, err := f.get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	next := r.clone()
	s, err := next.shapeOf(1)
	if err != nil {
		t.Fatal(err)
	}
	next.last().Layers = append(next.last().Layers, s)
	if done, err := f.swap(ctx, raw, next); err != nil || !done {
		t.Fatal(done, err)
	}
	growing, r, err := f.get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	dropped := r.clone()
	dropped.Dropped = true
	if done, err := f.swap(ctx, growing, dropped); err != nil || !done {
		t.Fatal(done, err)
	}
	if err := f.unlink(ctx, dropped.Live[:1]); err != nil {
		t.Fatal(err)
	}
	slow := &core{client: client, name: f.name, wait: wait}
	if err := slow.finish(ctx, growing, r); err != nil {
		t.Log("the slow client is told", err)
	}
	now, _, err := f.get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := f.swap(ctx, now, nil); err != nil || !done {
		t.Fatal(done, err)
	}
	if left := leftOf(t, client, f.name); len(left) != 0 {
		t.Errorf("%d keys are left: %q", len(left), left)
	}
}
