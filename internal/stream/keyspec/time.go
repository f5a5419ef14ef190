package keyspec

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"time"
)

// Time extracts the time of a record.
type Time struct{ key *Key }

// errNotTime is wrapped by the errors about text that is not a time.
var errNotTime = errors.New("not a time: want RFC 3339 as 2006-01-02T15:04:05Z, seconds since 1970, or 02/Jan/2006:15:04:05 -0700")

// CompileTime compiles the place of the time in a record, written as one of Options.Keys.
// The text there is read as
//
//   - RFC 3339, with a T, a t or a blank between date and time; seconds, their
//     fraction, the time and the zone may be left out, no zone is UTC;
//   - a number since the start of 1970: below 10^11 of seconds (up to the year
//     5138), below 10^14 of milliseconds, below 10^17 of microseconds, above of
//     nanoseconds, each with a fraction if there is one;
//   - the time of web server logs, 02/Jan/2006:15:04:05 -0700.
//
// Brackets and white space around it do not matter. Text that is not a time, or is empty,
// counts as missing.
func CompileTime(spec, separator string, m Missing) (*Time, error) {
	if spec == "" {
		return nil, errors.New("the place of the time is empty")
	}
	k, err := Compile(Options{Keys: []string{spec}, Separator: separator, Missing: m})
	if err != nil {
		return nil, err
	}
	return &Time{key: k}, nil
}

// Missing returns what is to be done with a record that has no time: MissingFail
// ends the run, MissingMark takes it for a record without a key, MissingEmpty
// for one that has no time but counts.
func (t *Time) Missing() Missing { return t.key.missing }

// CSV is Key.CSV.
func (t *Time) CSV() (separator byte, ok bool) {
	if t == nil {
		return 0, false
	}
	return t.key.CSV()
}

// TSV is Key.TSV.
func (t *Time) TSV() bool { return t != nil && t.key.TSV() }

// NeedsHeader is Key.NeedsHeader.
func (t *Time) NeedsHeader() bool { return t != nil && t.key.NeedsHeader() }

// WithHeader is Key.WithHeader.
func (t *Time) WithHeader(header []byte) (*Time, error) {
	if !t.NeedsHeader() {
		return t, nil
	}
	k, err := t.key.WithHeader(header)
	if err != nil {
		return nil, err
	}
	return &Time{key: k}, nil
}

// Extract returns the time of a record in nanoseconds since the start of 1970
// UTC. Times before 1678 and after 2261 cannot be told so and are errors. The
// error says that the record has no time, whatever is to be done with it.
func (t *Time) Extract(record []byte, s *Scratch) (int64, error) {
	b, err := t.key.Extract(record, s)
	if err != nil {
		return 0, err
	}
	ns, ok := parseTime(b)
	if !ok {
		const enough = 40
		if len(b) > enough {
			b = b[:enough]
		}
		return 0, fmt.Errorf("%q is %w", b, errNotTime)
	}
	return ns, nil
}

func parseTime(b []byte) (ns int64, ok bool) {
	b = bytes.TrimSpace(b)
	if n := len(b); n > 1 && (b[0] == '[' && b[n-1] == ']' || b[0] == '"' && b[n-1] == '"') {
		b = bytes.TrimSpace(b[1 : n-1])
	}
	const logLayout = "02/Jan/2006:15:04:05 -0700"
	switch {
	case len(b) > 4 && b[4] == '-' && b[0] != '-':
		return parseDate(b)
	case len(b) == len(logLayout) && b[2] == '/':
		t, err := time.Parse(logLayout, string(b))
		if err != nil {
			return 0, false
		}
		return nanoseconds(t)
	}
	return parseEpoch(b)
}

// nanoseconds returns t as Extract does, or false where it has no such number.
func nanoseconds(t time.Time) (int64, bool) {
	if y := t.Year(); y <= 1677 || y >= 2262 {
		return 0, false
	}
	return t.UnixNano(), true
}

// parseEpoch reads a number since the start of 1970.
func parseEpoch(b []byte) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative || len(b) > 0 && b[0] == '+' {
		b = b[1:]
	}
	var whole uint64
	i := 0
	for ; i < len(b) && '0' <= b[i] && b[i] <= '9'; i++ {
		if whole > math.MaxInt64/10 {
			return 0, false
		}
		whole = whole*10 + uint64(b[i]-'0')
	}
	if i == 0 {
		return 0, false
	}
	unit := uint64(1e9)
	switch {
	case whole >= 1e17:
		unit = 1
	case whole >= 1e14:
		unit = 1e3
	case whole >= 1e11:
		unit = 1e6
	}
	if whole > math.MaxInt64/unit {
		return 0, false
	}
	ns := whole * unit
	if i < len(b) {
		if b[i] != '.' || i+1 == len(b) {
			return 0, false
		}
		for _, c := range b[i+1:] {
			if c < '0' || c > '9' {
				return 0, false
			}
			unit /= 10
			ns += uint64(c-'0') * unit
		}
	}
	if ns > math.MaxInt64 {
		return 0, false
	}
	if negative {
		return -int64(ns), true
	}
	return int64(ns), true
}

// clock reads the numbers of a date from left to right.
type clock struct {
	b  []byte
	ok bool
}

// number reads n digits, whose value must be in [least, most].
func (c *clock) number(n, least, most int) int {
	if len(c.b) < n {
		c.ok = false
		return 0
	}
	v := 0
	for _, d := range c.b[:n] {
		if d < '0' || d > '9' {
			c.ok = false
		}
		v = v*10 + int(d-'0')
	}
	c.b = c.b[n:]
	c.ok = c.ok && least <= v && v <= most
	return v
}

// accept goes over one byte if it is among set.
func (c *clock) accept(set string) byte {
	if len(c.b) > 0 && bytes.IndexByte([]byte(set), c.b[0]) >= 0 {
		d := c.b[0]
		c.b = c.b[1:]
		return d
	}
	return 0
}

// require is accept for a byte that must be there.
func (c *clock) require(set string) byte {
	d := c.accept(set)
	c.ok = c.ok && d != 0
	return d
}

// parseDate reads RFC 3339 with the freedoms that CompileTime documents.
func parseDate(b []byte) (int64, bool) {
	c := clock{b, true}
	year := c.number(4, 0, 9999)
	c.require("-")
	month := c.number(2, 1, 12)
	c.require("-")
	day := c.number(2, 1, 31)
	var hour, minute, second, nano, offset int
	if c.accept("Tt ") != 0 {
		hour = c.number(2, 0, 23)
		c.require(":")
		minute = c.number(2, 0, 59)
		if c.accept(":") != 0 {
			second = c.number(2, 0, 60) // 60: a leap second, the first of the next minute here
			if c.accept(".,") != 0 {
				nano = c.fraction()
			}
		}
		c.accept(" ")
		offset = c.zone()
	}
	if !c.ok || len(c.b) > 0 {
		return 0, false
	}
	if time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() != day {
		return 0, false // the month has no such day
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, nano, time.UTC)
	return nanoseconds(t.Add(-time.Duration(offset) * time.Second))
}

// fraction reads digits behind a decimal point as nanoseconds; what is finer is dropped.
func (c *clock) fraction() int {
	nano, unit, digits := 0, int(1e8), 0
	for len(c.b) > 0 && '0' <= c.b[0] && c.b[0] <= '9' {
		nano += int(c.b[0]-'0') * unit
		unit /= 10
		digits++
		c.b = c.b[1:]
	}
	c.ok = c.ok && digits > 0
	return nano
}

// zone reads Z, +HH:MM, +HHMM or +HH and returns seconds east of UTC.
func (c *clock) zone() int {
	if len(c.b) == 0 || c.accept("Zz") != 0 {
		return 0
	}
	sign := c.require("+-")
	seconds := c.number(2, 0, 23) * 3600
	if len(c.b) > 0 {
		c.accept(":")
		seconds += c.number(2, 0, 59) * 60
	}
	if sign == '-' {
		return -seconds
	}
	return seconds
}
