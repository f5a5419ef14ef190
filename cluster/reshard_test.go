package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"seen/internal/filtertest"
	"seen/internal/redistest"
)

// The slots of slices, and that of the record, are moved to other nodes while
// clients add and the filter grows: every key is decided, once, and none is lost.
func TestReshard(t *testing.T) {
	cluster := lab.Cluster(t)
	if err := cluster.Await(); err != nil {
		t.Fatal(err)
	}
	client := dial(t, cluster.Addrs()...)
	const callers, batch = 4, 40
	c := Config{Capacity: 2000, ErrorRate: 1e-6, SliceBytes: 2048}
	f := open(t, client, c)
	before, err := asks(cluster)
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	var told sync.Map
	stop := make(chan struct{})
	var group sync.WaitGroup
	for i := range callers {
		g, err := Open(t.Context(), dial(t, cluster.Addrs()...), f.name, c)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for round := 0; ; round++ {
				select {
				case <-stop:
					return
				default:
				}
				// Two callers each have the same keys.
				var ks [][]byte
				for k := range batch {
					ks = append(ks, fmt.Appendf(nil, "%d-%d-%d", i/2, round, k))
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				added, err := g.Add(ctx, ks...)
				cancel()
				if err != nil {
					t.Error(err)
					return
				}
				for k, isNew := range added {
					n, _ := told.LoadOrStore(string(ks[k]), new(atomic.Int32))
					if isNew {
						n.(*atomic.Int32).Add(1)
					}
				}
				calls.Add(1)
			}
		})
	}
	wait := func() {
		for until := calls.Load() + 2*callers; calls.Load() < until && !t.Failed(); {
			time.Sleep(time.Millisecond)
		}
	}
	for i := range uint64(4) {
		wait()
		moved := []string{f.name}
		for _, l := range f.current.Load().layers {
			moved = append(moved, fmt.Sprint(l.prefix, i%l.Slices))
		}
		for _, key := range moved {
			slot, err := cluster.Slot(key)
			if err != nil {
				t.Fatal(err)
			}
			from, err := cluster.Owner(slot)
			if err != nil {
				t.Fatal(err)
			}
			primaries, err := cluster.Primaries()
			if err != nil {
				t.Fatal(err)
			}
			to := primaries[i%3]
			if to == from {
				to = primaries[(i+1)%3]
			}
			// Calls go on in each state of the slot, the later ones by redirections.
			if err := cluster.MoveSlot(slot, to, wait); err != nil {
				t.Fatal(err)
			}
		}
		if t.Failed() {
			break
		}
	}
	close(stop)
	group.Wait()
	if after, err := asks(cluster); err != nil || after == before {
		t.Errorf("no client was redirected to a slot that was moving: %v", err)
	}
	var all [][]byte
	missed := 0
	told.Range(func(key, n any) bool {
		switch n := n.(*atomic.Int32).Load(); {
		case n > 1:
			t.Errorf("%s was new %d times", key, n)
		case n == 0:
			missed++
		}
		all = append(all, []byte(key.(string)))
		return true
	})
	if _, hi := filtertest.Limits(len(all), c.ErrorRate, 0, 1); missed > hi {
		t.Errorf("%d of %d keys were new for no client; want at most %d", missed, len(all), hi)
	}
	if found := trues(mustHas(t, f, all...)); found != len(all) {
		t.Errorf("%d of %d keys are found", found, len(all))
	}
	t.Logf("%d keys in %d layers", len(all), len(f.current.Load().layers))
	if err := cluster.Await(); err != nil {
		t.Error(err)
	}
}

// asks counts how often the nodes have redirected clients that asked for a slot on
// the move.
func asks(c *redistest.Cluster) (string, error) {
	all := ""
	for _, n := range c.Nodes {
		count, err := n.Info("errorstats", "errorstat_ASK")
		if err != nil {
			return "", err
		}
		all += count + ";"
	}
	return all, nil
}

// The record's slot moves while a filter grows and a window asks for the time, for which
// they use connections of their own, which the library does not redirect.
func TestReshardRecord(t *testing.T) {
	cluster := lab.Cluster(t)
	if err := cluster.Await(); err != nil {
		t.Fatal(err)
	}
	client, stale := dial(t, cluster.Addrs()...), dial(t, cluster.Addrs()...)
	c := Config{Capacity: 2000, ErrorRate: 1e-6, SliceBytes: 2048}
	f := open(t, client, c)
	g, err := Open(t.Context(), stale, f.name, c)
	if err != nil {
		t.Fatal(err)
	}
	var windows []*Window
	for _, client := range []rueidis.Client{client, dial(t, cluster.Addrs()...)} {
		w, err := OpenWindow(t.Context(), client, "{"+f.name+"}", WindowConfig{Config: c, Span: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		windows = append(windows, w)
	}
	slot, err := cluster.Slot(f.name)
	if err != nil {
		t.Fatal(err)
	}
	from, err := cluster.Owner(slot)
	if err != nil {
		t.Fatal(err)
	}
	primaries, err := cluster.Primaries()
	if err != nil {
		t.Fatal(err)
	}
	to := primaries[0]
	if to == from {
		to = primaries[1]
	}
	moved := false
	if err := cluster.MoveSlot(slot, to, func() {
		if !moved {
			moved = true
			return
		}
		// The record is there already, and the slot is not yet.
		if err := f.grow(t.Context(), f.current.Load().newest()); err != nil {
			t.Errorf("growing while the slot moves: %v", err)
		}
		if _, err := windows[0].clock.ask(t.Context()); err != nil {
			t.Errorf("the time, of a slot that is moving: %v", err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := g.grow(t.Context(), f.current.Load().newest()); err != nil {
		t.Errorf("growing after the slot has moved: %v", err)
	}
	if layers := len(g.current.Load().layers); layers != 3 {
		t.Errorf("%d layers; want 3", layers)
	}
	if _, err := windows[1].clock.ask(t.Context()); err != nil {
		t.Errorf("the time, of a slot that has moved: %v", err)
	}
	if err := cluster.Await(); err != nil {
		t.Error(err)
	}
}
