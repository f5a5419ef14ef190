package dashboard

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"seen/internal/store"
	"seen/internal/web"
)

// handClock is a clock that a test moves. The store reads it from several goroutines.
type handClock struct{ nanos atomic.Int64 }

func (c *handClock) Now() time.Time          { return time.Unix(0, c.nanos.Load()) }
func (c *handClock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

// forecastDashboard returns a dashboard of a store without filters.
func forecastDashboard(t *testing.T) (*store.Store, *Dashboard, *handClock) {
	t.Helper()
	clock := new(handClock)
	clock.nanos.Store(time.Date(2024, 5, 17, 12, 0, 0, 0, time.UTC).UnixNano())
	s, err := store.Open(t.TempDir(), store.Options{Fsync: store.Never, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, New(Config{Store: s, Users: &fakeUsers{&fakeUser{store: s}}, Now: clock.Now}), clock
}

// After three minutes of a steady rate, a filter's page says when it will be full, and every
// sample of its history has that rate.
func TestForecastOfASteadyRate(t *testing.T) {
	s, d, clock := forecastDashboard(t)
	rapid.Check(t, func(t *rapid.T) {
		clock.advance(40*24*time.Hour + time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "start")))
		if err := s.Record(); err != nil {
			t.Fatal(err)
		}
		const capacity = 1_000_000
		name := fmt.Sprint("filter ", s.Len())
		f, _, err := s.CreateBloom([]byte(name), store.BloomConfig{ErrorRate: 1e-6, Capacity: capacity})
		if err != nil {
			t.Fatal(err)
		}
		perSecond := rapid.IntRange(1, 50).Draw(t, "keys per second")
		seconds := rapid.IntRange(180, 500).Draw(t, "seconds")
		phase := rapid.IntRange(1, 60).Draw(t, "phase")
		for second := 1; second <= seconds; second++ {
			clock.advance(time.Second)
			keys := make([][]byte, perSecond)
			for i := range keys {
				keys[i] = fmt.Appendf(nil, "key %d of second %d", i, second)
			}
			if _, _, err := f.Add(make([]bool, perSecond), keys); err != nil {
				t.Fatal(err)
			}
			if second%60 == phase%60 {
				if err := s.Record(); err != nil {
					t.Fatal(err)
				}
			}
		}
		v, err := d.Anybody(nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := v.Filter(name)
		if err != nil || p.Forecast == nil {
			t.Fatalf("%+v, %v", p, err)
		}
		left := float64(capacity-p.Items) / float64(perSecond)
		if got := p.Forecast; math.Abs(got.Best/left-1) > 0.2 || !(got.Low < left && left < got.High) {
			t.Errorf("%+v, the truth is %v", got, left)
		}
		for _, span := range []web.Span{web.Hour, web.Day, web.Month} {
			samples, err := v.History(name, span)
			if err != nil || len(samples) == 0 {
				t.Fatalf("%s: %d samples, %v", span, len(samples), err)
			}
			for _, s := range samples {
				if rate := float64(s.Adds) / s.To.Sub(s.From).Seconds(); math.Abs(rate/float64(perSecond)-1) > 0.1 {
					t.Errorf("%s: %v keys per second from %v to %v, want %d", span, rate, s.From, s.To, perSecond)
				}
			}
		}
	})
}

// A filter that was idle before says when it will be full from its keys since then.
func TestForecastAfterAPause(t *testing.T) {
	s, d, clock := forecastDashboard(t)
	f, _, err := s.CreateBloom([]byte("a"), store.BloomConfig{ErrorRate: 1e-6, Capacity: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	use := func(minutes, keys int) {
		t.Helper()
		for range minutes {
			clock.advance(time.Minute)
			for range keys {
				number++
				if _, _, err := f.Add(make([]bool, 1), [][]byte{fmt.Append(nil, number)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Record(); err != nil {
				t.Fatal(err)
			}
		}
	}
	use(3, 10)
	use(300, 0)
	use(3, 1000)
	got, err := d.forecast(f, f.Info().Added, 100_000)
	if truth := (100_000 - 3030) / 1000.0 * 60; err != nil || got == nil || math.Abs(got.Best/truth-1) > 0.01 || got.High < 3600 {
		t.Errorf("%+v, %v, the truth is %v", got, err, truth)
	}
	window, _, err := s.CreateBloom([]byte("w"), store.BloomConfig{ErrorRate: 0.01, Capacity: 100, Span: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.forecast(window, 5, 100); got != nil || err != nil {
		t.Errorf("a window: %+v, %v", got, err)
	}
}
