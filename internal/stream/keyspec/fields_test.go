package keyspec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestFields(t *testing.T) {
	for _, c := range []struct{ sep, spec, in, want string }{
		{"", "1,1", "one two", "one"},
		{"", "2,2", "one two three", " two"},
		{"", "2b,2", "one  two three", "two"},
		{"", "2", "one two three", " two three"},
		{"", "1.2,1.3", "one two", "ne"},
		{"", "2.2,2.3", "one two", "tw"},
		{"", "2.2b,2.3b", "one   two", "wo"},
		{"", "2.9,2", "one two three", ""},
		{"", "2.9", "one two", ""},
		{"", "2.2,2.1b", "one  two", " t"},
		{"", "1,9", "one two", "one two"},
		{"", "1,1", "", ""},
		{"", "1b,1", " \t", ""},
		{":", "2,2", "a:b:c", "b"},
		{":", "2,3", "a:b:c:d", "b:c"},
		{":", "2,2", "a::c", ""},
		{":", "1,1", "", ""},
		{":", "3,3", "a:b:", ""},
		{":", "2,2", ":", ""},
		{":", "2,9", "a:b", "b"},
		{":", "9,9", "1:2:3:4:5:6:7:8:9:10", "9"},
		{":", "9,9", "1:2:3:4:5:6:7:8:", ""},
		{":", "2", "a:b:c", "b:c"},
		{":", "2.2,3.1", "a:bcd:ef", "cd:e"},
		{":", "1.9", "abc:d", ""},
		{"::", "2,2", "a:b::c:d::e", "c:d"},
		{"::", "2,2", "a:b::", ""},
		{"::", "2,3", "a::b", "b"},
		{"\\0", "2,2", "a\x00b\x00c", "b"},
		{"│", "2,2", "ä│ö│ü", "ö"},
	} {
		o := Options{Keys: []string{c.spec}, Separator: c.sep, KeepBlanks: c.sep == ""}
		if got, err := keyOf(t, o, c.in); err != nil || got != c.want {
			t.Errorf("-t %q -k %s of %q: %q, %v; want %q", c.sep, c.spec, c.in, got, err, c.want)
		}
	}
}

// Without KeepBlanks, the blanks before a field do not count. What means the same as with
// it, in another spelling, has that spelling.
func TestFieldsWithoutBlanks(t *testing.T) {
	for _, c := range []struct{ spec, in, want, spelling string }{
		{"1,1", " \tone two", "one", "1b,1"},
		{"2,2", "one \t two three", "two", "2b,2"},
		{"2,2", "one two ", "two", "2b,2"},
		{"2", "one  two  three ", "two  three ", "2b"},
		{"1,2", "  one  two three", "one  two", "1b,2"},
		{"2b,2", "one  two", "two", "2b,2"},
		{"2b,2b", "one  two", "two", "2b,2b"},
		{"2f,2", "one  TWO", "two", "2fb,2"},
		{"2.2,2.3", "one   two", "wo", "2.2b,2.3b"},
		{"2.2,3.1", "one   two  three", "wo  t", "2.2b,3.1b"},
		{"2,2.1", "one   two", "t", "2b,2.1b"},
		{"2.2,2.1b", "", "", "2.2,2.1b"}, // refused
		{"1,1", " ", "", "1b,1"},
		{"1", "", "", "1b"},
	} {
		o := Options{Keys: []string{c.spec}}
		if got := o.Spellings()[0]; got != c.spelling {
			t.Errorf("-k %s is spelt %s, want %s", c.spec, got, c.spelling)
		}
		if c.spec == "2.2,2.1b" {
			if k, err := Compile(o); err == nil {
				t.Errorf("-k %s: %v", c.spec, k)
			}
			continue
		}
		if got, err := keyOf(t, o, c.in); err != nil || got != c.want {
			t.Errorf("-k %s of %q: %q, %v; want %q", c.spec, c.in, got, err, c.want)
		}
		sorted := Options{Keys: []string{c.spelling}, KeepBlanks: true}
		if got, err := keyOf(t, sorted, c.in); err != nil || got != c.want {
			t.Errorf("-k %s --keep-blanks of %q: %q, %v; want %q", c.spelling, c.in, got, err, c.want)
		}
	}
	for spec, o := range map[string]Options{"2,2": {Separator: ","}, "2.1": {KeepBlanks: true}, "re:1": {}, "csv:a.b": {}, "3,2": {}, "0": {}} {
		o.Keys = []string{spec}
		if got := o.Spellings()[0]; got != spec || o.Keys[0] != spec {
			t.Errorf("%+v is spelt %s", o, got)
		}
	}
	for _, o := range []Options{{KeepBlanks: true}, {KeepBlanks: true, Keys: []string{"1"}, Separator: ","}, {KeepBlanks: true, SkipFields: 1}, {KeepBlanks: true, Keys: []string{"csv:1"}}} {
		if k, err := Compile(o); err == nil || !strings.Contains(err.Error(), "has no use") {
			t.Errorf("%+v: %v, %v", o, k, err)
		}
	}
}

// A record without the field has no key: were it the empty one, all such records
// but the first would be dropped.
func TestFieldsBeyondTheLast(t *testing.T) {
	for _, c := range []struct {
		sep, record string
		fields      int
	}{
		{"", "one two", 2},
		{"", " one\ttwo", 2},
		{"", "one two \t", 2},
		{"", "one", 1},
		{"", " ", 1},
		{"", "", 1},
		{":", "a:b:c", 3},
		{":", "a:b:", 3},
		{":", "a:12345678:", 3},
		{":", "a:1234567", 2},
		{":", ":", 2},
		{":", "", 1},
		{"::", "a:::b::", 3},
		{"::", "a:b:", 1},
	} {
		for field := 1; field < 6; field++ {
			for _, form := range []string{"%d,%[1]d", "%d", "%d.2", "%db,5.1f"} {
				o := Options{Keys: []string{fmt.Sprintf(form, field)}, Separator: c.sep, Missing: MissingMark}
				key, err := keyOf(t, o, c.record)
				if field <= c.fields {
					if err != nil {
						t.Errorf("-t %q -k %s of %q: %v", c.sep, o.Keys, c.record, err)
					}
				} else if want := fmt.Sprintf("the record has no field %d", field); err == nil || err.Error() != want || key != "" {
					t.Errorf("-t %q -k %s of %q: %q, %v; want %s", c.sep, o.Keys, c.record, key, err, want)
				}
			}
		}
	}
	for _, keys := range [][]string{{"1,1", "3,3"}, {"3,3", "1,1"}} {
		if key, err := keyOf(t, Options{Keys: keys}, "a b"); err == nil || !strings.HasSuffix(err.Error(), "no field 3") {
			t.Errorf("%q of two fields: %q, %v", keys, key, err)
		}
	}
}

func TestReversedFieldsAreRefused(t *testing.T) {
	for _, spec := range []string{"3,2", "2,1.9", "3b,2b", "1.3,1.2", "2.3b,2.2", "2.3b,2.2b", "1.2,1.1"} {
		_, err := Compile(Options{Keys: []string{spec}})
		from, to, _ := strings.Cut(spec, ",")
		want := fmt.Sprintf("bad key %q: it ends, at %s, before it starts, at %s", spec, to, from)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", spec, err, want)
		}
	}
	for _, spec := range []string{"2,2", "2,3.1", "1.3,1.3", "1.3,1", "1.3,1.0", "2.3,2.2b", "2.3", "3.9,4.1"} {
		mustCompile(t, Options{Keys: []string{spec}, KeepBlanks: true})
	}
}

// run feeds input to a tool of the system in the C locale.
func run(t *testing.T, input []byte, tool string, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("no %s to compare with: %v", tool, err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v", tool, args, err)
	}
	return out
}

// randomLines has many lines that differ in little.
func randomLines(rng *rand.Rand, n int, alphabet string) []string {
	lines := make([]string, n)
	for i := range lines {
		b := make([]byte, rng.IntN(9))
		for k := range b {
			b[k] = alphabet[rng.IntN(len(alphabet))]
		}
		lines[i] = string(b)
	}
	return lines
}

// hasField says whether the line has the field in which the key starts.
func hasField(spec, line, sep string) bool {
	field := int(spec[0] - '0')
	if sep == "" {
		return field <= max(1, len(strings.Fields(line)))
	}
	return field <= 1+strings.Count(line, sep)
}

// The classes of lines with equal keys are those of sort -u with the same -k, of
// the lines that have the fields; without KeepBlanks those of the spelling of sort.
func TestFieldsAreThoseOfSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	position := func(from int) string {
		s := fmt.Sprint(1 + rng.IntN(3))
		if rng.IntN(2) == 0 {
			s += fmt.Sprintf(".%d", from+rng.IntN(3))
		}
		return s + []string{"", "", "b", "f"}[rng.IntN(4)]
	}
	for range 60 {
		o := Options{KeepBlanks: rng.IntN(2) == 0}
		args := []string{"-s", "-u"}
		if rng.IntN(2) == 0 {
			o.Separator, o.KeepBlanks = ":", false
			args = append(args, "-t", ":")
		}
		for range 1 + rng.IntN(2) {
			spec := position(1)
			if rng.IntN(3) > 0 {
				spec += "," + position(0)
			}
			if _, err := Compile(Options{Keys: []string{spec}, Separator: o.Separator}); err != nil {
				spec = "2.2,3.1" // the range was a reversed one
			}
			if _, err := Compile(Options{Keys: []string{spec}, Separator: o.Separator, KeepBlanks: o.KeepBlanks}); err != nil {
				spec = "2.2,3.1"
			}
			o.Keys = append(o.Keys, spec)
		}
		for _, spec := range o.Spellings() {
			args = append(args, "-k", spec)
		}
		k := mustCompile(t, o)
		var s Scratch
		lines := slices.DeleteFunc(randomLines(rng, 300, "aAb: \t:"), func(line string) bool {
			missing := slices.ContainsFunc(o.Keys, func(spec string) bool { return !hasField(spec, line, o.Separator) })
			if _, err := k.Extract([]byte(line), &s); missing != (err != nil) {
				t.Fatalf("sort %q of %q: %v, want an error: %v", args, line, err, missing)
			}
			return missing
		})
		want := strings.Split(string(run(t, []byte(strings.Join(lines, "\n")+"\n"), "sort", args...)), "\n")
		want = want[:len(want)-1]

		seen := map[string]bool{}
		var got []string
		for _, line := range lines {
			key, err := k.Extract([]byte(line), &s)
			if err != nil {
				t.Fatal(err)
			}
			if !seen[string(key)] {
				seen[string(key)] = true
				got = append(got, line)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("sort %q: %d lines, here %d\nonly there %q\nonly here %q", args, len(want), len(got), without(want, got), without(got, want))
		}
	}
}

func without(a, b []string) (only []string) {
	for _, line := range a {
		if !slices.Contains(b, line) {
			only = append(only, line)
		}
	}
	return only
}

// -f, -s, -w and -i drop the same neighbours as uniq does.
func TestFieldsAreThoseOfUniq(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		o := Options{SkipFields: rng.IntN(3), SkipChars: rng.IntN(3), Width: rng.IntN(4), FoldCase: rng.IntN(2) == 0}
		args := []string{fmt.Sprintf("-f%d", o.SkipFields), fmt.Sprintf("-s%d", o.SkipChars)}
		if o.Width > 0 {
			args = append(args, fmt.Sprintf("-w%d", o.Width))
		}
		if o.FoldCase {
			args = append(args, "-i")
		}
		k := mustCompile(t, o)
		if k == nil {
			continue
		}
		lines := randomLines(rng, 500, "aAb \t")
		want := string(run(t, []byte(strings.Join(lines, "\n")+"\n"), "uniq", args...))
		var s Scratch
		var got strings.Builder
		last := "\xff"
		for _, line := range lines {
			key, err := k.Extract([]byte(line), &s)
			if err != nil {
				t.Fatal(err)
			}
			if string(key) != last {
				got.WriteString(line + "\n")
			}
			last = string(key)
		}
		if got.String() != want {
			t.Fatalf("uniq %q: %d bytes, here %d", args, len(want), got.Len())
		}
	}
}

func FuzzFields(f *testing.F) {
	f.Add("2.1b,3.2", ":", []byte("a:b:c"))
	f.Add("1", "", []byte(" a  b"))
	f.Fuzz(func(t *testing.T, spec, sep string, record []byte) {
		k, err := Compile(Options{Keys: []string{spec}, Separator: sep})
		if err != nil || k.NeedsHeader() {
			return
		}
		key, err := k.Extract(record, new(Scratch))
		if err == nil && spec[0] >= '1' && spec[0] <= '9' && !strings.Contains(spec, "f") && !bytes.Contains(record, key) {
			t.Fatalf("the key %q is no part of the record %q", key, record)
		}
	})
}
