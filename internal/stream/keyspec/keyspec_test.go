package keyspec

import (
	"errors"
	"strings"
	"testing"

	"seen/keys"
)

func mustCompile(t testing.TB, o Options) *Key {
	t.Helper()
	k, err := Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// keyOf returns the key of one record as text, or the error.
func keyOf(t testing.TB, o Options, record string) (string, error) {
	t.Helper()
	before := strings.Clone(record)
	b := []byte(record)
	key, err := mustCompile(t, o).Extract(b, new(Scratch))
	if string(b) != before {
		t.Fatalf("%+v changed the record %q to %q", o, before, b)
	}
	return string(key), err
}

func TestWholeRecordIsNil(t *testing.T) {
	if k := mustCompile(t, Options{}); k != nil {
		t.Errorf("the zero options compile to %v", k)
	}
	var none *Key
	if _, csv := none.CSV(); csv || none.NeedsHeader() {
		t.Error("the key of whole records needs csv or a header")
	}
}

func TestCompileErrors(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Keys: []string{""}}, `bad key ""`},
		{Options{Keys: []string{"name"}}, "want F[.C]"},
		{Options{Keys: []string{"json"}}, "want F[.C]"},
		{Options{Keys: []string{"0"}}, "counted from 1"},
		{Options{Keys: []string{"1.0"}}, "characters are counted from 1"},
		{Options{Keys: []string{"1,0"}}, "counted from 1"},
		{Options{Keys: []string{"1,"}}, "not the number"},
		{Options{Keys: []string{"1."}}, "not the number"},
		{Options{Keys: []string{"1n"}}, "unknown option"},
		{Options{Keys: []string{"1,2x"}}, "unknown option"},
		{Options{Keys: []string{"3,2"}}, "before it starts"},
		{Options{Keys: []string{"99999999999"}}, "not the number"},
		{Options{Keys: []string{"csv:"}}, "no name or number"},
		{Options{Keys: []string{"csv:0"}}, "counted from 1"},
		{Options{Keys: []string{"csv:a"}, Separator: "::"}, "one byte"},
		{Options{Keys: []string{"csv:a"}, Separator: `"`}, "quote"},
		{Options{Keys: []string{"tsv:"}}, "no name or number"},
		{Options{Keys: []string{"tsv:0"}}, "counted from 1"},
		{Options{Keys: []string{"tsv"}}, "want F[.C]"},
		{Options{Keys: []string{"tsv:a"}, Separator: ","}, "separated by tabs"},
		{Options{Keys: []string{"tsv:a", "csv:a"}, Separator: `\t`}, "not of both"},
		{Options{Keys: []string{"json:a/b"}}, "slash"},
		{Options{Keys: []string{"json:.a"}}, "is empty"},
		{Options{Keys: []string{"json:a..b"}}, "is empty"},
		{Options{Keys: []string{"json:a."}}, "is empty"},
		{Options{Keys: []string{"json:$.a"}}, "json:items.0.id"},
		{Options{Keys: []string{"json:a[0]"}}, "json:items.0.id"},
		{Options{Keys: []string{"json:/a~2"}}, "~ is followed by"},
		{Options{Keys: []string{"json:/a~"}}, "~ is followed by"},
		{Options{Keys: []string{"re:"}}, "empty"},
		{Options{Keys: []string{"re:("}}, "missing closing"},
		{Options{Keys: []string{"1"}, SkipFields: 1}, "cannot be combined"},
		{Options{Keys: []string{"1"}, Separator: `\q`}, "unknown escape"},
		{Options{Separator: ","}, "no use"},
		{Options{Width: -1}, "negative"},
		{Options{Missing: 3}, "unknown treatment"},
		{Options{URL: new(keys.URLConfig), Email: new(keys.EmailConfig)}, "not both"},
	} {
		k, err := Compile(c.o)
		if err == nil || k != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, %v; want an error with %q", c.o, k, err, c.want)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]string{
		"": "", ",": ",", `\t`: "\t", `\0`: "\x00", `\n\r\\`: "\n\r\\", `\x1f\xFF`: "\x1f\xff", "│": "│", `a\tb`: "a\tb",
	} {
		if got, err := ParseBytes(text); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{`\`, `a\`, `\q`, `\x`, `\x1`, `\xzz`} {
		if got, err := ParseBytes(text); err == nil || got != nil {
			t.Errorf("%q: %q, %v; want an error", text, got, err)
		}
	}
}

func TestNormalisation(t *testing.T) {
	for _, c := range []struct {
		o    Options
		in   string
		want string
	}{
		{Options{FoldCase: true}, "aBÇÄ\xffZ", "abÇÄ\xffz"},
		{Options{FoldCase: true}, "same", "same"},
		{Options{Lower: true}, "aBÇÄ\xffẞ", "abçä\xffß"},
		{Options{Lower: true}, "same", "same"},
		{Options{Trim: true}, " \t a b \u00a0\n", "a b"},
		{Options{Trim: true, Lower: true}, " A ", "a"},
		{Options{Trim: true}, " ", ""},
		{Options{Email: new(keys.EmailConfig)}, " Jane <Jane.D+x@GoogleMail.com>", "janed@gmail.com"},
		{Options{Email: &keys.EmailConfig{DropTags: true}}, "J+x@BÜCHER.example", "j@xn--bcher-kva.example"},
		{Options{Keys: []string{"2f"}, Separator: ":"}, "A:B", "b"},
		{Options{Keys: []string{"2f", "1"}, Separator: ":"}, "A:B", "\x01b\x03A:B"},
		{Options{Keys: []string{"1,1", "2,2"}, Separator: ":", Trim: true}, " A : B ", "\x01A\x01B"},
	} {
		if got, err := keyOf(t, c.o, c.in); err != nil || got != c.want {
			t.Errorf("%+v of %q: %q, %v; want %q", c.o, c.in, got, err, c.want)
		}
	}
}

func TestURL(t *testing.T) {
	url := new(keys.URLConfig)
	for _, c := range []struct {
		o        Options
		in, want string
	}{
		{Options{URL: url}, "HTTP://Example.com:80/A#x", "http://example.com/A"},
		{Options{URL: url, FoldCase: true, Trim: true}, " HTTP://Example.com/A ", "http://example.com/a"},
		{Options{URL: &keys.URLConfig{SortQuery: true, DropTracking: true}, Keys: []string{"csv:2"}}, `1,"http://a?c&utm_x=1,2&b"`, "http://a/?b&c"},
		{Options{URL: url, Keys: []string{"1,1", "2,2"}, Separator: " "}, "http://a http://b", "\x09http://a/\x09http://b/"},
		{Options{URL: url, Missing: MissingEmpty}, "no url", ""},
		{Options{URL: url, Missing: MissingEmpty, Keys: []string{"2,2"}, Separator: " "}, "http://a", ""},
	} {
		if got, err := keyOf(t, c.o, c.in); err != nil || got != c.want {
			t.Errorf("%+v of %q: %q, %v; want %q", c.o, c.in, got, err, c.want)
		}
	}
	for _, o := range []Options{{URL: url}, {URL: url, Missing: MissingMark}, {URL: url, Keys: []string{"1,1"}}} {
		if key, err := keyOf(t, o, "no url"); !errors.Is(err, keys.ErrURL) || key != "" {
			t.Errorf("%+v: %q, %v; want an error", o, key, err)
		}
	}
}

// Joined parts must not depend on where one ends and the next begins.
func TestJoinedPartsAreUnambiguous(t *testing.T) {
	k := mustCompile(t, Options{Keys: []string{"1,1", "2,2"}, Separator: ","})
	seen := map[string]string{}
	for _, record := range []string{"ab,c", "a,bc", ",abc", "abc,", "a\x01,b", "a,\x01b", "\x01a,", ",\x01a", "\x01,a"} {
		key, err := k.Extract([]byte(record), new(Scratch))
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[string(key)]; ok {
			t.Errorf("%q and %q have one key", record, other)
		}
		seen[string(key)] = record
	}
}

func TestMissing(t *testing.T) {
	specs := map[string]string{"3,3": "a,b", "3": "a,b", "csv:3": "a,b", "json:x": `{"y":1}`, "json:/x": `{"y":1}`, "re:x": "abc", "re:a(x)?": "abc"}
	for spec, record := range specs {
		for _, m := range []Missing{MissingFail, MissingMark} {
			if key, err := keyOf(t, Options{Keys: []string{spec}, Separator: ",", Missing: m}, record); err == nil || key != "" {
				t.Errorf("%s of %q: %q, %v; want an error", spec, record, key, err)
			}
		}
		if key, err := keyOf(t, Options{Keys: []string{spec}, Separator: ",", Missing: MissingEmpty}, record); err != nil || key != "" {
			t.Errorf("%s of %q: %q, %v; want the empty key", spec, record, key, err)
		}
		got, err := keyOf(t, Options{Keys: []string{"1,1", spec}, Separator: ",", Missing: MissingEmpty}, record)
		first, _, _ := strings.Cut(record, ",")
		if want := string(rune(len(first))) + first + "\x00"; err != nil || got != want {
			t.Errorf("%s of %q as second part: %q, %v; want %q", spec, record, got, err, want)
		}
	}
}

func TestRegex(t *testing.T) {
	for _, c := range []struct{ re, in, want string }{
		{"[0-9]+", "id 17 and 18", "17"},
		{"id=([0-9]+)", "x id=17 id=18", "17"},
		{"(?:a|b)c", "xbc", "bc"},
		{"^", "text", ""},
		{"^", "", ""},
		{"()x", "x", ""},
		{`(?i)HOST: (\S+)`, "host: a.b", "a.b"},
		{`\xff`, "\u00ff", "\u00ff"},
	} {
		if got, err := keyOf(t, Options{Keys: []string{"re:" + c.re}}, c.in); err != nil || got != c.want {
			t.Errorf("%s of %q: %q, %v; want %q", c.re, c.in, got, err, c.want)
		}
	}
	k := mustCompile(t, Options{Keys: []string{"re:^"}})
	if key, err := k.Extract(nil, new(Scratch)); err != nil || len(key) != 0 {
		t.Errorf("an empty match in nothing: %q, %v", key, err)
	}
}

func TestNoAllocationPerRecord(t *testing.T) {
	for _, c := range []struct {
		o      Options
		record string
	}{
		{Options{Keys: []string{"2,2"}, Separator: "\\t"}, "a\tb\tc"},
		{Options{Keys: []string{"2b,3"}}, "a b  c d"},
		{Options{Keys: []string{"2,3"}, KeepBlanks: true}, "a b  c d"},
		{Options{Keys: []string{"tsv:2"}}, "a\tb\tc"},
		{Options{Keys: []string{"2,2", "1,1"}, Separator: ","}, "a,b,c"},
		{Options{SkipFields: 1, Width: 3}, "a bcdef"},
		{Options{FoldCase: true}, "ABC def"},
		{Options{Lower: true, Trim: true}, " ÄBC def "},
		{Options{Email: new(keys.EmailConfig)}, "Jane <J.D+x@Gmail.com>"},
		{Options{URL: new(keys.URLConfig)}, "https://Example.com?a=%20#b"},
		{Options{Keys: []string{"csv:2"}}, `a,"b ""quoted"", c",d`},
		{Options{Keys: []string{"json:/a/b~1c/1"}}, `{"x":[1,2],"a":{"b\/c":[0,"t\u00e9\n"]}}`},
		{Options{Keys: []string{"json:/n"}}, `{"x":[1,2],"n":17}`},
	} {
		k := mustCompile(t, c.o)
		record := []byte(c.record)
		var s Scratch
		if n := testing.AllocsPerRun(100, func() {
			if _, err := k.Extract(record, &s); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%+v: %v allocations per record", c.o, n)
		}
	}
	tk, err := CompileTime("1,1", ",", MissingFail)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range []string{"2024-02-29T12:00:00.123+01:00,x", "1700000000.5,x"} {
		var s Scratch
		b := []byte(record)
		if n := testing.AllocsPerRun(100, func() {
			if _, err := tk.Extract(b, &s); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("time of %q: %v allocations", record, n)
		}
	}
}

func TestHeaderIsNeededForNamesOnly(t *testing.T) {
	byName := mustCompile(t, Options{Keys: []string{"csv:id", "csv:2"}})
	byNumber := mustCompile(t, Options{Keys: []string{"csv:2"}, Separator: ";"})
	fields := mustCompile(t, Options{Keys: []string{"2"}})
	if !byName.NeedsHeader() || byNumber.NeedsHeader() || fields.NeedsHeader() {
		t.Error("NeedsHeader is wrong")
	}
	if sep, ok := byNumber.CSV(); !ok || sep != ';' {
		t.Errorf("separator %q, %v", sep, ok)
	}
	if _, ok := fields.CSV(); ok {
		t.Error("fields are taken for csv")
	}
	if k, err := byNumber.WithHeader([]byte("a,b")); k != byNumber || err != nil {
		t.Errorf("a key without names changed with the header: %v", err)
	}
	if _, err := byName.Extract([]byte("1,2"), new(Scratch)); err == nil {
		t.Error("a named column was found without a header")
	}
	k, err := byName.WithHeader([]byte("\ufeffx,\"id\",z\r"))
	if err != nil {
		t.Fatal(err)
	}
	if key, err := k.Extract([]byte("1,22,3"), new(Scratch)); err != nil || string(key) != "\x0222\x0222" {
		t.Errorf("got %q, %v", key, err)
	}
	if byName.NeedsHeader() && k.NeedsHeader() {
		t.Error("the resolved key still needs a header")
	}
	for header, want := range map[string]string{
		"a,b,c":     `no csv column "id" in the header, which has ["a" "b" "c"]`,
		"id,x,id":   "twice, as 1 and 3",
		`a,"id`:     "not closed",
		`a,"id"x,b`: "after its closing quote",
		"":          "no csv column",
	} {
		if _, err := byName.WithHeader([]byte(header)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("header %q: %v; want %q", header, err, want)
		}
	}
	many := strings.Repeat("column,", 1000)
	if _, err := byName.WithHeader([]byte(many)); err == nil || len(err.Error()) > 500 {
		t.Errorf("an error for a header of 1000 columns: %v", err)
	}
}

func TestErrorsAreTold(t *testing.T) {
	_, err := keyOf(t, Options{Keys: []string{"json:/a"}}, `{"a":1,}`)
	if !errors.Is(err, errNotJSON) || !strings.HasSuffix(err.Error(), "byte 8") {
		t.Errorf("bad JSON: %v", err)
	}
	_, err = keyOf(t, Options{Keys: []string{"json:/a/b"}}, `{"a":1}`)
	if err == nil || !strings.Contains(err.Error(), `no value at "/a/b"`) {
		t.Errorf("no value: %v", err)
	}
}
