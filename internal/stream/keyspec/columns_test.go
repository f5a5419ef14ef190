package keyspec

import (
	"strings"
	"testing"
)

func TestTSV(t *testing.T) {
	for _, c := range []struct{ column, in, want string }{
		{"1", "a\tb", "a"},
		{"2", "a\tb", "b"},
		{"2", "a\t\tc", ""},
		{"1", "", ""},
		{"2", "a\t\"b \"\"c", "\"b \"\"c"},
		{"1", "\"a\tb", "\"a"},
		{"2", "a\tb\r", "b"},
		{"2", "a\tb\rc", "b\rc"},
		{"2", `a	b\tc`, `b\tc`},
	} {
		for _, sep := range []string{"", `\t`} {
			if got, err := keyOf(t, Options{Keys: []string{"tsv:" + c.column}, Separator: sep}, c.in); err != nil || got != c.want {
				t.Errorf("column %s of %q: %q, %v; want %q", c.column, c.in, got, err, c.want)
			}
		}
	}
	if got, err := keyOf(t, Options{Keys: []string{"tsv:3"}}, "a\tb"); err == nil || err.Error() != "the record has no tsv column 3" {
		t.Errorf("%q, %v", got, err)
	}
}

// The header of a TSV file is read as its records are: a quote means nothing.
func TestTSVNames(t *testing.T) {
	for spec, want := range map[string]string{
		"tsv:id": "1", `tsv:"7"`: "2", `tsv:"x`: "3", "tsv:a,b": "4", "tsv:4": "4", "tsv: pad": "5",
	} {
		k := mustCompile(t, Options{Keys: []string{spec}})
		if !k.TSV() {
			t.Errorf("%s is not a column of a TSV file", spec)
		}
		if _, csv := k.CSV(); csv {
			t.Errorf("%s is a column of a CSV file", spec)
		}
		k, err := k.WithHeader([]byte("\ufeffid\t7\t\"x\ta,b\t pad\r"))
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		got, err := k.Extract([]byte("1\t2\t3\t4\t5"), new(Scratch))
		if err != nil || string(got) != want || !k.TSV() || k.NeedsHeader() {
			t.Errorf("%s: %q, %v; want %q", spec, got, err, want)
		}
	}
	byName := mustCompile(t, Options{Keys: []string{"tsv:id"}})
	if _, err := byName.Extract([]byte("1"), new(Scratch)); err == nil {
		t.Error("a named column was found without a header")
	}
	for header, want := range map[string]string{
		"a\tb":          `no tsv column "id" in the header, which has ["a" "b"]`,
		"id\tid\tx\tid": `twice, as 1 and 2`,
		"id,x":          `no tsv column "id" in the header, which has ["id,x"]`,
	} {
		if _, err := byName.WithHeader([]byte(header)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("header %q: %v; want %q", header, err, want)
		}
	}
}
