package sizing

import (
	"math"
	"strings"
	"testing"
)

func TestShapeNumbersAndNames(t *testing.T) {
	// The numbers are in files.
	for s, want := range map[Shape]struct {
		number uint8
		name   string
	}{
		Classic:     {1, "classic"},
		Blocked:     {2, "blocked"},
		Partitioned: {3, "partitioned"},
		Counting:    {4, "counting"},
		Shape(9):    {9, "shape(9)"},
	} {
		if uint8(s) != want.number || s.String() != want.name {
			t.Errorf("shape %d is %q, want %d %q", uint8(s), s, want.number, want.name)
		}
	}
}

var validParams = []Params{
	{Shape: Classic, M: 1, K: 1},
	{Shape: Classic, M: MaxBits, K: MaxProbes},
	{Shape: Partitioned, M: 21, K: 7},
	{Shape: Counting, M: 100, K: 7, CounterBits: 4},
	{Shape: Counting, M: MaxBits / 16, K: 7, CounterBits: 16},
	{Shape: Blocked, M: 512, K: 8, Lines: 1, Lanes: 8},
	{Shape: Blocked, M: 3 * 512 * 1000, K: 9, Lines: 3, Lanes: 3},
}

// invalidParams names, for each, a part of the message that tells the user.
var invalidParams = map[string]Params{
	"unknown shape 0":           {M: 1, K: 1},
	"unknown shape 5":           {Shape: 5, M: 1, K: 1},
	"0 bits":                    {Shape: Classic, K: 1},
	"K = 0 probes":              {Shape: Classic, M: 8},
	"K = -1 probes":             {Shape: Partitioned, M: 8, K: -1},
	"K = 65 probes":             {Shape: Classic, M: 8, K: 65},
	"Lines = 1 and Lanes":       {Shape: Classic, M: 512, K: 8, Lines: 1, Lanes: 8},
	"Lines = 0 and Lanes":       {Shape: Partitioned, M: 512, K: 8, Lanes: 8},
	"CounterBits = 4":           {Shape: Classic, M: 8, K: 1, CounterBits: 4},
	"counters of 0 bits":        {Shape: Counting, M: 8, K: 1},
	"counters of 5 bits":        {Shape: Counting, M: 8, K: 1, CounterBits: 5},
	"M = 1152921504606846977":   {Shape: Classic, M: MaxBits + 1, K: 1},
	"M = 72057594037927937":     {Shape: Counting, M: MaxBits/16 + 1, K: 1, CounterBits: 16},
	"M = 20 bits in K = 7":      {Shape: Partitioned, M: 20, K: 7},
	"M must be a multiple of K": {Shape: Partitioned, M: 3, K: 7},
	"Lines = 0;":                {Shape: Blocked, M: 512, K: 8, Lanes: 8},
	"Lines = 4;":                {Shape: Blocked, M: 2048, K: 4, Lines: 4, Lanes: 1},
	"Lanes = 0;":                {Shape: Blocked, M: 512, K: 8, Lines: 1},
	"Lanes = 9;":                {Shape: Blocked, M: 512, K: 9, Lines: 1, Lanes: 9},
	"Lines*Lanes = 16":          {Shape: Blocked, M: 1024, K: 8, Lines: 2, Lanes: 8},
	"a multiple of 1024":        {Shape: Blocked, M: 512, K: 16, Lines: 2, Lanes: 8},
	"a multiple of 512":         {Shape: Blocked, M: 513, K: 8, Lines: 1, Lanes: 8},
}

func TestValidate(t *testing.T) {
	for _, p := range validParams {
		if err := p.Validate(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for want, p := range invalidParams {
		err := p.Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one that says %q", p, err, want)
		}
	}
}

func TestInvalidParamsAnswerNaN(t *testing.T) {
	for _, p := range invalidParams {
		for name, got := range map[string]float64{
			"ErrorRate":     p.ErrorRate(10),
			"ErrorRateAt":   p.ErrorRateAt(1),
			"FillRatio":     p.FillRatio(10),
			"BitsPerKey":    p.BitsPerKey(10),
			"Cardinality":   p.Cardinality(1).Value,
			"Union":         p.Union(1).Value,
			"Intersection":  p.Intersection(1, 1, 1).Value,
			"Jaccard":       p.Jaccard(1, 1, 1).StdErr,
			"StuckCounters": p.StuckCounters(10),
		} {
			if !math.IsNaN(got) {
				t.Errorf("%+v: %s = %v, want NaN", p, name, got)
			}
		}
		if p.Bytes() != 0 || p.RegionLines() != 0 {
			t.Errorf("%+v: Bytes %d, RegionLines %d, want 0", p, p.Bytes(), p.RegionLines())
		}
		if _, err := p.Capacity(0.01); err == nil {
			t.Errorf("%+v: Capacity accepts it", p)
		}
	}
}

func TestMemory(t *testing.T) {
	for _, c := range []struct {
		p           Params
		bytes       uint64
		regionLines uint64
		bitsPerKey  float64 // for 10 keys
	}{
		{Params{Shape: Classic, M: 1, K: 1}, 8, 0, 0.1},
		{Params{Shape: Classic, M: 64, K: 1}, 8, 0, 6.4},
		{Params{Shape: Classic, M: 65, K: 1}, 16, 0, 6.5},
		{Params{Shape: Classic, M: MaxBits, K: 1}, 1 << 57, 0, 0x1p60 / 10},
		{Params{Shape: Partitioned, M: 70, K: 7}, 16, 0, 7},
		{Params{Shape: Counting, M: 17, K: 1, CounterBits: 4}, 16, 0, 6.8},
		{Params{Shape: Counting, M: 17, K: 1, CounterBits: 16}, 40, 0, 27.2},
		{Params{Shape: Blocked, M: 512, K: 8, Lines: 1, Lanes: 8}, 64, 1, 51.2},
		{Params{Shape: Blocked, M: 3 * 512 * 7, K: 9, Lines: 3, Lanes: 3}, 3 * 64 * 7, 7, 1075.2},
	} {
		if got := c.p.Bytes(); got != c.bytes {
			t.Errorf("%+v: Bytes = %d, want %d", c.p, got, c.bytes)
		}
		if got := c.p.RegionLines(); got != c.regionLines {
			t.Errorf("%+v: RegionLines = %d, want %d", c.p, got, c.regionLines)
		}
		if got := c.p.BitsPerKey(10); math.Abs(got/c.bitsPerKey-1) > 1e-12 {
			t.Errorf("%+v: BitsPerKey(10) = %v, want %v", c.p, got, c.bitsPerKey)
		}
		if got := c.p.BitsPerKey(0); !math.IsInf(got, 1) {
			t.Errorf("%+v: BitsPerKey(0) = %v, want +Inf", c.p, got)
		}
	}
}

func TestOptimalBits(t *testing.T) {
	// The column "classic" of every table on the subject, to two digits.
	for p, want := range map[float64]float64{1e-2: 9.59, 1e-3: 14.38, 1e-4: 19.17, 1e-5: 23.96, 1e-6: 28.76} {
		if got := OptimalBits(1e6, p) / 1e6; math.Abs(got-want) > 0.005 {
			t.Errorf("OptimalBits per key at %v = %.3f, want %v", p, got, want)
		}
	}
	for _, p := range []float64{0, 1, -1, 2, math.NaN(), math.Inf(1)} {
		if got := OptimalBits(1000, p); !math.IsNaN(got) {
			t.Errorf("OptimalBits at %v = %v, want NaN", p, got)
		}
	}
}
