package dashboard

import (
	"math"

	"seen/internal/server/rest"
	"seen/internal/store"
)

// State returns what a list says about a value.
func (d *Dashboard) State(v store.Value) *rest.State {
	f := describe(v)
	bytes := v.Bytes()
	s := &rest.State{Type: f.Type, Variant: f.Kind, Keys: &f.Items, Bytes: &bytes, Fill: known(fill(v)), ErrorRate: known(f.Rate), Asked: known(f.Asked)}
	if f.Capacity > 0 {
		s.Capacity, s.Grows = &f.Capacity, &f.Grows
	}
	if s.Asked != nil {
		s.PastErrorRate = &f.PastRate
	}
	// Without a forecast, for whatever reason, the rest is still true.
	if c, err := d.forecast(v, f.Items, f.Capacity); c != nil && err == nil {
		s.FullIn, s.FullInLow, s.FullInHigh = &c.Best, &c.Low, known(c.High)
	}
	if at := v.Expires(); !at.IsZero() {
		s.ExpiresIn = known(at.Sub(d.Now()).Seconds())
	}
	return s
}

// known returns nil for a number that does not exist or is infinite.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// fill returns the share of ones or of slots in use, NaN if the type has none.
func fill(value store.Value) float64 {
	switch v := value.(type) {
	case store.Filter:
		return v.Info().Fill
	case *store.Cuckoo:
		i := v.Info()
		return float64(i.Added) / float64(max(i.Slots, 1))
	}
	return math.NaN()
}
