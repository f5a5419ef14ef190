package cluster

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// Stats counts what is there, and estimates as many keys as were added.
func TestStats(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		const n = 30000
		f := open(t, client, Config{Capacity: 20000, ErrorRate: 0.01, SliceBytes: 2048})
		added := 0
		for at := 0; at < n; at += 1000 {
			added += trues(mustAdd(t, f, keys(at, 1000)...))
		}
		s, err := f.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Layers != 2 || s.Capacity != 20000 || s.LayerCapacity != 60000 || s.Slices == 0 {
			t.Errorf("%+v", s)
		}
		// A key that looks seen may be written as well, but none is that was not added.
		if s.Written < uint64(added) || s.Written > n {
			t.Errorf("%d of %d keys were new, Stats says that %d were written", added, n, s.Written)
		}
		if d := math.Abs(s.Cardinality.Value - n); d > 4*s.Cardinality.StdErr || s.Cardinality.StdErr > n/100 {
			t.Errorf("%v keys; want about %d", s.Cardinality, n)
		}
		if !(s.ErrorRate > 0.001 && s.ErrorRate < 0.011) || s.ErrorRateAsked != 0.01 || !(s.ErrorRateAtCapacity > 0.005 && s.ErrorRateAtCapacity < 0.0101) {
			t.Errorf("error rates %v now, %v at capacity, %v asked", s.ErrorRate, s.ErrorRateAtCapacity, s.ErrorRateAsked)
		}
		if err := client.Do(t.Context(), client.B().Del().Key(f.current.Load().layers[0].prefix+"3").Build()).Error(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Stats(t.Context()); !errors.Is(err, ErrMissingSlice) {
			t.Errorf("Stats of a filter without a slice: %v; want ErrMissingSlice", err)
		}
	})
}

// The keys of a generation of a window that has grown are counted as those of a filter:
// also the many that an older layer takes for seen by mistake.
func TestStatsOfWindow(t *testing.T) {
	client := engines[0].dial(t)
	w, err := OpenWindow(t.Context(), client, name(t), WindowConfig{Config: Config{Capacity: 2000, ErrorRate: 0.4, SliceBytes: 1024}, Span: 24 * time.Hour, Generations: 2})
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	for at := 0; at < n; at += 1000 {
		if _, err := w.Add(t.Context(), keys(at, 1000)...); err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.Stats(t.Context())
	if err != nil || s.Layers < 3 {
		t.Fatalf("%+v, %v; want several layers", s, err)
	}
	if d := math.Abs(s.Cardinality.Value - n); d > n/20 {
		t.Errorf("%v keys, of which %d were written; want about %d", s.Cardinality, s.Written, n)
	}
}

// A union has the keys of all, answers as the filter to which all were added, and
// grows on.
func TestUnion(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		ctx := t.Context()
		c := Config{Capacity: 2000, ErrorRate: 1e-4, SliceBytes: 1024}
		a, b, none := open(t, client, c), open(t, client, c), open(t, client, c)
		mustAdd(t, a, keys(0, 5000)...)
		mustAdd(t, b, keys(4000, 2000)...)
		into := name(t)
		if err := a.Union(ctx, into, b, none); err != nil {
			t.Fatal(err)
		}
		u, err := Open(ctx, client, into, c)
		if err != nil {
			t.Fatal(err)
		}
		if n := trues(mustHas(t, u, keys(0, 6000)...)); n != 6000 {
			t.Errorf("%d of 6000 keys are in the union", n)
		}
		if n := trues(mustHas(t, u, keys(6000, 4000)...)); n > 40 {
			t.Errorf("%d of 4000 keys that were never added are in the union", n)
		}
		if n := trues(mustAdd(t, u, keys(6000, 4000)...)); n < 3960 {
			t.Errorf("%d of 4000 keys are new", n)
		}
		if err := a.Union(ctx, into, b); err == nil {
			t.Error("a union into a filter that exists succeeds")
		}
		c.ErrorRate = 1e-3
		if err := a.Union(ctx, name(t), open(t, client, c)); !isA[*ParameterError](err) {
			t.Errorf("union of unlike filters: %v", err)
		}
	})
}

// A union that was broken off is not taken for a filter; it can be made again and
// dropped.
func TestUnionBrokenOff(t *testing.T) {
	ctx, client := t.Context(), engines[0].dial(t)
	f := open(t, client, Config{Capacity: 2000, ErrorRate: 1e-3, SliceBytes: 1024})
	mustAdd(t, f, keys(0, 1000)...)
	into := name(t)
	u := &union{target: &core{client: client, name: into}}
	s := f.current.Load()
	for range 2 {
		if _, _, err := u.claim(ctx, s.record.parameters, s.record.last().Layers); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(ctx, client, into, Config{}); err == nil {
			t.Fatal("a union that was broken off opens")
		}
	}
	if err := f.Union(ctx, into); err != nil {
		t.Fatal(err)
	}
	g, err := Open(ctx, client, into, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if n := trues(mustHas(t, g, keys(0, 1000)...)); n != 1000 {
		t.Errorf("%d of 1000 keys", n)
	}
	into = name(t)
	u.target.name = into
	if _, _, err := u.claim(ctx, s.record.parameters, s.record.last().Layers); err != nil {
		t.Fatal(err)
	}
	if err := Clear(ctx, client, into); err != nil {
		t.Fatal(err)
	}
	if g, err = Open(ctx, client, into, Config{}); err != nil {
		t.Fatal(err)
	}
	if n := trues(mustHas(t, g, keys(0, 1000)...)); n > 10 {
		t.Errorf("%d of 1000 keys after Clear", n)
	}
	into = name(t)
	u.target.name = into
	if _, _, err := u.claim(ctx, s.record.parameters, s.record.last().Layers); err != nil {
		t.Fatal(err)
	}
	if err := Drop(ctx, client, into); err != nil {
		t.Fatal(err)
	}
	if left := leftOf(t, client, into); len(left) != 0 {
		t.Errorf("%q are left", left)
	}
}

// leftOf returns the keys that begin with a name, on all primaries.
func leftOf(t *testing.T, client rueidis.Client, name string) []string {
	t.Helper()
	var left []string
	for _, node := range client.Nodes() {
		role, err := node.Do(t.Context(), node.B().Role().Build()).ToArray()
		if err != nil {
			t.Fatal(err)
		}
		if kind, err := role[0].ToString(); err != nil || kind != "master" {
			continue
		}
		found, err := node.Do(t.Context(), node.B().Keys().Pattern(name+"*").Build()).AsStrSlice()
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, found...)
	}
	return left
}

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
