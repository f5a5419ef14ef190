package cli

import (
	"math"
	"testing"
)

func TestRoomFor(t *testing.T) {
	for _, c := range []struct{ n, want uint64 }{
		{0, 1000}, {1, 1000}, {909, 1000}, {910, 1250}, {1000, 1250}, {99_000, 125_000}, {100_000, 125_000}, {113_636, 125_000},
		{113_637, 160_000}, {1_000_000, 1_250_000}, {math.MaxUint64, math.MaxUint64}, {1 << 60, 1_600_000_000_000_000_000},
	} {
		if got := roomFor(c.n); got != c.want {
			t.Errorf("%d keys: room for %d, want %d", c.n, got, c.want)
		}
	}
	// Room for a tenth more, and not for much more than that and one step.
	last := uint64(0)
	for n := uint64(1); n < 1<<58; n += n/7 + 1 {
		got := roomFor(n)
		if got < last || float64(got) < 1.1*float64(n) || got > leastRoom && float64(got) > 1.1*1.29*float64(n) {
			t.Errorf("%d keys: room for %d, after %d", n, got, last)
		}
		last = got
	}
}
