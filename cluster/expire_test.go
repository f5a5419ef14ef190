package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// All keys of a filter expire together, those of later layers too; then the filter
// is gone, and says so.
func TestExpire(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		ctx := t.Context()
		f := open(t, client, Config{Capacity: 1000, ErrorRate: 0.01, SliceBytes: 1024})
		if _, expires, err := f.TTL(ctx); err != nil || expires {
			t.Errorf("TTL of a new filter: %v, %v", expires, err)
		}
		if err := f.Expire(ctx, time.Hour); err != nil {
			t.Fatal(err)
		}
		mustAdd(t, f, keys(0, 3000)...)
		deadlines := map[int64]bool{}
		all := leftOf(t, client, f.name)
		for _, key := range all {
			at, err := client.Do(ctx, client.B().Arbitrary("PEXPIRETIME").Keys(key).ReadOnly()).AsInt64()
			if err != nil {
				t.Fatal(err)
			}
			deadlines[at] = true
		}
		if len(f.current.Load().layers) < 2 || len(deadlines) != 1 {
			t.Errorf("%d layers; the keys expire at %v", len(f.current.Load().layers), deadlines)
		}
		if ttl, expires, err := f.TTL(ctx); err != nil || !expires || ttl < 59*time.Minute || ttl > time.Hour {
			t.Errorf("TTL is %v, %v, %v", ttl, expires, err)
		}
		if err := f.Persist(ctx); err != nil {
			t.Fatal(err)
		}
		for _, key := range all {
			if ttl, err := client.Do(ctx, client.B().Pttl().Key(key).Build()).AsInt64(); err != nil || ttl != -1 {
				t.Errorf("%s: %d, %v after Persist", key, ttl, err)
			}
		}
		if err := f.Expire(ctx, 0); err == nil {
			t.Error("Expire(0) succeeds")
		}
		if err := f.Expire(ctx, time.Millisecond); err != nil {
			t.Fatal(err)
		}
		for {
			_, err := f.Add(ctx, keys(0, 100)...)
			if errors.Is(err, ErrNotFound) {
				break
			}
			if err != nil && !errors.Is(err, ErrMissingSlice) {
				t.Fatal(err)
			}
		}
		if _, _, err := f.TTL(ctx); !errors.Is(err, ErrNotFound) {
			t.Errorf("TTL of an expired filter: %v", err)
		}
		if left := leftOf(t, client, f.name); len(left) != 0 {
			t.Errorf("%q are left of an expired filter", left)
		}
	})
}
