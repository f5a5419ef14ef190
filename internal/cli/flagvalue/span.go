package flagvalue

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"seen/internal/figure"
)

// ParseDuration reads a time span: what time.ParseDuration reads, or days (7d) or
// weeks (2w).
func ParseDuration(s string) (time.Duration, error) {
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

// FormatDuration returns d in the largest unit that leaves no remainder, or "" for 0.
func FormatDuration(d time.Duration) string {
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

// Duration is a time span: 30s, 90m, 12h, 7d, 2w.
type Duration time.Duration

// Set reads a time span.
func (v *Duration) Set(s string) error {
	d, err := ParseDuration(s)
	*v = Duration(d)
	return err
}

// String returns the span as FormatDuration does.
func (v *Duration) String() string { return FormatDuration(time.Duration(*v)) }

// Type returns SPAN.
func (v *Duration) Type() string { return "SPAN" }

// Span is what a window remembers: a time span (7d, 12h, 90m) or a number of lines
// (10M, 5000). Small letters are units of time: 10m is ten minutes, 10M is ten
// million lines.
type Span struct {
	Time  time.Duration
	Lines uint64
}

// Set reads a time span or a number of lines.
func (v *Span) Set(s string) error {
	*v = Span{}
	if d, err := ParseDuration(s); err == nil {
		v.Time = d
		return nil
	}
	n, err := figure.ParseCount(s)
	if err != nil || n == 0 || strings.HasSuffix(s, "m") {
		return fmt.Errorf("%q is neither a time span nor a number of lines; write for example 7d, 12h or 90m, or 10M or 5000 for lines", s)
	}
	v.Lines = n
	return nil
}

// String returns the time span or the number of lines, or "" if neither is set.
func (v *Span) String() string {
	if v.Lines != 0 {
		return strconv.FormatUint(v.Lines, 10)
	}
	return FormatDuration(v.Time)
}

// Type returns SPAN.
func (v *Span) Type() string { return "SPAN" }

// IsSet reports whether a time span or a number of lines is set.
func (v *Span) IsSet() bool { return *v != Span{} }
