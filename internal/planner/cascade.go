package planner

import (
	"fmt"
	"math"
	"strings"

	"seen/internal/figure"
	"seen/sizing"
)

// Cascade is a type that Rows plans only by its name, for comparison: a scalable filter
// is nearly always better.
const Cascade = "cascade"

// cascadeLevels is the number of filters of a bloom.Cascade; each is for twice as many
// keys as the one before, and every key is in all of them.
const cascadeLevels = 4

// cascadeFirst returns the capacity of the first filter for which the last one has room
// for n keys.
func cascadeFirst(n uint64) uint64 { return (n-1)>>(cascadeLevels-1) + 1 }

// cascadeRow plans the cascade whose last filter has room for all keys.
func cascadeRow(w Wish) []Row {
	if w.N == 0 {
		return refused("a cascade needs the number of keys")
	}
	capacities := sizing.Growth{First: cascadeFirst(w.N), Factor: 2}
	var levels [cascadeLevels]sizing.Params
	rate := func(n uint64) float64 {
		p := 1.0
		for _, l := range levels {
			p *= l.ErrorRate(n)
		}
		return p
	}
	size := func(uint64) (sum uint64) {
		for _, l := range levels {
			sum += l.Bytes()
		}
		return sum
	}
	// fill makes the levels with the same error rate each.
	fill := func(p float64) (err error) {
		for i := range levels {
			if levels[i], err = sizing.For(sizing.Classic, capacities.Capacity(i), p); err != nil {
				return err
			}
		}
		return nil
	}
	// A higher rate of the levels needs less memory and errs more often. Find the highest
	// that errs seldom enough, or the lowest that fits.
	low, high := math.Log(1e-9), math.Log(0.999)
	for range 60 {
		middle := (low + high) / 2
		err := fill(math.Exp(middle)) // the rate is too low
		if err != nil || w.Rate != 0 && rate(w.N) <= w.Rate || w.Rate == 0 && size(0) > w.Memory {
			low = middle
		} else {
			high = middle
		}
	}
	asked := roundUp(math.Exp(high))
	if w.Rate != 0 {
		asked = figure.ThreeDigits(math.Exp(low) * 0.995) // rounded down
	}
	if err := fill(asked); err != nil {
		return refused("%v", err)
	}
	if w.Rate != 0 && rate(w.N) > w.Rate {
		return refused("no cascade for %s keys has an error rate of %s", figure.Comma(w.N), figure.Rate(w.Rate))
	}
	if w.Rate == 0 && size(0) > w.Memory {
		return refused("%s are too little for %s keys", figure.Bytes(w.Memory), figure.Comma(w.N))
	}
	r := Row{N: w.N, K: levels[0].K, Layers: cascadeLevels, asked: asked, rate: rate, bytes: size}
	for _, l := range levels {
		r.M += l.M
	}
	return []Row{r}
}

// cascadeGo returns the Go code that makes the cascade.
func cascadeGo(n uint64, p string) string {
	first := strings.ReplaceAll(figure.Comma(cascadeFirst(n)), ",", "_")
	return fmt.Sprintf("bloom.NewCascade(bloom.CascadeConfig{Capacity: %s, ErrorRate: %s})", first, p)
}
