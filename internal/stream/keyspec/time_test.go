package keyspec

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestTimes(t *testing.T) {
	day := time.Date(2024, 2, 29, 12, 30, 45, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2024-02-29T12:30:45Z":             day,
		"2024-02-29t12:30:45z":             day,
		"2024-02-29 12:30:45":              day,
		"2024-02-29 12:30:45 +0000":        day,
		" [2024-02-29T14:00:45+01:30] ":    day,
		`"2024-02-29T05:30:45-07"`:         day,
		"2024-02-29T12:30:45,5Z":           day.Add(time.Second / 2),
		"2024-02-29T12:30:45.1234567899Z":  day.Add(123456789),
		"2024-02-29T12:30":                 day.Add(-45 * time.Second),
		"2024-02-29":                       day.Truncate(24 * time.Hour),
		"2016-12-31T23:59:60Z":             time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC),
		"29/Feb/2024:13:30:45 +0100":       day,
		"[29/Feb/2024:13:30:45 +0100]":     day,
		"1709209845":                       day,
		"1709209845.25":                    day.Add(time.Second / 4),
		"1709209845000":                    day,
		"1709209845000.5":                  day.Add(time.Millisecond / 2),
		"1709209845000000":                 day,
		"1709209845000000000":              day,
		"1709209845.1234567891":            day.Add(123456789),
		"100000000000":                     time.UnixMilli(1e11),
		"100000000000000":                  time.UnixMicro(1e14),
		"100000000000000000":               time.Unix(0, 1e17),
		"9000000000":                       time.Unix(9e9, 0),
		"0":                                time.Unix(0, 0),
		"-1":                               time.Unix(-1, 0),
		"-1.5":                             time.Unix(-2, 5e8),
		"+99999999.5":                      time.Unix(99999999, 5e8),
		"2261-12-31T23:59:59.999999999Z":   time.Date(2261, 12, 31, 23, 59, 59, 999999999, time.UTC),
		"1678-01-01T00:00:00Z":             time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC),
		"2024-02-29T12:30:45.000000000000": day,
	} {
		got, ok := parseTime([]byte(text))
		if !ok || got != want.UnixNano() {
			t.Errorf("%q: %d, %v; want %d (%v)", text, got, ok, want.UnixNano(), want)
		}
	}
	for _, text := range []string{
		"", "-", "now", "12x", "1.", ".5", "1..2", "1e9", "--1", "2024-02-30", "2023-02-29", "2024-13-01", "2024-00-01",
		"2024-01-32", "2024-02-30T23:59:60Z", "2024-1-1", "2024-01-01T24:00:00Z", "2024-01-01T12:60:00Z", "2024-01-01T12:00:61Z",
		"2024-01-01T12:00:00.Z", "2024-01-01T12:00:00+24:00", "2024-01-01T12:00:00+01:60", "2024-01-01T12:00:00+1", "2024-01-01T12:00:00x",
		"2024-01-01T", "2024-01-01Z", "9999-01-01", "1677-12-31", "99999999999", "99999999999999999", "9223372036854775808",
		"99999999999999999999", "29/Fex/2024:13:30:45 +0100", "[]", "[", "2024-01-01T12:00:00Zx", "1709209845 ,",
	} {
		if got, ok := parseTime([]byte(text)); ok {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
}

func TestTimeOfARecord(t *testing.T) {
	for spec, record := range map[string]string{
		"2,2":                  "x 1700000000 y",
		"csv:2":                `x,"1700000000",y`,
		"json:/t":              `{"t":1700000000}`,
		"json:/u":              `{"u":"2023-11-14T22:13:20Z"}`,
		`re:\[([^]]+)\]`:       `1.2.3.4 - - [14/Nov/2023:22:13:20 +0000] "GET /"`,
		`re:ts=(\d+)`:          "a ts=1700000000000 b",
		"re:^(\\S+ \\S+) INFO": "2023-11-14 22:13:20,000 INFO started",
	} {
		k, err := CompileTime(spec, "", MissingFail)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := k.Extract([]byte(record), new(Scratch)); err != nil || got != 1700000000e9 {
			t.Errorf("%s of %q: %d, %v", spec, record, got, err)
		}
	}
	for _, m := range []Missing{MissingFail, MissingMark, MissingEmpty} {
		k, err := CompileTime("2", ",", m)
		if err != nil || k.Missing() != m {
			t.Fatalf("%v, %v", k, err)
		}
		for _, record := range []string{"1", "1,", "1,never"} {
			if got, err := k.Extract([]byte(record), new(Scratch)); err == nil {
				t.Errorf("treatment %d of %q: %d, want an error", m, record, got)
			}
		}
	}
	k, err := CompileTime("1", "", MissingFail)
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Extract([]byte(strings.Repeat("no time ", 1000)), new(Scratch))
	if !errors.Is(err, errNotTime) || len(err.Error()) > 300 {
		t.Errorf("got %v", err)
	}
	for _, spec := range []string{"", "nonsense", "csv:"} {
		if _, err := CompileTime(spec, "", MissingFail); err == nil {
			t.Errorf("%q was accepted", spec)
		}
	}
	named, err := CompileTime("csv:when", ";", MissingFail)
	if err != nil || !named.NeedsHeader() {
		t.Fatalf("%v", err)
	}
	if _, err := named.WithHeader([]byte("a;b")); err == nil {
		t.Error("a column that is not there was found")
	}
	resolved, err := named.WithHeader([]byte("a;when"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := resolved.Extract([]byte("x;5"), new(Scratch)); err != nil || got != 5e9 {
		t.Errorf("got %d, %v", got, err)
	}
	if sep, ok := named.CSV(); !ok || sep != ';' {
		t.Errorf("separator %q, %v", sep, ok)
	}
	var none *Time
	if _, ok := none.CSV(); ok || none.NeedsHeader() {
		t.Error("no time at all needs csv or a header")
	}
}

// rfc3339 is what the RFC allows, as far as a pattern tells. The time package also reads
// hours of one digit and zones of 24 hours, see go.dev/issue/54580.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// What is RFC 3339 for the time package is read here with the same result.
func FuzzTime(f *testing.F) {
	for _, seed := range []string{"2024-02-29T12:30:45Z", "2024-02-29T12:30:45.5+01:00", "1700000000.5", "29/Feb/2024:13:30:45 +0100", "-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := parseTime([]byte(text))
		var want time.Time
		if err := want.UnmarshalText([]byte(text)); err == nil && rfc3339.MatchString(text) && want.Year() > 1678 && want.Year() < 2261 {
			if !ok || got != want.UnixNano() {
				t.Fatalf("%q: %d, %v; want %d", text, got, ok, want.UnixNano())
			}
		}
	})
}
