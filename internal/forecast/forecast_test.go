package forecast

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2024, 5, 17, 12, 0, 0, 0, time.UTC)

// After three minutes of a steady rate, the best estimate is within 20 % of the truth,
// whatever came before, and the truth is in the range.
func TestSteadyRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "before"))
		if rapid.Bool().Draw(t, "new filter") {
			before = 0
		}
		former := rapid.Float64Range(0, 1e4).Draw(t, "keys per second before")
		steady := time.Duration(rapid.Int64Range(int64(3*time.Minute), int64(2*time.Hour)).Draw(t, "steady"))
		rate := math.Pow(10, rapid.Float64Range(-0.3, 6).Draw(t, "log10 of keys per second"))
		keys := func(at time.Time) uint64 {
			d := at.Sub(noon).Seconds()
			return uint64(former*min(d, before.Seconds()) + rate*max(0, d-before.Seconds()))
		}
		end := noon.Add(before + steady)
		var points []Point
		for at := noon.Add(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "phase"))); !at.After(end); at = at.Add(time.Minute) {
			points = append(points, Point{at, keys(at)})
		}
		now := Point{end, keys(end)}
		left := rapid.Uint64Range(1, 1e12).Draw(t, "left")
		f := Full(points, now, now.Keys+left)
		if f == nil {
			t.Fatal("no forecast")
		}
		if truth := float64(left) / rate; math.Abs(f.Best/truth-1) > 0.2 || !(f.Low < f.Best && f.Best < f.High) || !(f.Low*0.99 <= truth && truth <= f.High*1.01) {
			t.Fatalf("%+v, the truth is %v", f, truth)
		}
	})
}

// pointsOf returns points with the ages and numbers given, in pairs.
func pointsOf(pairs ...float64) (points []Point) {
	for i := 0; i < len(pairs); i += 2 {
		points = append(points, Point{noon.Add(-time.Duration(pairs[i] * float64(time.Minute))), uint64(pairs[i+1])})
	}
	return points
}

func TestFull(t *testing.T) {
	for name, c := range map[string]struct {
		points         []Point
		keys, capacity uint64
		want           string
	}{
		"a filter of ten minutes":     {pointsOf(10, 0, 9, 20000, 2, 160000), 200000, 659000, "about 23 minutes (20 to 26 minutes)"},
		"a burst in the last minutes": {pointsOf(60, 0, 2, 100), 1300, 2500, "about 2 minutes (1 to 56 minutes)"},
		"nothing in the last minutes": {pointsOf(60, 0, 30, 600, 2, 600), 600, 1200, "about 60 minutes (54 minutes or more)"},
		"a day":                       {pointsOf(600, 0, 1, 600), 601, 10000, "about 7 days (5 to 8 days)"},
		"few keys":                    {pointsOf(1000, 0, 100, 18, 2, 20), 20, 1e9, "1,000 years or more"},
		"only a second ago":           {pointsOf(0.02, 0), 20, 100, ""},
		"no history":                  {nil, 20, 100, ""},
		"no new keys":                 {pointsOf(10, 20, 5, 20), 20, 100, ""},
		"full":                        {pointsOf(10, 20, 5, 30), 100, 100, ""},
		"cleared a moment ago":        {pointsOf(10, 0, 5, 5000, 0.5, 10), 20, 100, ""},
		"cleared five minutes ago":    {pointsOf(10, 0, 5, 5000, 4, 0, 3, 60, 2, 120), 240, 480, "about 4 minutes (3 to 5 minutes)"},
	} {
		f := Full(c.points, Point{noon, c.keys}, c.capacity)
		got := ""
		if f != nil {
			got = f.String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A text has no number without a unit and none that is infinite.
func TestString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		best := math.Pow(10, rapid.Float64Range(-3, 12).Draw(t, "best"))
		f := Forecast{best, best * rapid.Float64Range(0.01, 1).Draw(t, "low"), best / rapid.Float64Range(0, 1).Draw(t, "high")}
		if text := f.String(); strings.Contains(text, "Inf") || strings.Contains(text, "NaN") || strings.Contains(text, "about 0") {
			t.Fatalf("%+v: %s", f, text)
		}
	})
}
