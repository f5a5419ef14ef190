package figure

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// decimal matches plain numbers. ParseFloat accepts more: hexadecimal, inf, nan.
var decimal = regexp.MustCompile(`^[0-9]*\.?[0-9]+([eE][+]?[0-9]+)?$`)

// ParseCount reads a number such as 1000, 10k, 2.5M, 2G, 1T, 1e9 or 1_000_000.
func ParseCount(s string) (uint64, error) {
	text := strings.ReplaceAll(strings.ReplaceAll(s, "_", ""), ",", "")
	factor := 1.0
	for _, u := range append(units, unit{1e9, "B"}) {
		if n := len(text) - 1; n >= 0 && strings.EqualFold(text[n:], u.name) {
			text, factor = text[:n], float64(u.factor)
			break
		}
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && factor == 1 {
		return n, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !decimal.MatchString(text) {
		return 0, fmt.Errorf("%q is not a number; write for example 1000, 10k, 2.5M, 2G or 1e9", s)
	}
	if v *= factor; v >= 1<<64 {
		return 0, fmt.Errorf("%q is too large; at most %d can be counted", s, uint64(math.MaxUint64))
	}
	if v != math.Trunc(v) {
		return 0, fmt.Errorf("%q is not a whole number", s)
	}
	return uint64(v), nil
}

// ParseSize reads an amount of memory such as 64MiB, 2GB, 512M or 4096.
func ParseSize(s string) (uint64, error) {
	n, err := humanize.ParseBytes(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size; write for example 64MiB, 2GB, 512M or 4096", s)
	}
	return n, nil
}

// ParseRate reads an error rate such as 1e-6, 0.001, 0.1% or 1/1000.
func ParseRate(s string) (float64, error) {
	text, factor := s, 1.0
	if t, ok := strings.CutSuffix(text, "%"); ok {
		text, factor = t, 0.01
	}
	over := 1.0
	num, den, isFraction := strings.Cut(text, "/")
	p, err := strconv.ParseFloat(num, 64)
	if err == nil && isFraction {
		over, err = strconv.ParseFloat(den, 64)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not an error rate; write for example 1e-6, 0.001, 0.1%% or 1/1000", s)
	}
	p = p * factor / over
	if !(p > 0 && p < 1) {
		return 0, fmt.Errorf("error rate %s is outside 0 to 1 (both excluded)", s)
	}
	return p, nil
}
