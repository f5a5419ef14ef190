package interop

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"seen/bloom"
	"seen/internal/redisbloom"
)

// buildable makes a small filter of every format that can be built, by the text of its
// specification.
func buildable(t *testing.T, capacity uint64, errorRate float64) map[string]Foreign {
	t.Helper()
	made := map[string]Foreign{}
	for _, format := range Formats() {
		if !format.Write {
			continue
		}
		spec := Spec{Name: format.Name}
		for _, p := range format.Params {
			if p.Required && p.Values != nil {
				spec = spec.with(p.Name, p.Values[0])
			}
		}
		specs := []Spec{spec}
		switch format.Name {
		case "parquet":
			specs = []Spec{spec.with("type", "string")}
		case "pyprobables":
			specs = []Spec{spec.with("type", "bloom"), spec.with("type", "counting"), spec.with("type", "expanding"), spec.with("type", "countmin")}
		}
		for _, s := range specs {
			if s.Name == "redis-recipe" {
				s = s.with("bits", "12")
			}
			f, err := Create(s, capacity, errorRate)
			if err != nil {
				t.Fatalf("%v: %v", s, err)
			}
			made[s.String()] = f
		}
	}
	if len(made) < 15 {
		t.Fatalf("only %d formats can be built", len(made))
	}
	return made
}

// TestUnionUnlike unites filters of all systems with those of all others, and with one of
// package bloom. The error is for users, who do not know the types of this package.
func TestUnionUnlike(t *testing.T) {
	own, err := bloom.New(bloom.Config{Capacity: 10, ErrorRate: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	made := buildable(t, 10, 0.01)
	for name, f := range made {
		m, ok := f.(Merger)
		if !ok {
			continue
		}
		others := map[string]Reader{"seen": own}
		for other, g := range made {
			if f.Describe().System != g.Describe().System {
				others[other] = g
			}
		}
		for other, g := range others {
			err := m.Union(g)
			if !errors.Is(err, bloom.ErrIncompatible) {
				t.Errorf("%s and %s: %v, want bloom.ErrIncompatible", name, other, err)
				continue
			}
			want := systemOf(g)
			if text := err.Error(); strings.Contains(text, "interop.") || strings.Contains(text, "bloom.") || !strings.Contains(text, fmt.Sprintf("%q", want)) {
				t.Errorf("%s and %s: %q, which is to name %q and no type of Go", name, other, text, want)
			}
		}
	}
}

// TestRedisBloomCap holds a filter against the one that RedisBloom makes, which takes
// every error rate above 0.25 for 0.25.
func TestRedisBloomCap(t *testing.T) {
	for _, expansion := range []uint32{0, 2} {
		at, err := redisbloom.New(redisbloom.Config{Capacity: 1000, ErrorRate: 0.25, Expansion: expansion})
		if err != nil {
			t.Fatal(err)
		}
		for _, rate := range []float64{0.2500001, 0.3, 0.5, 0.75, 0.999} {
			f, err := Create(Spec{Name: "redisbloom"}.with("expansion", fmt.Sprint(expansion)), 1000, rate)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := f.(*redisFile).Info(), at.Info(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("expansion %d, error rate %v: %+v, want %+v as for 0.25", expansion, rate, got, want)
			}
		}
		below, err := redisbloom.New(redisbloom.Config{Capacity: 1000, ErrorRate: 0.2, Expansion: expansion})
		if err != nil {
			t.Fatal(err)
		}
		if below.Info().Filters[0].ErrorRate == at.Info().Filters[0].ErrorRate {
			t.Errorf("expansion %d: 0.2 is taken for 0.25", expansion)
		}
	}
}
