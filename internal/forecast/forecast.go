// Package forecast estimates when a filter will be full from the number of its keys at some
// moments. It is for internal/server/dashboard, which has the history of a filter, and for
// those who show its answers. It reads no clock and knows no filter.
//
// All functions are pure.
package forecast

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// A Point is the number of keys in a filter at a moment.
type Point struct {
	At   time.Time
	Keys uint64
}

// A Forecast says in how many seconds a filter reaches its capacity.
type Forecast struct {
	Best float64 // at the recent rate
	// Low and High are the range: the times at the fastest and at the slowest of the rates
	// of the last minutes, the last hour and the last day. High is +Inf if no keys came in
	// the last minutes.
	Low, High float64
}

const (
	// shortest and recent bound the age of the point from which the recent rate is
	// computed. With a point each minute, there is one between 90 and 150 seconds old.
	shortest = time.Minute
	recent   = 150 * time.Second
	// steady is how far the rate since an older point may be from the recent rate for that
	// point to be used instead: a longer time gives a more exact rate.
	steady = 0.1
	// fewest is how many keys a rate needs. With fewer, an older point is used.
	fewest = 10
	// margin is the least width of the range to each side of the best estimate.
	margin = 0.1
)

// lookBacks are the times whose rates make the range, in addition to the recent rate.
var lookBacks = []time.Duration{10 * time.Minute, time.Hour, 24 * time.Hour}

// Full returns when a filter that has now.Keys keys will have capacity keys. points are the
// numbers of keys at earlier moments, the oldest first. It returns nil if no rate can be
// computed: there is no point of at least a minute ago, or no keys came since.
func Full(points []Point, now Point, capacity uint64) *Forecast {
	points = since(points, now)
	if now.Keys >= capacity || len(points) == 0 {
		return nil
	}
	rate := func(p Point) float64 { return float64(now.Keys-p.Keys) / now.At.Sub(p.At).Seconds() }
	at := max(oldest(points, now, recent), 0)
	rates := []float64{rate(points[at])}
	for _, back := range lookBacks {
		if i := oldest(points, now, back); i >= 0 && i < at {
			rates = append(rates, rate(points[i]))
		}
	}
	for at > 0 && now.Keys-points[at].Keys < fewest {
		at--
	}
	best := rate(points[at])
	if best == 0 {
		return nil
	}
	for i := at - 1; i >= 0 && math.Abs(rate(points[i])/rate(points[at])-1) <= steady; i-- {
		best = rate(points[i])
	}
	rates = append(rates, best*(1-margin), best*(1+margin))
	left := float64(capacity - now.Keys)
	return &Forecast{Best: left / best, Low: left / slices.Max(rates), High: left / slices.Min(rates)}
}

// since returns the points of at least a minute ago from which the number of keys only rose.
func since(points []Point, now Point) []Point {
	most := now.Keys
	for i, p := range slices.Backward(points) {
		if p.Keys > most {
			points = points[i+1:]
			break
		}
		most = p.Keys
	}
	for len(points) > 0 && now.At.Sub(points[len(points)-1].At) < shortest {
		points = points[:len(points)-1]
	}
	return points
}

// oldest returns the place of the oldest point that is not older than back. If all are, it
// returns the newest one's.
func oldest(points []Point, now Point, back time.Duration) int {
	i := slices.IndexFunc(points, func(p Point) bool { return now.At.Sub(p.At) <= back })
	if i < 0 {
		return len(points) - 1
	}
	return i
}

// About returns a number of seconds in a suitable unit: 20 minutes.
func About(seconds float64) string {
	u := unitOf(seconds)
	n := math.Round(seconds / u.seconds)
	if n >= 1000 {
		return manyYears
	}
	return u.text(n)
}

const manyYears = "1,000 years or more"

// String returns the forecast as people say it: about 20 minutes (18 to 22 minutes).
func (f Forecast) String() string {
	best := About(f.Best)
	if best == manyYears {
		return best
	}
	low, high := unitOf(f.Low), unitOf(f.High)
	from := math.Floor(f.Low / low.seconds)
	text := "about " + best + " ("
	to := math.Ceil(f.High / high.seconds)
	switch {
	case to >= 1000:
		text += low.text(from) + " or more)"
	case low == high:
		text += fmt.Sprintf("%.0f to %s)", from, high.text(to))
	default:
		text += fmt.Sprintf("%s to %s)", low.text(from), high.text(to))
	}
	return text
}

type unit struct {
	name    string
	seconds float64
}

var units = []unit{{"year", 365.25 * 86400}, {"day", 86400}, {"hour", 3600}, {"minute", 60}}

// unitOf returns the unit for a time.
func unitOf(seconds float64) unit {
	for _, u := range units {
		if seconds/u.seconds >= 1.5 {
			return u
		}
	}
	return unit{"second", 1}
}

// text returns a number of units.
func (u unit) text(n float64) string {
	n = max(n, 1)
	if n == 1 {
		return "1 " + u.name
	}
	return fmt.Sprintf("%.0f %ss", n, u.name)
}
