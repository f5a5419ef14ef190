package keyspec

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestCSV(t *testing.T) {
	for _, c := range []struct{ sep, column, in, want string }{
		{"", "1", "a,b,c", "a"},
		{"", "3", "a,b,c", "c"},
		{"", "2", "a,,c", ""},
		{"", "3", "a,b,", ""},
		{"", "1", "", ""},
		{"", "2", `a,"b,c",d`, "b,c"},
		{"", "3", `a,"b,c",d`, "d"},
		{"", "2", `a,"say ""hi""",d`, `say "hi"`},
		{"", "2", `a,"",d`, ""},
		{"", "2", `a,"""",d`, `"`},
		{"", "2", "a,\"two\nlines\"", "two\nlines"},
		{"", "2", `x,5" pipe,y`, `5" pipe`},
		{"", "2", "a,b\r", "b"},
		{"", "2", "a,\"b\"\r", "b"},
		{"", "2", "a,b\rc", "b\rc"},
		{"", "2", ` a, "b" `, ` "b" `},
		{";", "2", "a;b,c;d", "b,c"},
		{"\\t", "2", "a\t\"b\tc\"", "b\tc"},
		{"", "2", "\xff,\xfe\"", "\xfe\""},
	} {
		if got, err := keyOf(t, Options{Keys: []string{"csv:" + c.column}, Separator: c.sep}, c.in); err != nil || got != c.want {
			t.Errorf("column %s of %q: %q, %v; want %q", c.column, c.in, got, err, c.want)
		}
	}
	for _, c := range []struct {
		column, in string
		want       error
	}{
		{"1", `"a`, errOpenQuote},
		{"2", `"a""`, errOpenQuote},
		{"2", `"a"b,c`, errAfterQuote},
		{"1", `"a" ,c`, errAfterQuote},
	} {
		if got, err := keyOf(t, Options{Keys: []string{"csv:" + c.column}}, c.in); !errors.Is(err, c.want) || got != "" {
			t.Errorf("column %s of %q: %q, %v; want %v", c.column, c.in, got, err, c.want)
		}
	}
}

func TestCSVNames(t *testing.T) {
	for _, header := range []string{"\ufeffid,x", "\ufeff\"id\",x", "id\r", "\"id\"\r"} {
		if _, err := mustCompile(t, Options{Keys: []string{"csv:id"}}).WithHeader([]byte(header)); err != nil {
			t.Errorf("header %q: %v", header, err)
		}
	}
	for spec, want := range map[string]string{
		"csv:url": "1", `csv:"7"`: "2", `csv:say "x"`: "3", `csv:"say ""x"""`: "3", "csv: pad": "4", "csv:7": "g", `csv:"`: "6",
	} {
		k, err := mustCompile(t, Options{Keys: []string{spec}}).WithHeader([]byte(`url,7,"say ""x"""` + `, pad,e,""""`))
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		got, err := k.Extract([]byte("1,2,3,4,5,6,g"), new(Scratch))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", spec, got, err, want)
		}
	}
}

// Where encoding/csv reads a record, its columns are found here too; where it
// sees a quote that is not closed or text behind one, so does csvField.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{`a,b`, `"a,""b""",c`, `"a"b,c`, `"a`, `a"b,"c"`, ",", "", `"",""`, "\"x\ny\",z"} {
		f.Add(seed, byte(','))
	}
	f.Add(`a;"b;"`, byte(';'))
	f.Fuzz(func(t *testing.T, record string, sep byte) {
		if sep == '"' || sep == '\n' || sep == '\r' || sep == 0 || sep >= 0x80 || strings.Contains(record, "\r") {
			return // encoding/csv rewrites CR LF in columns
		}
		r := csv.NewReader(strings.NewReader(record))
		r.Comma = rune(sep)
		want, err := r.Read()
		column := func(n int) (string, error) {
			return keyOf(t, Options{Keys: []string{fmt.Sprintf("csv:%d", n)}, Separator: `\x` + fmt.Sprintf("%02x", sep)}, record)
		}
		var syntax *csv.ParseError
		switch {
		case errors.As(err, &syntax):
			if errors.Is(err, csv.ErrBareQuote) || strings.Contains(record, "\n") {
				return // an ordinary byte here; and records are cut elsewhere
			}
			// It reads all columns; the one behind the last must meet the error.
			if got, err := column(strings.Count(record, string(sep)) + 2); err == nil || !errors.Is(err, errOpenQuote) && !errors.Is(err, errAfterQuote) {
				t.Fatalf("%q is no csv, but the last column is %q, %v", record, got, err)
			}
		case err == nil:
			if _, err := r.Read(); err != io.EOF || strings.HasPrefix(record, "\n") || strings.HasSuffix(record, "\n") {
				return // several records, or empty lines, which are dropped there
			}
			for i, w := range want {
				if got, err := column(i + 1); err != nil || got != w {
					t.Fatalf("column %d of %q: %q, %v; want %q", i+1, record, got, err, w)
				}
			}
			if got, err := column(len(want) + 1); err == nil {
				t.Fatalf("%q has %d columns, but one more was found: %q", record, len(want), got)
			}
		}
	})
}
