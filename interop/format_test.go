package interop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"seen/bloom"
	"seen/internal/rdb"
)

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"rdb":                        nil,
		"rdb:key=bf:main":            {"key": "bf:main"},
		"rdb:db=3,key=a=b":           {"db": "3", "key": "a=b"},
		`rdb:key=a\,b\\c`:            {"key": `a,b\c`},
		"rdb:key=":                   {"key": ""},
		"redisbloom:form=chunks":     {"form": "chunks"},
		"redisbloom:expansion=0":     {"expansion": "0"},
		"redisbloom:form=payload":    {"form": "payload"},
		"rdb:db=,key=\x00\xff":       {"db": "", "key": "\x00\xff"},
		`rdb:key=ends with a slash\`: {"key": `ends with a slash\`},
	} {
		s, err := ParseSpec(text)
		if err != nil || !maps.Equal(s.Params, want) {
			t.Errorf("%q: %q, %v; want %q", text, s.Params, err, want)
			continue
		}
		if again, err := ParseSpec(s.String()); err != nil || again.Name != s.Name || !maps.Equal(again.Params, s.Params) {
			t.Errorf("%q becomes %q and %v, %v", text, s, again, err)
		}
	}
	for text, want := range map[string]string{
		"":                       `there is no format ""; the formats are`,
		"rdbx":                   "the formats are",
		"rdb:":                   "not PARAM=VALUE; rdb has key=KEY, db=DB",
		"rdb:key":                "not PARAM=VALUE",
		"rdb:key=a,key=b":        "key twice",
		"rdb:kay=a":              `no parameter "kay"; rdb has key=KEY`,
		"redisbloom:form=folder": "redisbloom has no form=folder; use one of payload, chunks",
		"rdb:key=a,":             "not PARAM=VALUE",
	} {
		if s, err := ParseSpec(text); err == nil || !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", text, s, err, want)
		}
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, text := range []string{"rdb:key=bf:main", `rdb:key=a\,b\\,db=1`, "redisbloom:form=chunks,expansion=4", "rdb:=", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSpec(text)
		if err != nil {
			if !errors.Is(err, ErrSpec) || s.Name != "" {
				t.Fatal(s, err)
			}
			return
		}
		again, err := ParseSpec(s.String())
		if err != nil || again.Name != s.Name || !maps.Equal(again.Params, s.Params) {
			t.Fatalf("%q becomes %q and %v, %v", text, s, again, err)
		}
	})
}

// TestDetect shows every golden file to all formats: each is taken for what it is, and
// for nothing else with the same confidence.
func TestDetect(t *testing.T) {
	for _, c := range goldenCases {
		g := readGolden(t, c)
		all := Detect(g.filter)
		want := nameOf(c.spec)
		if want == "" {
			if len(all) == 0 {
				t.Errorf("%s %s: not recognised", c.dir, g.file)
				continue
			}
			opened, err := Open(g.filter, Spec{})
			if err != nil {
				t.Errorf("%s %s: %v", c.dir, g.file, err)
				continue
			}
			want = nameOf(opened.Describe().Format)
		}
		if owner, err := findFormat(want); err != nil || owner.detect == nil {
			if len(all) > 0 && all[0].Confidence >= Likely {
				t.Errorf("%s %s: a %s, which content cannot tell, is taken for %v", c.dir, g.file, want, all)
			}
			continue
		}
		if len(all) == 0 && c.spec == "leveldb" {
			continue // tables are recognised, filters alone are not
		}
		if len(all) == 0 || all[0].Spec.Name != want || len(all) > 1 && all[1].Confidence == all[0].Confidence {
			t.Errorf("%s %s: a %s is taken for %v", c.dir, g.file, want, all)
		}
		if want == "dcso" && c.dir != "dcso-plain" {
			continue // data behind the bits may be of any length
		}
		if truncated := Detect(g.filter[:len(g.filter)-1]); len(truncated) > 0 && truncated[0].Confidence == Likely && len(g.filter) > 200 {
			t.Errorf("%s %s: without its last byte it is taken for %v", c.dir, g.file, truncated)
		}
	}
}

func nameOf(spec string) string {
	name, _, _ := strings.Cut(spec, ":")
	return name
}

// FuzzDetect throws bytes at all formats: what is recognised opens or is refused with
// an error, and what opens can be asked and described.
func FuzzDetect(f *testing.F) {
	seen := make(map[string]bool)
	for _, c := range goldenCases {
		g := readGolden(f, c)
		if name := c.dir + g.file; !seen[name] && len(g.filter) < 32<<10 {
			seen[name] = true
			f.Add(g.filter)
		}
	}
	f.Add([]byte{})
	f.Add([]byte("REDIS0012\xff"))
	f.Add([]byte("some words\nof a text\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		for _, c := range Detect(b) {
			g, err := Inspect(b, c.Spec)
			if (g == nil) == (err == nil) {
				t.Fatalf("%v: %v and %v", c, g, err)
			}
			if c.Refused != "" || err != nil {
				continue
			}
			for _, key := range [][]byte{nil, []byte("a"), Int64Key(7)} {
				g.Has(key)
			}
			if d := g.Describe(); d.Format == "" || d.System == "" {
				t.Fatalf("%v is described as %+v", c, d)
			}
		}
		if g, err := Open(b, Spec{}); (g == nil) == (err == nil) {
			t.Fatalf("%v and %v", g, err)
		}
		if !bytes.Equal(b, before) {
			t.Fatal("the bytes were changed")
		}
	})
}

// TestFormats demands of each format that it says what a user has to know.
func TestFormats(t *testing.T) {
	all := Formats()
	if len(all) != len(formats) {
		t.Fatalf("%d formats of %d", len(all), len(formats))
	}
	for _, i := range all {
		f, err := findFormat(i.Name)
		switch {
		case i.System == "":
			t.Errorf("%s: whose is it?", i.Name)
		case i.Refused != "":
			if i.Detected == "" || err == nil {
				t.Errorf("%s is refused, and nothing recognises it, or it can be named", i.Name)
			}
			continue
		case err != nil || f.open == nil || !i.Probe || i.Verified == "":
			t.Errorf("%s: %+v, %v", i.Name, i, err)
		case i.Write != (f.create != nil) || i.Write != (i.NoWrite == ""):
			t.Errorf("%s: writing is %v, %q", i.Name, i.Write, i.NoWrite)
		case i.Merge != (f.clone != nil):
			t.Errorf("%s: merging is %v", i.Name, i.Merge)
		case (f.detect == nil) != (i.Detected == ""):
			t.Errorf("%s: recognised by %q", i.Name, i.Detected)
		}
		for _, p := range i.Params {
			if p.Meaning == "" || p.Required && p.Preset != "" || p.Preset != "" && f.check(Spec{Name: i.Name}.with(p.Name, p.Preset)) != nil {
				t.Errorf("%s: parameter %+v", i.Name, p)
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	file := mustRead(t, "redis-rdb", "dump.rdb")
	payload := mustRead(t, "redisbloom-scaling", "dump-payload.bin")
	header := mustRead(t, "redisbloom-scaling", "chunk-000.bin")
	for _, c := range []struct {
		name string
		b    []byte
		spec Spec
		is   error
		want string
	}{
		{"nothing", nil, Spec{}, ErrUnknown, "recognised by its content"},
		{"a text", []byte("one\ntwo\n"), Spec{}, ErrUnknown, "recognised by its content"},
		{"no such format", nil, Spec{Name: "x"}, ErrSpec, "the formats are"},
		{"no key", file, Spec{}, ErrSpec, "rdb needs key, which content cannot tell"},
		{"a wrong key", file, Spec{Name: "rdb", Params: map[string]string{"key": "plain"}}, ErrSpec, `under key "plain"; there are 3: "bf:empty", "bf:grown", "bf:main"`},
		{"a cut file", file[:len(file)-30], Spec{Name: "rdb", Params: map[string]string{"key": "bf:main"}}, ErrBadData, "the value ends early"},
		{"a changed payload", append(bytes.Clone(payload[:len(payload)-1]), 1), Spec{}, ErrBadData, "checksum"},
		{"a header alone", header, Spec{}, ErrBadData, "a dump is all its chunks in order"},
	} {
		f, err := Open(c.b, c.spec)
		if err == nil || f != nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %q", c.name, f, err, c.want)
		}
	}
	if f, err := Inspect(file, Spec{}); err != nil || len(f.(Lister).Parts()) != 3 {
		t.Errorf("the file as a whole: %v, %v", f, err)
	}
}

func mustRead(t testing.TB, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCreateRefuses(t *testing.T) {
	for _, c := range []struct {
		spec     string
		capacity uint64
		rate     float64
		want     string
	}{
		{"redisbloom", 0, 0.01, "capacity is 0"},
		{"redisbloom", 10, 0, "error rate 0"},
		{"redisbloom", 10, 1, "error rate 1"},
		{"redisbloom", 1 << 62, 0.01, "limit"},
		{"redisbloom:expansion=-1", 10, 0.01, "expansion=-1 is not a whole number"},
		{"rdb:key=a", 10, 0.01, "cannot be built"},
	} {
		s, err := ParseSpec(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := Create(s, c.capacity, c.rate); err == nil || f != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %d, %v: %v, %v; want %q", c.spec, c.capacity, c.rate, f, err, c.want)
		}
	}
}

// TestRewrapRedisBloom takes a filter through its forms, whose bytes are the module's.
func TestRewrapRedisBloom(t *testing.T) {
	payload := mustRead(t, "redisbloom-scaling", "dump-payload.bin")
	var chunks []byte
	for _, name := range []string{"chunk-000.bin", "chunk-001.bin", "chunk-002.bin"} {
		chunks = append(chunks, mustRead(t, "redisbloom-scaling", name)...)
	}
	// The module wrote another version of the format, which is in the last ten bytes.
	ours := bytes.Clone(payload[:len(payload)-rdb.TailSize])
	ours = binary.LittleEndian.AppendUint16(ours, rdb.Version)
	ours = binary.LittleEndian.AppendUint64(ours, rdb.Checksum(ours))
	for _, c := range []struct {
		from []byte
		to   string
		want []byte
	}{{payload, "redisbloom:form=chunks", chunks}, {chunks, "redisbloom", ours}, {chunks, "redisbloom:form=chunks", chunks}} {
		f, err := Open(c.from, Spec{})
		if err != nil {
			t.Fatal(err)
		}
		to, err := ParseSpec(c.to)
		if err != nil {
			t.Fatal(err)
		}
		w, err := Rewrap(f, to)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := w.WriteTo(&b); err != nil || !bytes.Equal(b.Bytes(), c.want) {
			t.Errorf("to %s: %d bytes that differ, %v", c.to, b.Len(), err)
		}
	}
	f, err := Open(chunks, Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if w, err := Rewrap(f, Spec{Name: "rdb"}); w != nil || !errors.Is(err, ErrSpec) || !strings.Contains(tried(err), "; rdb:key=KEY") {
		t.Error(w, err)
	}
}

// TestRedisUnion unites two filters of one shape, and refuses others.
func TestRedisUnion(t *testing.T) {
	build := func(capacity uint64, keys ...string) Foreign {
		f, err := Create(Spec{Name: "redisbloom"}, capacity, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if _, err := f.(Adder).Add([]byte(key)); err != nil {
				t.Fatal(err)
			}
		}
		return f
	}
	a, b := build(100, "a", "b"), build(100, "b", "c")
	if err := a.(Merger).Union(b); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"a": true, "b": true, "c": true, "d": false} {
		if a.Has([]byte(key)) != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
	if st := a.Stats(); st.Added != 3 {
		t.Errorf("%d keys are counted", st.Added)
	}
	var dump bytes.Buffer
	if _, err := a.WriteTo(&dump); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dump.Bytes(), Spec{}); err != nil {
		t.Error(err)
	}
	for _, other := range []Reader{build(200), must(bloom.NewClassic(bloom.Config{Capacity: 10, ErrorRate: 0.1}))} {
		if err := a.(Merger).Union(other); !errors.Is(err, bloom.ErrIncompatible) {
			t.Error(err)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestSkipValues reads past every kind of value that is known.
func TestSkipValues(t *testing.T) {
	str := func(s string) string { return string(rune(len(s))) + s }
	eight := "12345678"
	id := eight + eight
	payload := mustRead(t, "redisbloom-scaling", "dump-payload.bin")
	bf := string(payload[1 : len(payload)-rdb.TailSize])
	for kind, value := range map[byte]string{
		0: str("x"), 1: "\x02" + str("a") + str("b"), 2: "\x01\xc0\x05", 3: "\x02" + str("a") + "\x011" + str("b") + "\xff",
		4: "\x01" + str("f") + str("v"), 5: "\x01" + str("m") + eight, 9: str("zip"), 10: str("z"), 11: str("i"), 12: str("z"),
		13: str("z"), 14: "\x02" + str("a") + str("b"), 16: str("l"), 17: str("l"), 18: "\x01\x02" + str("n"), 20: str("l"),
		15: "\x01" + str(id) + str("lp") + "\x01\x02\x03" + "\x01" + str("g") + "\x01\x02" + "\x01" + id + eight + "\x01" + "\x01" + str("c") + eight + "\x01" + id,
		19: "\x00\x01\x02\x03\x01\x02\x03\x04\x05\x01" + str("g") + "\x01\x02\x03\x00\x01" + str("c") + eight + "\x00",
		21: "\x00\x01\x02\x03\x01\x02\x03\x04\x05\x01" + str("g") + "\x01\x02\x03\x00\x01" + str("c") + eight + eight + "\x00",
		24: eight + "\x01\x05" + str("f") + str("v"), 25: eight + str("lp"),
		7: "\x81" + eight + "\x01\x05\x02\x06\x03abcd\x04" + eight + "\x05" + str("s") + "\x00",
	} {
		file := "REDIS0012\xfa" + str("a") + str("b") + "\xfe\x00\xfb\x01\x00\xf4\x01\x02\x03\xf5" + str("lib") + "\xf7\x81" + eight + "\x02\x01\x00" +
			"\xfc" + eight + "\xf8\x05" + string([]byte{kind}) + str("k") + value +
			"\xfd1234\xf9\x01\x07" + str("bloom") + bf + "\xff" + strings.Repeat("\x00", 8)
		r, err := parseRDB([]byte(file))
		if err != nil || len(r.entries) != 1 || r.values != 2 || r.entries[0].key != "bloom" {
			t.Errorf("kind %d: %v, %v", kind, r, err)
			continue
		}
		if confidence, spec, ok := detectRDB([]byte(file)); !ok || confidence != Certain || spec.String() != "rdb:key=bloom" {
			t.Errorf("kind %d: recognised as %v", kind, spec)
		}
	}
	if _, err := parseRDB([]byte("REDIS0012\x08" + str("k"))); err == nil || !strings.Contains(err.Error(), "kind 8") {
		t.Error(err)
	}
}
