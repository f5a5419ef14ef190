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
