package chart

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"

	"seen/internal/figure"
)

// decadeTicks labels as many powers of ten as fit. If there are few, it also marks values
// between them.
func decadeTicks(low, high float64) []plot.Tick {
	from, to := int(math.Round(math.Log10(low))), int(math.Round(math.Log10(high)))
	step := max(1, (to-from+11)/12)
	var ticks []plot.Tick
	for e := from; e <= to; e++ {
		unit := math.Pow(10, float64(e))
		t := plot.Tick{Value: unit}
		switch {
		case (to-e)%step != 0:
		case e == 0:
			t.Label = "1"
		default:
			t.Label = fmt.Sprintf("1e%d", e)
		}
		ticks = append(ticks, t)
		for digit := 2; digit < 10 && e < to && to-from <= 6; digit++ {
			t := plot.Tick{Value: float64(digit) * unit}
			if to-from <= 2 && (digit == 2 || digit == 5) {
				t.Label = figure.Rate(t.Value)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// CountTicks labels 1, 2 and 5 of every decade.
func CountTicks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for unit := math.Pow(10, math.Floor(math.Log10(low))); unit <= high; unit *= 10 {
		for digit := 1.0; digit < 10; digit++ {
			v := unit * digit
			if v < low || v > high {
				continue
			}
			t := plot.Tick{Value: v}
			if digit == 1 || digit == 2 || digit == 5 {
				t.Label = tickCount(v)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// Count writes n in a few characters, exactly if possible.
func Count(n uint64) string {
	if s := figure.Exact(n); len(s) <= 6 {
		return s
	}
	return figure.Short(n)
}

func tickCount(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return figure.Exact(uint64(math.Round(v)))
}

// WholeTicks labels whole numbers, about ten of them.
func WholeTicks(low, high float64) []plot.Tick {
	step := max(1, int(math.Ceil((high-low)/10)))
	var ticks []plot.Tick
	for k := int(math.Ceil(low)); float64(k) <= high; k++ {
		t := plot.Tick{Value: float64(k)}
		if k%step == 0 || k == 1 {
			t.Label = fmt.Sprint(k)
		}
		ticks = append(ticks, t)
	}
	return ticks
}
