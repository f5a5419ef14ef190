package dashboard

import (
	"time"

	"seen/internal/forecast"
	"seen/internal/store"
)

// recordEvery is the time between two samples of a filter that is in use.
const recordEvery = time.Minute

// forecast says when a value with some keys has as many as its capacity. It returns nil if
// that is unknown or never: a window forgets keys, and sketches have no capacity.
func (d *Dashboard) forecast(value store.Value, keys, capacity uint64) (*forecast.Forecast, error) {
	switch value := value.(type) {
	case store.Filter:
		if value.Info().Span != 0 {
			return nil, nil
		}
	case *store.Cuckoo:
	default:
		return nil, nil
	}
	if keys >= capacity {
		return nil, nil
	}
	var points []forecast.Point
	fine, err := d.Store.History(value, store.Hour)
	if err != nil {
		return nil, err
	}
	coarse, err := d.Store.History(value, store.Day)
	if err != nil {
		return nil, err
	}
	for _, s := range coarse {
		if len(fine) == 0 || s.To.Before(fine[0].From) {
			points = append(points, forecast.Point{At: s.To, Keys: s.Items})
		}
	}
	for _, s := range fine {
		if n := len(points); n > 0 && s.From.After(points[n-1].At) {
			points = append(points, forecast.Point{At: s.From, Keys: points[n-1].Keys}) // nothing happened until then
		}
		points = append(points, forecast.Point{At: s.To, Keys: s.Items})
	}
	now := d.Now()
	if n := len(points); n > 0 && now.Sub(points[n-1].At) > 2*recordEvery {
		points = append(points, forecast.Point{At: now.Add(-recordEvery), Keys: points[n-1].Keys}) // nor since then
	}
	return forecast.Full(points, forecast.Point{At: now, Keys: keys}, capacity), nil
}
