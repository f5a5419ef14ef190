package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"

	"seen/bloom"
	"seen/internal/filtertest"
	"seen/internal/kernel"
)

func keys(from, n int) [][]byte {
	ks := make([][]byte, n)
	for i := range ks {
		ks[i] = fmt.Appendf(nil, "key-%d", from+i)
	}
	return ks
}

func mustAdd(t testing.TB, f *Filter, ks ...[]byte) []bool {
	t.Helper()
	added, err := f.Add(t.Context(), ks...)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

func mustHas(t testing.TB, f *Filter, ks ...[]byte) []bool {
	t.Helper()
	found, err := f.Has(t.Context(), ks...)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func trues(bs []bool) int {
	n := 0
	for _, b := range bs {
		if b {
			n++
		}
	}
	return n
}

// The answers are those of a bloom.Filter per slice: the same layout, the same
// bits, so a model made of them must agree on every answer, false positives
// included.
func TestModel(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		for _, c := range []Config{
			{Capacity: 3000, ErrorRate: 0.01, Fixed: true},
			{Capacity: 3000, ErrorRate: 1e-4, SliceBytes: 1024, Fixed: true},
			{Capacity: 3000, ErrorRate: 1e-6, SliceBytes: 2048, Fixed: true, Hash: bloom.Hash{Seed: 7}},
		} {
			f := open(t, client, c)
			s := f.current.Load().newest().shape
			model := make([][]uint64, s.Slices)
			for i := range model {
				model[i] = make([]uint64, s.layout().Words())
			}
			r := rand.New(rand.NewPCG(1, 2))
			for range 60 {
				hs := make([]uint64, 1+r.IntN(80))
				for i := range hs {
					hs[i] = kernel.Next(uint64(r.IntN(4000)) + 1)
				}
				want := make([]bool, len(hs))
				if r.IntN(3) == 0 {
					for i, h := range hs {
						s.layout().HasBatch(model[s.sliceOf(h)], want[i:i+1], hs[i:i+1])
					}
					got, err := f.HasHashes(t.Context(), hs)
					if err != nil || !equal(got, want) {
						t.Fatalf("Has: %v, %v; want %v", got, err, want)
					}
					continue
				}
				for i, h := range hs {
					s.layout().AddBatch(model[s.sliceOf(h)], want[i:i+1], hs[i:i+1])
				}
				got, err := f.AddHashes(t.Context(), hs)
				if err != nil || trues(got) != trues(want) {
					t.Fatalf("Add: %v, %v; want %v", got, err, want)
				}
			}
		}
	})
}

func equal(a, b []bool) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// Of many clients that add the same keys at the same time, exactly one is told of
// each that it is new, while the filter grows under them.
func TestExactlyOneNew(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		const clients = 8
		total := underRace(6000)
		c := Config{Capacity: uint64(total / 15), ErrorRate: 1e-6, SliceBytes: 1024}
		n := name(t)
		told := make([]atomic.Int32, total)
		var group sync.WaitGroup
		for i := range clients {
			group.Go(func() {
				f, err := Open(t.Context(), client, n, c)
				if err != nil {
					t.Error(err)
					return
				}
				r := rand.New(rand.NewPCG(uint64(i), 3))
				order := r.Perm(total)
				for len(order) > 0 {
					m := min(len(order), 1+r.IntN(120))
					ks := make([][]byte, m)
					for j, k := range order[:m] {
						ks[j] = fmt.Appendf(nil, "key-%d", k)
					}
					added, err := f.Add(t.Context(), ks...)
					if err != nil {
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
		f, err := Open(t.Context(), client, n, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if layers := len(f.current.Load().layers); layers < 4 {
			t.Errorf("the filter has %d layers; it should have grown", layers)
		}
		never := 0
		for k := range told {
			switch told[k].Load() {
			case 0:
				never++ // a false positive
			case 1:
			default:
				t.Errorf("key %d was new %d times", k, told[k].Load())
			}
		}
		if _, hi := filtertest.Limits(total, c.ErrorRate, 0, 1); never > hi {
			t.Errorf("%d of %d keys were new for no client; want at most %d", never, total, hi)
		}
		if found := trues(mustHas(t, f, keys(0, total)...)); found != total {
			t.Errorf("%d of %d keys are found", found, total)
		}
	})
}

// A filter is made by many openers at once, and compared by each.
func TestOpen(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		ctx, n := t.Context(), name(t)
		c := Config{Capacity: 10000, ErrorRate: 0.01, SliceBytes: 2048}
		if _, err := Open(ctx, client, n, Config{}); !errors.Is(err, ErrNotFound) {
			t.Errorf("opening what is not there: %v; want ErrNotFound", err)
		}
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if _, err := Open(ctx, client, n, c); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		f, err := Open(ctx, client, n, c)
		if err != nil {
			t.Fatal(err)
		}
		mustAdd(t, f, []byte("a"))
		g, err := Open(ctx, client, n, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if !mustHas(t, g, []byte("a"))[0] {
			t.Error("another opener does not find the key")
		}
		other := c
		other.Capacity++
		if _, err := Open(ctx, client, n, other); !isA[*ParameterError](err) {
			t.Errorf("other capacity: %v; want a ParameterError", err)
		}
		if _, err := Open(ctx, client, n, Config{Hash: bloom.Hash{Seed: 1}}); !isA[*ParameterError](err) {
			t.Errorf("other seed: %v; want a ParameterError", err)
		}
		if err := f.Drop(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Add(ctx, []byte("b")); !errors.Is(err, ErrNotFound) {
			t.Errorf("adding to a dropped filter: %v; want ErrNotFound", err)
		}
		if _, err := g.Has(ctx, []byte("b")); !errors.Is(err, ErrNotFound) {
			t.Errorf("asking a dropped filter: %v; want ErrNotFound", err)
		}
		if left := leftOf(t, client, n); len(left) != 0 {
			t.Errorf("%q are left of a dropped filter", left)
		}
		if err := client.Do(ctx, client.B().Rpush().Key(n).Element("x").Build()).Error(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(ctx, client, n, c); !isA[*NotFilterError](err) {
			t.Errorf("a list in the way: %v; want a NotFilterError", err)
		}
	})
}

// A lost slice is an error for those who ask and add, also after a late write has
// made a string of its name, and Clear mends it.
func TestMissingSlice(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		ctx := t.Context()
		f := open(t, client, Config{Capacity: 20000, ErrorRate: 0.01, SliceBytes: 4096})
		ks := keys(0, 2000)
		mustAdd(t, f, ks...)
		l := f.current.Load().newest()
		lostSlice := uint32(1)
		if err := client.Do(ctx, client.B().Del().Key(l.prefix+"1").Build()).Error(); err != nil {
			t.Fatal(err)
		}
		check := func(what string, answers []bool, err error, want bool) {
			t.Helper()
			var u *UndecidedError
			if !errors.As(err, &u) || !errors.Is(err, ErrMissingSlice) {
				t.Fatalf("%s: %v; want ErrMissingSlice", what, err)
			}
			undecided := map[int]bool{}
			for _, i := range u.Keys {
				undecided[i] = true
			}
			for i, k := range ks {
				inLost := l.sliceOf(f.hash.Sum(k)) == lostSlice
				if undecided[i] != inLost {
					t.Fatalf("%s: key %d undecided %v, in the lost slice %v", what, i, undecided[i], inLost)
				}
				if !inLost && answers[i] != want {
					t.Fatalf("%s: key %d: %v", what, i, answers[i])
				}
			}
		}
		has, err := f.Has(ctx, ks...)
		check("Has", has, err, true)
		added, err := f.Add(ctx, ks...)
		check("Add", added, err, false)
		// What a client writes that had asked just before the loss.
		late := client.B().Arbitrary("BITFIELD").Keys(l.prefix+"1").Args("SET", "u1", "30000", "1").Build()
		if err := client.Do(ctx, late).Error(); err != nil {
			t.Fatal(err)
		}
		has, err = f.Has(ctx, ks...)
		check("Has after a late write", has, err, true)
		added, err = f.Add(ctx, ks...)
		check("Add after a late write", added, err, false)
		g, err := Open(ctx, client, f.name, Config{})
		if err != nil {
			t.Fatal(err)
		}
		has, err = g.Has(ctx, ks...)
		check("Has of a new opener", has, err, true)
		if err := g.Clear(ctx); err != nil {
			t.Fatal(err)
		}
		if n := trues(mustHas(t, f, ks...)); n != 0 {
			t.Errorf("%d keys are found after Clear", n)
		}
		if n := trues(mustAdd(t, f, ks...)); n < 1900 {
			t.Errorf("%d keys are new after Clear", n)
		}
	})
}

// A filter that is fixed takes its capacity, and then says that it is full.
func TestFull(t *testing.T) {
	client := engines[0].dial(t)
	f := open(t, client, Config{Capacity: 1000, ErrorRate: 0.001, Fixed: true})
	added, err := f.Add(t.Context(), keys(0, 3000)...)
	if !errors.Is(err, ErrFull) {
		t.Fatalf("%v; want ErrFull", err)
	}
	if n := trues(added); n < 990 || n > 1010 {
		t.Errorf("%d keys were added to a filter for 1000", n)
	}
	for i, isNew := range added {
		if isNew && !mustHas(t, f, keys(i, 1)...)[0] {
			t.Fatalf("key %d was added and is not found", i)
		}
	}
}

// A filter with exactly its capacity has not grown, however the keys came; the next
// ones make it grow, or are too many for one that is fixed.
func TestExactlyFull(t *testing.T) {
	client := engines[0].dial(t)
	for _, c := range []Config{
		{Capacity: 3000, ErrorRate: 1e-6},
		{Capacity: 30_000, ErrorRate: 1e-6, SliceBytes: 8192},
		{Capacity: 3000, ErrorRate: 1e-6, Fixed: true},
	} {
		for _, step := range []int{50, 3000} {
			f := open(t, client, c)
			n := int(c.Capacity)
			for from := 0; from < n; from += step {
				mustAdd(t, f, keys(from, step)...)
			}
			if s, err := f.Stats(t.Context()); err != nil || s.Layers != 1 || s.Written > c.Capacity {
				t.Errorf("%+v, filled by %d: %d layers, %d keys, %v", c, step, s.Layers, s.Written, err)
			}
			// Those of the first that the filter took for seen have left room.
			added, err := f.Add(t.Context(), keys(n, n/10)...)
			switch s, _ := f.Stats(t.Context()); {
			case c.Fixed:
				if !errors.Is(err, ErrFull) || trues(added) > 5 {
					t.Errorf("%+v: %d of %d more, %v", c, trues(added), n/10, err)
				}
			case err != nil || s.Layers != 2:
				t.Errorf("%+v, filled by %d, and more: %d layers, %v", c, step, s.Layers, err)
			}
		}
	}
}
