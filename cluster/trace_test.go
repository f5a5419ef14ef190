package cluster

import (
	"errors"
	"testing"

	"github.com/redis/rueidis"
)

// What a trace tells is what the filter answers, and what the engine has at these places.
func TestTrace(t *testing.T) {
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		f := open(t, client, Config{Capacity: 500, ErrorRate: 0.05})
		in, out := keys(0, 2000), keys(1_000_000, 8)
		mustAdd(t, f, in...)
		found := mustHas(t, f, append(in[:8:8], out...)...)
		for i, key := range append(in[:8:8], out...) {
			traces, err := f.Trace(t.Context(), f.hash.Sum(key))
			if err != nil {
				t.Fatal(err)
			}
			if len(traces) < 2 {
				t.Fatalf("the filter has %d layers", len(traces))
			}
			any := false
			for _, l := range traces {
				any = any || l.Found
				if !(l.ErrorRate >= 0 && l.ErrorRate < 0.1) || len(l.Probes) == 0 {
					t.Errorf("%s: %d probes, error rate %v", l.Slice, len(l.Probes), l.ErrorRate)
				}
				for _, p := range l.Probes {
					bit, err := client.Do(t.Context(), client.B().Getbit().Key(l.Slice).Offset(int64(p.Position)).Build()).AsInt64()
					if err != nil || (bit == 1) != p.Set || p.Position/512 != p.Line {
						t.Fatalf("bit %d of line %d of %s is %d, told is %v, %v", p.Position, p.Line, l.Slice, bit, p.Set, err)
					}
				}
			}
			if any != found[i] {
				t.Errorf("%s: traced %v, answered %v", key, any, found[i])
			}
		}
		if err := f.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if traces, err := f.Trace(t.Context(), 1); !errors.Is(err, ErrNotFound) {
			t.Errorf("of a filter that is gone: %v, %v", traces, err)
		}
	})
}
