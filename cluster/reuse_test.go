package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"seen/internal/redistest"
)

// When a call has ended its keys are the caller's again, who may write other keys in
// their place: what the client still sends must be those of the call.
func TestServerKeysAreTheCallersAgain(t *testing.T) {
	engine := lab.Seen(t)
	proxy, err := redistest.NewProxy(engine.Addr())
	if err != nil {
		t.Fatal(err)
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{proxy.Addr()}, DisableCache: true, AlwaysPipelining: true, ConnWriteTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	n := name(t)
	f, err := OpenServer(t.Context(), client, n, ServerConfig{Capacity: 100_000, ErrorRate: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	// Far more than the sockets hold, so that most of it waits in the client.
	ks := make([][]byte, serverCommands*serverKeys)
	for i, k := range keys(0, len(ks)) {
		ks[i] = append(make([]byte, 1024), k...)
	}
	proxy.Set(redistest.Faults{Stall: true})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var u *UndecidedError
	if _, err := f.Add(ctx, ks...); !errors.As(err, &u) || len(u.Keys) != len(ks) {
		t.Fatalf("%v; want all keys undecided", err)
	}
	for i := range ks {
		ks[i][0] = 1
	}
	proxy.Set(redistest.Faults{})
	// An answer comes behind those of all that was sent before.
	found, err := f.Has(t.Context(), ks...)
	if err != nil {
		t.Fatal(err)
	}
	if n := trues(found); n != 0 {
		t.Errorf("%d keys were added that were never given to Add", n)
	}
}
