package sketch

import (
	"errors"
	"testing"

	"seen/internal/frame"
)

// Sketches of every type keep the rules of their keys in bytes, and refuse others.
func TestRules(t *testing.T) {
	for name, s := range map[string]interface {
		encoder
		SetRules(rules string) error
		MarshalBinary() ([]byte, error)
		UnmarshalBinary(b []byte) error
	}{
		"count-min":       must(NewCountMin(CountMinConfig{Width: 10, Depth: 2})),
		"count-min-32":    must(NewCountMin32(CountMin32Config{Width: 10, Depth: 2})),
		"hyperloglog":     must(NewHyperLogLog(HyperLogLogConfig{Precision: 5})),
		"flajolet-martin": must(NewFlajoletMartin(FlajoletMartinConfig{Maps: 4})),
		"top-k":           must(NewTopK(TopKConfig{K: 3, Width: 8, Depth: 2})),
	} {
		without := must(s.MarshalBinary())
		if err := s.SetRules("lower email lower"); err != nil || s.Rules() != "email lower" {
			t.Errorf("%s: %q, %v", name, s.Rules(), err)
		}
		with := must(s.MarshalBinary())
		if h, _, err := frame.Parse(with); err != nil || h.Rules != "email lower" || h.Version != 2 {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
		if err := s.UnmarshalBinary(without); err != nil || s.Rules() != "" {
			t.Errorf("%s without: %q, %v", name, s.Rules(), err)
		}
		if err := s.UnmarshalBinary(with); err != nil || s.Rules() != "email lower" {
			t.Errorf("%s with: %q, %v", name, s.Rules(), err)
		}
		if err := s.SetRules("a\nb"); err == nil || s.Rules() != "email lower" {
			t.Errorf("%s: %q, %v", name, s.Rules(), err)
		}
	}
	a, b := must(NewHyperLogLog(HyperLogLogConfig{Precision: 5})), must(NewHyperLogLog(HyperLogLogConfig{Precision: 5}))
	if err := errors.Join(a.SetRules("email"), a.Merge(b)); !errors.Is(err, ErrIncompatible) || a.Equal(b) {
		t.Errorf("other rules: %v", err)
	}
	c, d := must(NewTopK(TopKConfig{K: 3, Width: 8, Depth: 2})), must(NewTopK(TopKConfig{K: 3, Width: 8, Depth: 2}))
	if err := c.SetRules("email"); err != nil || c.Equal(d) {
		t.Errorf("top-k of other rules is equal, %v", err)
	}
}
