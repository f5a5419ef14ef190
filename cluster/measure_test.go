package cluster

import (
	"fmt"
	"testing"

	"github.com/redis/rueidis"

	"seen/internal/filtertest"
	"seen/sizing"
)

// At capacity the error rate is what the mathematics says, and within what was asked
// for, whether a key has one line or three, in one slice or in many.
func TestErrorRate(t *testing.T) {
	t.Parallel()
	cases := []struct {
		c      Config
		trials int
	}{
		{Config{Capacity: 20000, ErrorRate: 0.05, Fixed: true}, 20000},
		{Config{Capacity: 20000, ErrorRate: 0.01, SliceBytes: 4096, Fixed: true}, 40000},
		{Config{Capacity: 20000, ErrorRate: 0.001, SliceBytes: 8192}, 100000},
		{Config{Capacity: 20000, ErrorRate: 1e-4, SliceBytes: 8192}, 100000},
	}
	onEngines(t, func(t *testing.T, client rueidis.Client) {
		for _, c := range cases {
			t.Run(fmt.Sprint(c.c.ErrorRate), func(t *testing.T) {
				f := open(t, client, c.c)
				hs := filtertest.RandomHashes(11, int(c.c.Capacity)+c.trials)
				// The very last keys would end the layer.
				n := int(c.c.Capacity) * 99 / 100
				if _, err := f.AddHashes(t.Context(), hs[:n]); err != nil {
					t.Fatal(err)
				}
				s := f.current.Load()
				if len(s.layers) != 1 {
					t.Fatalf("%d layers below capacity", len(s.layers))
				}
				found, err := f.HasHashes(t.Context(), hs[len(hs)-c.trials:])
				if err != nil {
					t.Fatal(err)
				}
				p := s.newest().params()
				if at := p.ErrorRate(c.c.Capacity); at > c.c.ErrorRate {
					t.Errorf("the layer is for an error rate of %v", at)
				}
				lo, hi := filtertest.Limits(c.trials, p.ErrorRate(uint64(n)), filtertest.Spread(p, uint64(n)), 2*len(cases))
				if got := trues(found); got < lo || got > hi {
					t.Errorf("%d of %d absent keys are found; want %d to %d", got, c.trials, lo, hi)
				}
			})
		}
	})
}

// Growing keeps the error rate of all layers together below what was asked for.
func TestErrorRateOfLayers(t *testing.T) {
	t.Parallel()
	const trials = 40000
	client := engines[0].dial(t)
	f := open(t, client, Config{Capacity: 2000, ErrorRate: 0.01})
	hs := filtertest.RandomHashes(12, 28000+trials)
	if _, err := f.AddHashes(t.Context(), hs[:28000]); err != nil {
		t.Fatal(err)
	}
	if n := len(f.current.Load().layers); n < 4 {
		t.Fatalf("%d layers", n)
	}
	found, err := f.HasHashes(t.Context(), hs[28000:])
	if err != nil {
		t.Fatal(err)
	}
	if _, hi := filtertest.Limits(trials, 0.01, 0, 1); trues(found) > hi {
		t.Errorf("%d of %d absent keys are found; want at most %d", trues(found), trials, hi)
	}
}

// The memory that the engine reports is what the plan says, and within 10 % of the
// classic optimum.
func TestMemory(t *testing.T) {
	ctx, client := t.Context(), engines[0].dial(t)
	for _, c := range []Config{
		{Capacity: 1_000_000, ErrorRate: 0.1},
		{Capacity: 1_000_000, ErrorRate: 0.01},
		{Capacity: 1_000_000, ErrorRate: 0.001, SliceBytes: 64 << 10},
		{Capacity: 1_000_000, ErrorRate: 1e-4, Fixed: true},
		{Capacity: 1_000_000, ErrorRate: 1e-6},
		{Capacity: 20_000_000, ErrorRate: 0.01},
	} {
		f := open(t, client, c)
		l := f.current.Load().newest()
		var bytes int64
		for i := range l.Slices {
			n, err := client.Do(ctx, client.B().MemoryUsage().Key(fmt.Sprint(l.prefix, i)).Build()).AsInt64()
			if err != nil {
				t.Fatal(err)
			}
			bytes += n
		}
		plan, err := PlanFor(c, 3)
		if err != nil {
			t.Fatal(err)
		}
		ratio := float64(bytes) * 8 / sizing.OptimalBits(c.Capacity, c.ErrorRate)
		t.Logf("%+v: %d slices, %d bytes, %.3f of the optimum", c, l.Slices, bytes, ratio)
		if ratio > 1.10 {
			t.Errorf("%+v takes %d bytes, %.3f of the classic optimum", c, bytes, ratio)
		}
		if d := float64(plan.Bytes) / float64(bytes); d < 0.99 || d > 1.01 {
			t.Errorf("%+v takes %d bytes, the plan says %d", c, bytes, plan.Bytes)
		}
		if plan.Slices != l.Slices || plan.SliceBytes != l.sliceBytes() || plan.Lines != l.Lines {
			t.Errorf("%+v: the plan is %+v", c, plan)
		}
		if err := f.Drop(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
