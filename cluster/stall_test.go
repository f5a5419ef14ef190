package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"seen/internal/redistest"
)

// adder is what the filters of this package have in common.
type adder interface {
	Add(ctx context.Context, keys ...[]byte) ([]bool, error)
	Has(ctx context.Context, keys ...[]byte) ([]bool, error)
}

// Connections that stall, swallow requests or replies, or break in the middle of a
// reply: calls end by their deadline, the keys without an answer are named, none of
// the answers is wrong, and no goroutine is left behind.
func TestNetworkFaults(t *testing.T) {
	engine, seen := lab.Server(t), lab.Seen(t)
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := goleak.Find(leaks, goleak.IgnoreAnyFunction(redistest.Reaper)); err != nil {
			t.Error(err)
		}
	})
	for _, test := range []struct {
		name   string
		engine *redistest.Server
		cut    int // where in the replies to Add: in one that writes
		open   func(ctx context.Context, client rueidis.Client, name string) (adder, error)
	}{
		{"Filter", engine, 160_000, func(ctx context.Context, client rueidis.Client, name string) (adder, error) {
			return Open(ctx, client, name, Config{Capacity: 1_000_000, ErrorRate: 1e-6, SliceBytes: 64 << 10, Fixed: true})
		}},
		{"FilterThatWritesFirst", engine, 60_000, func(ctx context.Context, client rueidis.Client, name string) (adder, error) {
			return Open(ctx, client, name, Config{Capacity: 1_000_000, ErrorRate: 1e-6, SliceBytes: 64 << 10})
		}},
		{"RecipeFilter", engine, 20_000, func(ctx context.Context, client rueidis.Client, name string) (adder, error) {
			return OpenRecipe(ctx, client, name, RecipeConfig{Blocks: 16, Bits: 24})
		}},
		{"ServerFilter", seen, 5000, func(ctx context.Context, client rueidis.Client, name string) (adder, error) {
			return OpenServer(ctx, client, name, ServerConfig{Capacity: 1_000_000, ErrorRate: 1e-6})
		}},
	} {
		// Most of it is waiting.
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			networkFaults(t, test.engine, test.cut, test.open)
		})
	}
}

func networkFaults(t *testing.T, engine *redistest.Server, cut int, open func(ctx context.Context, client rueidis.Client, name string) (adder, error)) {
	proxy, err := redistest.NewProxy(engine.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	direct := dial(t, engine.Addr())
	n := name(t)
	sure, err := open(t.Context(), direct, n)
	if err != nil {
		t.Fatal(err)
	}
	const batch = 1500
	next := 0
	fresh := func() [][]byte { next += batch; return keys(next, batch) }
	const soon = 200 * time.Millisecond

	for _, fault := range []struct {
		name   string
		faults redistest.Faults
		limit  time.Duration // of the call
		// lands says whether what is sent arrives; maybe where it depends.
		lands, maybe bool
	}{
		{"stall", redistest.Faults{Stall: true}, soon, true, true},
		{"swallow", redistest.Faults{Swallow: true}, soon, false, false},
		{"mute", redistest.Faults{Mute: true}, soon, true, true},
		{"cut", redistest.Faults{CutAfter: cut}, 2 * time.Second, true, true},
		{"delay", redistest.Faults{Delay: time.Millisecond}, time.Minute, true, false},
	} {
		t.Run(fault.name, func(t *testing.T) {
			// A client of its own: the connections of the one before were cut.
			client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{proxy.Addr()}, DisableCache: true})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			f, err := open(t.Context(), client, n)
			if err != nil {
				t.Fatal(err)
			}
			had := fresh()
			if added, err := f.Add(t.Context(), had...); err != nil || trues(added) != batch {
				t.Fatalf("before the fault %d of %d keys are new, %v", trues(added), batch, err)
			}
			ks := fresh()
			if f, ok := f.(*Filter); ok {
				f.sure()
			}
			proxy.Set(fault.faults)
			ctx, cancel := context.WithTimeout(t.Context(), fault.limit)
			begun := time.Now()
			added, err := f.Add(ctx, ks...)
			cancel()
			took := time.Since(begun)
			// A broken connection is tried again until the time is over.
			limit := soon
			if fault.name == "delay" {
				limit = fault.limit
			}
			ctx, cancel = context.WithTimeout(t.Context(), limit)
			found, foundErr := f.Has(ctx, had...)
			cancel()
			proxy.Set(redistest.Faults{})
			proxy.CloseConnections()
			if took > 20*time.Second {
				t.Errorf("a call with a deadline of %v took %v", fault.limit, took)
			}
			open := undecidedOf(t, err, batch)
			switch {
			case fault.name == "delay" && err != nil:
				t.Errorf("a delay is an error: %v", err)
			case fault.limit == soon && len(open) == 0:
				t.Error("no key is undecided")
			case fault.limit == soon && !errors.Is(err, context.DeadlineExceeded):
				t.Errorf("the reason is not the deadline: %v", err)
			case fault.name == "cut" && len(open) == 0:
				t.Error("no key is undecided after the connection broke")
			}
			for i := range found {
				if !found[i] && !undecidedOf(t, foundErr, batch)[i] {
					t.Errorf("key %d was added, and is not found: %v", i, foundErr)
					break
				}
			}
			// What was told before the fault ended is what the engine has.
			var u *UndecidedError
			notAdded := errors.As(err, &u) && u.NotAdded
			there, err := sure.Has(t.Context(), ks...)
			if err != nil {
				t.Fatal(err)
			}
			for i, isNew := range added {
				switch {
				case open[i] && notAdded && there[i]:
					t.Errorf("key %d is said not to be added, and is there", i)
				case open[i] && !fault.lands && there[i]:
					t.Errorf("key %d cannot have been added", i)
				case !open[i] && (!isNew || !there[i]):
					t.Errorf("key %d: new %v, and the engine has it: %v", i, isNew, there[i])
				}
			}
			// Adding again decides; who lost an answer is told false.
			again, err := addUntilDecided(t, f, ks)
			if err != nil {
				t.Fatal(err)
			}
			for i := range again {
				if again[i] == there[i] && !fault.maybe {
					t.Errorf("key %d: it was there %v and is new %v", i, there[i], again[i])
				}
				if again[i] && !open[i] {
					t.Errorf("key %d is new twice", i)
				}
			}
		})
	}
}

// undecidedOf returns the undecided keys of a call, as a set.
func undecidedOf(t *testing.T, err error, keys int) map[int]bool {
	t.Helper()
	open := map[int]bool{}
	var u *UndecidedError
	switch {
	case errors.As(err, &u):
		for i, k := range u.Keys {
			if k < 0 || k >= keys || i > 0 && k <= u.Keys[i-1] {
				t.Fatalf("undecided are %v of %d", u.Keys, keys)
			}
			open[k] = true
		}
	case err != nil:
		t.Fatal(err)
	}
	return open
}

// addUntilDecided adds keys, and those that are undecided once more: a connection
// that broke is noticed by the call that meets it.
func addUntilDecided(t *testing.T, f adder, ks [][]byte) ([]bool, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answers, err := f.Add(ctx, ks...)
	for range 20 {
		if err == nil {
			return answers, nil
		}
		open := undecidedOf(t, err, len(ks))
		var left [][]byte
		var at []int
		for i := range ks {
			if open[i] {
				left, at = append(left, ks[i]), append(at, i)
			}
		}
		var some []bool
		some, err = f.Add(ctx, left...)
		var u *UndecidedError
		if errors.As(err, &u) {
			for i, k := range u.Keys {
				u.Keys[i] = at[k]
			}
		}
		for i, k := range at {
			answers[k] = some[i]
		}
	}
	return answers, err
}
