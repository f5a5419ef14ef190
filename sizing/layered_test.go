package sizing

import (
	"math"
	"testing"
)

func TestLayered(t *testing.T) {
	if e := Layered(nil); e != (Estimate{}) {
		t.Errorf("no layers have %v keys", e)
	}
	one := Layer{Keys: Estimate{1000, 10}, Rate: 0.5}
	if e := Layered([]Layer{one}); e != one.Keys {
		t.Errorf("one layer has %v keys, want %v", e, one.Keys)
	}
	// The first layer hides a fifth of what is added to the second, in any order.
	two := []Layer{{Index: 7, Keys: Estimate{800, 4}}, {Index: 3, Keys: Estimate{500, 3}, Rate: 0.2}}
	want := Estimate{1500, math.Sqrt(9 + (16+800*0.2)/0.64)}
	if e := Layered(two); math.Abs(e.Value-want.Value) > 1e-9 || math.Abs(e.StdErr-want.StdErr) > 1e-9 {
		t.Errorf("two layers have %v keys, want %v", e, want)
	}
	// Two of one index do not hide keys of each other, and hide half of their rates on average.
	union := append(two, Layer{Index: 3, Keys: Estimate{100, 0}, Rate: 0})
	if e := Layered(union); math.Abs(e.Value-(500+100+800/0.9)) > 1e-9 {
		t.Errorf("a union has %v keys", e)
	}
	for _, layers := range [][]Layer{
		{{Keys: Estimate{math.Inf(1), math.Inf(1)}}},
		{one, {Index: 1, Keys: full}},
		{{Keys: one.Keys, Rate: 1}, {Index: 1, Keys: one.Keys}},
	} {
		if e := Layered(layers); !math.IsInf(e.Value, 1) || e.Known() {
			t.Errorf("%v: %v keys, want full", layers, e)
		}
	}
	if e := Layered([]Layer{one, {Index: 1, Keys: unknown}}); e.Known() {
		t.Errorf("a layer of unknown keys: %v", e)
	}
}

// A layer with the bits of a key in an older one has more keys than its ones tell.
func TestLayeredWithSameBits(t *testing.T) {
	older := Layer{Keys: Estimate{1000, 10}, Rate: 0.125, Fill: 0.5, Probes: 3}
	// Of the bits, half let 3/4 of their keys through and half all.
	if got, want := older.SameBits(), 0.125*0.125/(0.875*0.875); math.Abs(got-want) > 1e-12 {
		t.Errorf("relative variance %v, want %v", got, want)
	}
	later := Layer{Index: 1, Keys: Estimate{500, 5}, Rate: 0.1, Fill: 0.5, Probes: 3, Uneven: older.SameBits()}
	plain := later
	plain.Uneven = 0
	if a, b := Layered([]Layer{older, later}).Value, Layered([]Layer{older, plain}).Value; !(a > b && a < 1.02*b) {
		t.Errorf("%v keys, and %v without the correction", a, b)
	}
	for _, l := range []Layer{{}, {Rate: 1, Fill: 1}} {
		if v := l.SameBits(); v != 0 {
			t.Errorf("%+v: variance %v", l, v)
		}
	}
}
