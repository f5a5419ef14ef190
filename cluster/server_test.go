package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seen/internal/filtertest"
	"seen/internal/redistest"
)

// A filter in a server is created once, compared by every opener, and answers.
func TestServerFilter(t *testing.T) {
	client := dial(t, lab.Seen(t).Addr())
	ctx, n := t.Context(), name(t)
	c := ServerConfig{Capacity: 20000, ErrorRate: 0.001}
	if _, err := OpenServer(ctx, client, n, ServerConfig{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("opening what is not there: %v", err)
	}
	f, err := OpenServer(ctx, client, n, c)
	if err != nil {
		t.Fatal(err)
	}
	// Several commands and several round trips.
	const total = 3 * serverKeys * serverCommands / 2
	ks := keys(0, total)
	ks = append(ks, ks[0], nil, []byte("\x00\xff\r\n"))
	added, err := f.Add(ctx, ks...)
	if err != nil {
		t.Fatal(err)
	}
	// The capacity is exceeded, and the filter grows.
	if _, hi := filtertest.Limits(total, c.ErrorRate, 0, 1); total-trues(added[:total]) > hi {
		t.Errorf("%d of %d keys are not new; want at most %d", total-trues(added[:total]), total, hi)
	}
	if added[total] {
		t.Error("a key is new twice in one call")
	}
	for _, c := range []ServerConfig{c, {}} {
		g, err := OpenServer(ctx, client, n, c)
		if err != nil {
			t.Fatal(err)
		}
		if found, err := g.Has(ctx, ks...); err != nil || trues(found) != len(ks) {
			t.Errorf("%d of %d keys are found, %v", trues(found), len(ks), err)
		}
		absent, err := g.Has(ctx, keys(total, total)...)
		if _, hi := filtertest.Limits(total, 0.001, 0, 1); err != nil || trues(absent) > hi {
			t.Errorf("%d of %d absent keys are found, %v; want at most %d", trues(absent), total, err, hi)
		}
	}
	for _, other := range []ServerConfig{{Capacity: 20001, ErrorRate: 0.001}, {Capacity: 20000, ErrorRate: 0.0011}, {Capacity: 20000, ErrorRate: 0.001, Fixed: true}} {
		if _, err := OpenServer(ctx, client, n, other); !isA[*ParameterError](err) {
			t.Errorf("%+v: %v", other, err)
		}
	}
	for _, bad := range []ServerConfig{{Capacity: 1}, {ErrorRate: 0.1}, {Capacity: 1, ErrorRate: 1}, {Capacity: 1, ErrorRate: -1}} {
		if _, err := OpenServer(ctx, client, n, bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}

	// A filter that is gone is an error, and does not come back.
	if err := client.Do(ctx, client.B().Del().Key(n).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	var u *UndecidedError
	if _, err := f.Has(ctx, ks[:5]...); !errors.As(err, &u) || !errors.Is(err, ErrNotFound) || len(u.Keys) != 5 {
		t.Errorf("asking a deleted filter: %v", err)
	}
	if _, err := f.Add(ctx, ks[:5]...); !errors.As(err, &u) || !errors.Is(err, ErrNotFound) || len(u.Keys) != 5 {
		t.Errorf("adding to a deleted filter: %v", err)
	}
	if found, err := client.Do(ctx, client.B().Exists().Key(n).Build()).AsInt64(); err != nil || found != 0 {
		t.Errorf("a deleted filter has come back: %v", err)
	}
	if err := client.Do(ctx, client.B().Arbitrary("CMS.INITBYDIM").Keys(n).Args("10", "10").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenServer(ctx, client, n, c); !isA[*NotFilterError](err) {
		t.Errorf("a sketch in the way: %v", err)
	}
	if _, err := f.Add(ctx, ks[:5]...); !isA[*NotFilterError](err) {
		t.Errorf("adding to a sketch: %v", err)
	}

	plain := dial(t, lab.Server(t).Addr())
	if _, err := OpenServer(ctx, plain, n, c); !errors.Is(err, ErrNoBloom) {
		t.Errorf("an engine without the commands: %v", err)
	}
}

// A filter that is fixed takes its capacity; the keys after that are undecided.
func TestServerFull(t *testing.T) {
	client := dial(t, lab.Seen(t).Addr())
	ctx, n := t.Context(), name(t)
	c := ServerConfig{Capacity: 1500, ErrorRate: 1e-6, Fixed: true}
	f, err := OpenServer(ctx, client, n, c)
	if err != nil {
		t.Fatal(err)
	}
	added, err := f.Add(ctx, keys(0, 3000)...)
	var u *UndecidedError
	if !errors.As(err, &u) || !errors.Is(err, ErrFull) {
		t.Fatalf("%v; want ErrFull", err)
	}
	if u.Keys[0] != 1500 || len(u.Keys) != 1500 || trues(added[:1500]) != 1500 || trues(added[1500:]) != 0 {
		t.Errorf("%d keys are new, %d from %d on undecided", trues(added), len(u.Keys), u.Keys[0])
	}
	if _, err := OpenServer(ctx, client, n, c); err != nil {
		t.Errorf("opening it again: %v", err)
	}
}

// Of clients that add the same keys at the same time exactly one is told of each
// that it is new; the server is killed meanwhile, and no key is lost that it has
// answered for.
func TestServerConcurrent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a server")
	}
	server, err := redistest.StartSeen(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Kill(); err != nil {
			t.Error(err)
		}
	})
	n := name(t)
	const total, step = 20000, 200
	ks := keys(0, total)
	var told, doubtful [total]atomic.Int32
	var done atomic.Int64
	var group sync.WaitGroup
	for i := range 8 {
		client := dial(t, server.Addr())
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			f, err := OpenServer(ctx, client, n, ServerConfig{Capacity: total, ErrorRate: 1e-6})
			if err != nil {
				t.Error(err)
				return
			}
			for s := range total / step {
				// Half of them each way, so that all meet.
				from := s * step
				if i%2 == 1 {
					from = total - step - from
				}
				added, err := f.Add(ctx, ks[from:from+step]...)
				var u *UndecidedError
				if err != nil && !errors.As(err, &u) {
					t.Error(err)
					return
				}
				for k, isNew := range added {
					switch {
					case u != nil && slices.Contains(u.Keys, k):
						doubtful[from+k].Add(1)
					case isNew:
						told[from+k].Add(1)
					}
				}
				done.Add(step)
			}
		})
	}
	group.Go(func() {
		for done.Load() < total {
			time.Sleep(time.Millisecond)
		}
		if err := errors.Join(server.Kill(), server.Restart()); err != nil {
			t.Error(err)
		}
	})
	group.Wait()
	missed, doubts := 0, 0
	var sure [][]byte
	for k := range told {
		n, d := told[k].Load(), doubtful[k].Load()
		if n > 1 {
			t.Errorf("key %d was new %d times", k, n)
		}
		if n == 0 && d == 0 {
			missed++
		}
		if d < 8 {
			sure = append(sure, ks[k]) // somebody has had an answer
		}
		doubts += int(d)
	}
	if _, hi := filtertest.Limits(total, 1e-6, 0, 1); missed > hi {
		t.Errorf("%d keys were new for no client; want at most %d", missed, hi)
	}
	client := dial(t, server.Addr())
	f, err := OpenServer(t.Context(), client, n, ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if found, err := f.Has(t.Context(), sure...); err != nil || trues(found) != len(sure) {
		t.Errorf("%d of %d keys are found, %v", trues(found), len(sure), err)
	}
	t.Logf("%d answers were undecided", doubts)
}
