package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"seen/internal/filtertest"
	"seen/internal/redistest"
)

// A primary is killed while clients add, and its replica takes its part: keys that
// replicas have confirmed are never answered "not seen", neither meanwhile nor
// afterwards, no key is new twice, and undecided ones are named.
func TestFailover(t *testing.T) {
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		pair := lab.Pair(t)
		primary, err := pair.Primary()
		if err != nil {
			t.Fatal(err)
		}
		other := pair.Servers[0]
		if other == primary {
			other = pair.Servers[1]
		}
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{pair.Sentinel.Addr()}, DisableCache: true, Sentinel: rueidis.SentinelOption{MasterSet: redistest.Master},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		failover(t, client, primary.Kill, func() error {
			return errors.Join(pair.AwaitPrimary(other), primary.Restart(), pair.Await())
		})
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		cluster := lab.Cluster(t)
		if err := cluster.Await(); err != nil {
			t.Fatal(err)
		}
		primary, err := cluster.Owner(redistest.Slots / 2)
		if err != nil {
			t.Fatal(err)
		}
		failover(t, dial(t, cluster.Addrs()...), primary.Kill, func() error {
			return errors.Join(cluster.AwaitOwner(redistest.Slots/2, primary), primary.Restart(), cluster.Await())
		})
	})
}

// failover adds keys by several callers, kills an engine in between, and goes on
// after another has taken its part and the killed one has come back as its replica.
func failover(t *testing.T, client rueidis.Client, kill, recovered func() error) {
	const callers, shared, batch = 6, 1000, 20
	c := Config{Capacity: 3000, ErrorRate: 1e-6, SliceBytes: 4096, Wait: Wait{Replicas: 1, Timeout: 30 * time.Second}}
	n := name(t)
	open := func() *Filter {
		f, err := Open(t.Context(), client, n, c)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	var told, doubts, tried [shared]atomic.Int32 // of the keys that all callers add
	var calls, failed atomic.Int64
	stop := make(chan struct{})
	own := make([][][]byte, callers) // keys that only one adds, and that were new
	var group sync.WaitGroup
	for i := range callers {
		f := open()
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 11))
			order := r.Perm(shared)
			for round := 0; ; round++ {
				select {
				case <-stop:
					return
				default:
				}
				var ks [][]byte
				common := order[:min(len(order), batch/2)]
				order = order[len(common):]
				for _, k := range common {
					ks = append(ks, keys(k, 1)...)
				}
				for k := range batch / 2 {
					ks = append(ks, fmt.Appendf(nil, "own-%d-%d-%d", i, round, k))
				}
				// Shorter than a failover takes, so that there are calls that it ends.
				ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				added, err := f.Add(ctx, ks...)
				cancel()
				undecided := undecidedOf(t, err, len(ks))
				if err != nil {
					failed.Add(1)
				}
				for _, k := range common {
					tried[k].Add(1)
				}
				for at, isNew := range added {
					switch {
					case at < len(common) && undecided[at]:
						doubts[common[at]].Add(1)
					case at < len(common) && isNew:
						told[common[at]].Add(1)
					case at >= len(common) && isNew && !undecided[at]:
						own[i] = append(own[i], ks[at])
					}
				}
				if len(own[i]) > 0 {
					had := make([][]byte, batch)
					for k := range had {
						had[k] = own[i][r.IntN(len(own[i]))]
					}
					ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
					found, err := f.Has(ctx, had...)
					cancel()
					undecided := undecidedOf(t, err, batch)
					for k := range had {
						if !found[k] && !undecided[k] {
							t.Errorf("%s was added and confirmed, and is not found", had[k])
						}
					}
				}
				calls.Add(1)
			}
		})
	}
	until := func(n int64) {
		for limit := time.Now().Add(time.Minute); calls.Load() < n && !t.Failed(); time.Sleep(time.Millisecond) {
			if time.Now().After(limit) {
				t.Errorf("%d calls in a minute; want %d", calls.Load(), n)
			}
		}
	}
	until(callers * 20)
	if err := kill(); err != nil {
		t.Error(err)
	}
	if err := recovered(); err != nil {
		t.Error(err)
	}
	until(calls.Load() + callers*20)
	close(stop)
	group.Wait()

	f := open()
	var sure [][]byte
	missed := 0
	for k := range told {
		switch n := told[k].Load(); {
		case n > 1:
			t.Errorf("key %d was new %d times", k, n)
		case n == 1:
			sure = append(sure, keys(k, 1)...)
		case tried[k].Load() > 0 && doubts[k].Load() == 0:
			missed++
		}
	}
	if _, hi := filtertest.Limits(shared, c.ErrorRate, 0, 1); missed > hi {
		t.Errorf("%d keys were new for no client; want at most %d", missed, hi)
	}
	for i := range own {
		sure = append(sure, own[i]...)
	}
	found, err := hasUntilKnown(t, f, sure)
	if err != nil {
		t.Fatal(err)
	}
	if n := trues(found); n != len(sure) {
		t.Errorf("%d of %d confirmed keys are found", n, len(sure))
	}
	if failed.Load() == 0 {
		t.Error("no call had undecided keys; the engine was killed while no call was under way")
	}
	t.Logf("%d calls, of which %d had undecided keys; %d confirmed keys in %d layers", calls.Load(), failed.Load(), len(sure), len(f.current.Load().layers))
}

// hasUntilKnown asks for keys until all are decided.
func hasUntilKnown(t *testing.T, f *Filter, ks [][]byte) ([]bool, error) {
	t.Helper()
	var found []bool
	var err error
	for range 20 {
		if found, err = f.Has(t.Context(), ks...); err == nil {
			break
		}
	}
	return found, err
}

// A primary that comes back empty, before anybody has taken its part, has lost what
// it had: that is an error for the keys of its slices, and not a "not seen".
func TestEmptyRestart(t *testing.T) {
	t.Parallel()
	server := redistest.NewServer(t)
	client := dial(t, server.Addr())
	f := open(t, client, Config{Capacity: 10000, ErrorRate: 0.001, SliceBytes: 4096})
	ks := keys(0, 2000)
	mustAdd(t, f, ks...)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	nobodyThere(t, f, ks)
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	for what, ask := range map[string]func(context.Context, ...[]byte) ([]bool, error){"Has": f.Has, "Add": f.Add} {
		// A write does not survive the connection that breaks under it, so it may be
		// the second call that learns why.
		var err error
		for range 3 {
			_, err = ask(t.Context(), ks...)
			if undecided := undecidedOf(t, err, len(ks)); len(undecided) != len(ks) {
				t.Fatalf("%s: %d of %d keys are undecided in an engine that has lost all: %v", what, len(undecided), len(ks), err)
			}
		}
		if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrMissingSlice) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// nobodyThere adds keys to an engine that does not run: nothing was sent, which is said,
// once for all slices. A client that writes first may not know yet that the connection has broken.
func nobodyThere(t *testing.T, f *Filter, ks [][]byte) {
	t.Helper()
	f.novelty.share.Store(0)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := f.Add(ctx, ks...)
	var u *UndecidedError
	var of *KeyError
	if !errors.As(err, &u) || len(u.Keys) != len(ks) || !u.NotAdded {
		t.Errorf("without an engine: %v, none added: %v", err, u != nil && u.NotAdded)
	}
	if !errors.As(err, &of) || len(of.Keys) < 2 || strings.Count(err.Error(), "\n") > 1 {
		t.Errorf("without an engine: %v", err)
	}
}
