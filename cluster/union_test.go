package cluster

import (
	"testing"

	"github.com/redis/rueidis"
)

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

// An interrupted union cannot be opened as a filter; it can be made again and
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
