package planner

import (
	"math"
	"strings"
	"testing"
)

func TestClickHouseGolden(t *testing.T) {
	for _, c := range []struct {
		p       float64
		bits, k int
	}{
		{0.025, 8, 4}, {0.01, 10, 5}, {0.05, 7, 3}, {0.1, 5, 3}, {0.001, 15, 7},
		{0.000109, 19, 13}, {0.00011, 19, 13}, {0.000111, 19, 12}, {0.22, 4, 2}, {0.237, 3, 2}, {0.282, 3, 2}, {0.4, 2, 2}, {0.9, 2, 2},
	} {
		got, err := ClickHouse(c.p)
		if err != nil || got.ServerBitsPerRow != c.bits || got.ServerK != c.k {
			t.Errorf("ClickHouse(%v): the server takes (%d,%d) (%v), want (%d,%d)", c.p, got.ServerBitsPerRow, got.ServerK, err, c.bits, c.k)
		}
		if got.Note != "" || got.BitsPerRow != c.bits || got.K != c.k || got.ErrorRate > c.p {
			t.Errorf("ClickHouse(%v) = %+v, want what the server takes and no note", c.p, got)
		}
	}
	// One entry of the server's table is not the formula's value.
	if got, err := ClickHouse(0.0919); err != nil || got.BitsPerRow != 6 {
		t.Errorf("ClickHouse(0.0919) = %+v (%v), want 6 bits: the entry of 5 is 0.092", got, err)
	}
}

func TestClickHouseHoles(t *testing.T) {
	for _, c := range []struct {
		p                   float64
		bits, k             int
		serverBits, serverK int
		note                string
	}{
		{0.221, 4, 1, 19, 13, "largest choice"},
		{0.23, 4, 1, 19, 13, "ask it for 0.22 (4 bits) or 0.237 (3 bits)"},
		{0.2369, 4, 1, 19, 13, "largest choice"},
		{0.283, 3, 1, 2, 2, "error rate is 0.4"},
		{0.39, 3, 1, 2, 2, "ask it for 0.282"},
		{0.395, 2, 1, 2, 2, "error rate is 0.4"},
		{0.0001, 19, 13, 19, 13, "misses the rate"},
		{1e-9, 19, 13, 19, 13, "0.000109"},
	} {
		got, err := ClickHouse(c.p)
		if err != nil {
			t.Fatal(err)
		}
		if got.BitsPerRow != c.bits || got.K != c.k || got.ServerBitsPerRow != c.serverBits || got.ServerK != c.serverK {
			t.Errorf("ClickHouse(%v) = %+v, want (%d,%d), server (%d,%d)", c.p, got, c.bits, c.k, c.serverBits, c.serverK)
		}
		if !strings.Contains(got.Note, c.note) {
			t.Errorf("ClickHouse(%v): note %q does not say %q", c.p, got.Note, c.note)
		}
	}
}

// Over all rates: the answer meets the rate unless the note says that nothing
// does, is never more than the server takes, and there is a note exactly where it
// is not what the server takes.
func TestClickHouseSweep(t *testing.T) {
	for p := 0.9999; p > 1e-5; p *= 0.9997 {
		c, err := ClickHouse(p)
		if err != nil {
			t.Fatal(err)
		}
		if c.ErrorRate > p && p >= 0.000109 {
			t.Errorf("ClickHouse(%v) = %+v misses the rate", p, c)
		}
		differs := c.BitsPerRow != c.ServerBitsPerRow || c.K != c.ServerK
		if hole := differs || c.ServerErrorRate > p; hole != (c.Note != "") {
			t.Errorf("ClickHouse(%v) = %+v: note %q", p, c, c.Note)
		}
		if gap := p >= 0.221 && p < 0.237; gap != (c.ServerBitsPerRow == 19 && p > 0.001) {
			t.Errorf("ClickHouse(%v) = %+v: in the gap: %v", p, c, gap)
		}
	}
	for _, p := range []float64{0, 1, -1, 2, math.NaN(), math.Inf(1)} {
		if c, err := ClickHouse(p); err == nil || c != (ClickHouseChoice{}) || !strings.Contains(err.Error(), "above 0 and below 1") {
			t.Errorf("ClickHouse(%v) = %+v, %v", p, c, err)
		}
	}
}
