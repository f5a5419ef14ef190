// Package figure formats numbers for people and parses numbers that people write: counts,
// amounts of memory, error rates, estimates. Reports and options of the command and the
// pages for browsers use the same forms, so that a number from one can be found in, or
// pasted into, another. It knows no filters.
//
// All functions are pure and safe for any number of goroutines.
package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"seen/sizing"
)

// Comma writes a number with commas between the thousands.
func Comma(n uint64) string {
	if n > math.MaxInt64 {
		return strconv.FormatUint(n, 10)
	}
	return humanize.Comma(int64(n))
}

var byteUnits = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// Bytes writes an amount of memory with three significant digits: 36.9 MiB.
func Bytes(n uint64) string {
	v, unit := float64(n), 0
	for ; v >= 1023.5 && unit < len(byteUnits)-1; unit++ {
		v /= 1024
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return strconv.FormatFloat(v, 'f', max(0, 2-int(math.Log10(max(1, math.Round(v*10)/10)))), 64) + " " + byteUnits[unit]
}

// Rate writes an error rate with three significant digits: 1e-6, 0.0213.
func Rate(p float64) string {
	if p == 0 {
		return "0"
	}
	if p < 0.01 {
		m, e, _ := strings.Cut(Scientific(p), "e")
		return strings.TrimRight(strings.TrimRight(m, "0"), ".") + "e" + e
	}
	return strconv.FormatFloat(p, 'g', 3, 64)
}

// Scientific writes p with three significant digits in scientific notation and
// without padding of the exponent, for example 8.89e-5.
func Scientific(p float64) string {
	s := strconv.FormatFloat(p, 'e', 2, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	n, err := strconv.Atoi(exponent)
	if err != nil {
		return s // NaN, Inf
	}
	return mantissa + "e" + strconv.Itoa(n)
}

// ExactRate writes p as an option and as a Go literal: exactly, without padding.
func ExactRate(p float64) string {
	return strings.Replace(strconv.FormatFloat(p, 'g', -1, 64), "e-0", "e-", 1)
}

// Estimate writes a number of keys with its standard error, both without meaningless digits.
func Estimate(e sizing.Estimate) string {
	switch {
	case math.IsInf(e.Value, 1):
		return "full"
	case !e.Known():
		return "unknown"
	case e.StdErr == 0:
		return Comma(uint64(math.Round(e.Value)))
	}
	return fmt.Sprintf("%s ± %s", Comma(uint64(math.Round(e.Value))), Comma(uint64(math.Ceil(e.StdErr))))
}

type unit struct {
	factor uint64
	name   string
}

// units are the units of counts.
var units = []unit{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}

// Exact writes n as an option accepts it, with a unit if that is exact.
func Exact(n uint64) string {
	for _, u := range units {
		if n >= u.factor && n%u.factor == 0 {
			return fmt.Sprintf("%d%s", n/u.factor, u.name)
		}
	}
	return fmt.Sprint(n)
}

// Short writes a number with at most three digits and a unit, 3.79M, or all of it if it has
// no more than four digits.
func Short(n uint64) string {
	if n < 10_000 {
		return Comma(n)
	}
	v := digits(float64(n), 3)
	for _, u := range units {
		if v >= float64(u.factor) {
			return strconv.FormatFloat(digits(v/float64(u.factor), 3), 'f', -1, 64) + u.name
		}
	}
	return Comma(n)
}

// Percent writes a part of a whole with three significant digits and without exponents,
// as far as anybody reads them so: 12.3 %, 8,890 %, 1.2e-7 %.
func Percent(part float64) string {
	v := digits(100*part, 3)
	switch {
	case v >= 1000 && v < math.MaxInt64:
		return Comma(uint64(v)) + " %"
	case v > 0 && v < 0.001:
		return Rate(v) + " %"
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + " %"
}

// Size writes an amount of memory exactly, as an option accepts it, in the unit in which it
// is shortest and not below one. It is how a size is shown that somebody has given: 30MB is
// not 28.6MiB.
func Size(n uint64) string {
	best := strconv.FormatUint(n, 10) + "B"
	for i, name := range []string{"k", "M", "G", "T", "P", "E"} {
		for _, unit := range []struct {
			factor float64
			name   string
		}{{math.Pow(1024, float64(i+1)), strings.ToUpper(name) + "iB"}, {math.Pow(1000, float64(i+1)), name + "B"}} {
			v := float64(n) / unit.factor
			text := strconv.FormatFloat(v, 'f', -1, 64)
			whole, err := strconv.ParseFloat(text, 64)
			if whole *= unit.factor; v < 1 || err != nil || whole >= 1<<64 || uint64(whole) != n {
				continue
			}
			if text += unit.name; len(text) < len(best) {
				best = text
			}
		}
	}
	return best
}

// SixDigits rounds v to six significant digits, so that reports do not change with
// the last bit of a computation.
func SixDigits(v float64) float64 { return digits(v, 6) }

// ThreeDigits rounds v to three significant digits.
func ThreeDigits(v float64) float64 { return digits(v, 3) }

func digits(v float64, n int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', n, 64), 64) // what was just formatted parses
	return r
}
