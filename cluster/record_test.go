package cluster

import (
	"errors"
	"testing"
	"time"

	"seen/bloom"
	"seen/internal/redistest"
)

func TestConfig(t *testing.T) {
	client := engines[0].dial(t)
	for _, c := range []Config{
		{Capacity: 10},
		{ErrorRate: 0.1},
		{Capacity: 10, ErrorRate: 1},
		{Capacity: 10, ErrorRate: 0.1, SliceBytes: 100},
		{Capacity: 10, ErrorRate: 0.1, SliceBytes: 1 << 30},
		{Capacity: 10, ErrorRate: 0.1, Hash: bloom.Hash{Algorithm: bloom.SipHash}},
		{Capacity: 10, ErrorRate: 0.1, Wait: Wait{Replicas: -1}},
		{Capacity: 1 << 62, ErrorRate: 1e-9},
	} {
		if _, err := Open(t.Context(), client, name(t), c); err == nil {
			t.Errorf("%+v opens", c)
		}
	}
	if _, err := Open(t.Context(), client, "", Config{Capacity: 10, ErrorRate: 0.1}); err == nil {
		t.Error("a filter without a name opens")
	}
	if _, err := OpenWindow(t.Context(), client, name(t), WindowConfig{Config: Config{Capacity: 10, ErrorRate: 0.1}}); err == nil {
		t.Error("a window without a span opens")
	}
	if _, err := PlanFor(Config{Capacity: 10, ErrorRate: 0.1}, 0); err == nil {
		t.Error("a plan for no nodes")
	}
}

// FuzzRecord holds that a record is a value or an error, and a value that can be
// used and written again.
func FuzzRecord(f *testing.F) {
	p, err := Config{Capacity: 1000, ErrorRate: 0.01}.parameters()
	if err != nil {
		f.Fatal(err)
	}
	s, err := p.shapeOf(0)
	if err != nil {
		f.Fatal(err)
	}
	r := &record{Format: recordFormat, Version: recordVersion, parameters: p, Live: []generation{{Epoch: newEpoch(), Layers: []shape{s}}}}
	raw, err := r.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add(`{"format":"seen cluster filter","version":2}`)
	f.Add(`{}`)
	f.Fuzz(func(t *testing.T, raw string) {
		r, err := decodeRecord("f", raw)
		if (r == nil) == (err == nil) {
			t.Fatalf("%v, %v", r, err)
		}
		if err != nil {
			return
		}
		for _, g := range r.Live {
			for _, s := range g.Layers {
				if s.sliceBytes() > MaxSliceBytes || s.sliceOf(1<<63) >= uint32(s.Slices) {
					t.Errorf("%+v", s)
				}
			}
		}
		again, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeRecord("f", again); err != nil {
			t.Errorf("%v of %s", err, again)
		}
	})
}

// A difference is told with its parameter and both values.
func TestParameterError(t *testing.T) {
	client, n := dial(t, lab.Server(t).Addr()), name(t)
	c := Config{Capacity: 100, ErrorRate: 0.01}
	for change, want := range map[string]ParameterError{
		"":           {},
		"Capacity":   {Have: uint64(100), Want: uint64(101)},
		"ErrorRate":  {Have: 0.01, Want: 0.02},
		"SliceBytes": {Have: uint64(DefaultSliceBytes), Want: uint64(2048)},
		"Fixed":      {Have: false, Want: true},
		"Hash":       {Have: "xxh3 with seed 0", Want: "xxh3 with seed 7"},
		"Kind":       {Have: "filter", Want: "window"},
	} {
		other := c
		var err error
		switch change {
		case "Capacity":
			other.Capacity++
		case "ErrorRate":
			other.ErrorRate = 0.02
		case "SliceBytes":
			other.SliceBytes = 2048
		case "Fixed":
			other.Fixed = true
		case "Hash":
			other.Hash.Seed = 7
		}
		if _, err = Open(t.Context(), client, n, c); err != nil {
			t.Fatal(err)
		}
		if change == "Kind" {
			_, err = OpenWindow(t.Context(), client, n, WindowConfig{Config: c, Span: time.Hour})
		} else {
			_, err = Open(t.Context(), client, n, other)
		}
		want.Filter, want.Parameter = n, change
		if got, ok := errors.AsType[*ParameterError](err); ok != (change != "") || ok && *got != want {
			t.Errorf("%s: %v", change, err)
		}
	}
}

// A record is not changed where the engine refuses to watch it.
func TestUnwatched(t *testing.T) {
	server := redistest.NewServer(t)
	f := open(t, dial(t, server.Addr()), Config{Capacity: 1000, ErrorRate: 0.01})
	if _, err := server.Do("ACL", "SETUSER", "default", "-watch"); err != nil {
		t.Fatal(err)
	}
	if err := f.grow(t.Context(), f.current.Load().newest()); err == nil {
		t.Error("the record was changed, unwatched")
	}
}
