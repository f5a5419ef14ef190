package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"

	"seen/internal/figure"
)

// The types of this file are flag values that accept what people write: 10k, 5M,
// 64MiB, 1e-6, 7d.

// countValue is a number of keys: 10k, 5M, 2G, 1e9, 1_000_000.
type countValue uint64

func (v *countValue) Set(s string) error {
	n, err := figure.ParseCount(s)
	*v = countValue(n)
	return err
}
func (v *countValue) String() string {
	if *v == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(*v), 10)
}
func (v *countValue) Type() string { return "N" }

// sizeValue is an amount of memory: 64MiB, 2GB, 512M, 4096.
type sizeValue uint64

func (v *sizeValue) Set(s string) error {
	n, err := figure.ParseSize(s)
	*v = sizeValue(n)
	return err
}
func (v *sizeValue) String() string {
	if *v == 0 {
		return ""
	}
	return strings.ReplaceAll(humanize.IBytes(uint64(*v)), " ", "")
}
func (v *sizeValue) Type() string { return "SIZE" }

// rateValue is an error rate: 1e-6, 0.001, 0.1%, 1/1000.
type rateValue float64

func (v *rateValue) Set(s string) error {
	p, err := figure.ParseRate(s)
	*v = rateValue(p)
	return err
}
func (v *rateValue) String() string {
	if *v == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*v), 'g', -1, 64)
}
func (v *rateValue) Type() string { return "P" }

// durationValue is a time span: 30s, 90m, 12h, 7d, 2w.
type durationValue time.Duration

// parseDuration is time.ParseDuration with days and weeks.
func parseDuration(s string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a time span; write for example 30s, 90m, 12h, 7d or 2w", s)
	unit := map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	if n := len(s); n > 1 && unit[s[n-1]] != 0 {
		v, err := strconv.ParseFloat(s[:n-1], 64)
		v *= float64(unit[s[n-1]])
		if err != nil || !(v > 0 && v < math.MaxInt64) {
			return 0, bad
		}
		return time.Duration(v), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, bad
	}
	return d, nil
}

func (v *durationValue) Set(s string) error {
	d, err := parseDuration(s)
	*v = durationValue(d)
	return err
}
func (v *durationValue) String() string { return formatDuration(time.Duration(*v)) }
func (v *durationValue) Type() string   { return "SPAN" }

func formatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == 0:
		return ""
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

// spanValue is what a window remembers: a time span (7d, 12h, 90m) or a number
// of lines (10M, 5000). Small letters are units of time, so that 10m is ten
// minutes and 10M ten million lines.
type spanValue struct {
	time  time.Duration
	lines uint64
}

func (v *spanValue) Set(s string) error {
	*v = spanValue{}
	if d, err := parseDuration(s); err == nil {
		v.time = d
		return nil
	}
	n, err := figure.ParseCount(s)
	if err != nil || n == 0 || strings.HasSuffix(s, "m") {
		return fmt.Errorf("%q is neither a time span nor a number of lines; write for example 7d, 12h or 90m, or 10M or 5000 for lines", s)
	}
	v.lines = n
	return nil
}
func (v *spanValue) String() string {
	if v.lines != 0 {
		return strconv.FormatUint(v.lines, 10)
	}
	return formatDuration(v.time)
}
func (v *spanValue) Type() string { return "SPAN" }
func (v *spanValue) isSet() bool  { return *v != spanValue{} }

// sayFlagError says of a flag whose value is no number what it wants, in place of
// how that was found out.
func sayFlagError(err error) error {
	var wrong *pflag.InvalidValueError
	var number *strconv.NumError
	if !errors.As(err, &wrong) || !errors.As(err, &number) {
		return err
	}
	what := "is no whole number"
	switch {
	case strings.HasPrefix(wrong.GetFlag().Value.Type(), "float"):
		what = "is no number"
	case errors.Is(err, strconv.ErrRange):
		what = "is too large"
	}
	return fmt.Errorf("--%s: %q %s", wrong.GetFlag().Name, wrong.GetValue(), what)
}

// choiceValue is one of a few words.
type choiceValue struct {
	value   string
	choices []string
}

func (v *choiceValue) Set(s string) error {
	for _, c := range v.choices {
		if s == c {
			v.value = s
			return nil
		}
	}
	return fmt.Errorf("%q is none of %s", s, strings.Join(v.choices, ", "))
}
func (v *choiceValue) String() string { return v.value }
func (v *choiceValue) Type() string {
	if len(v.choices) == 2 {
		return strings.Join(v.choices, "|")
	}
	return "WORD"
}
