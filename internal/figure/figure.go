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

// Short writes a number with three or four digits and a unit: 12.3M.
func Short(n uint64) string {
	for _, u := range units {
		if n >= u.factor*10 {
			return fmt.Sprintf("%.4g%s", float64(n)/float64(u.factor), u.name)
		}
	}
	return humanize.Comma(int64(n))
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
