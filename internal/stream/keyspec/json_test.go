package keyspec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestJSON(t *testing.T) {
	// The document and most pointers are those of RFC 6901, section 5.
	const rfc = `{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}`
	for _, c := range []struct{ pointer, in, want string }{
		{"/foo", rfc, `["bar","baz"]`},
		{"/foo/0", rfc, "bar"},
		{"/", rfc, "0"},
		{"/a~1b", rfc, "1"},
		{"/c%d", rfc, "2"},
		{"/e^f", rfc, "3"},
		{"/g|h", rfc, "4"},
		{`/i\j`, rfc, "5"},
		{`/k"l`, rfc, "6"},
		{"/ ", rfc, "7"},
		{"/m~0n", rfc, "8"},
		{"", "17", "17"},
		{"", ` "a" `, "a"},
		{"", "[ 1 , {} ,[] ]", "[1,{},[]]"},
		{"", `{ "b" : 1.0 , "a" : [ "\u0041\/\n" , null ] }`, `{"a":["A/\u000a",null],"b":1}`},
		{"", `{"b":1,"a":2,"b":3}`, `{"a":2,"b":3}`},
		{"/a", `{"a":1,"a":2}`, "2"},
		{"/a", `{"\u0061":1}`, "1"},
		{"/a/b", `{"a":[],"a":{"b":true}}`, "true"},
		{"/1", `[0,[1],2]`, "[1]"},
		{"/1", `{"1":"object"}`, "object"},
		{"/a", `{"a":"\ud83d\ude00\ud83d"}`, "😀\xed\xa0\xbd"},
		{"/a", `{"a":"\ud800\u0041"}`, "\xed\xa0\x80A"},
		{"/a", `{"a":"\"\\\/\b\f\n\r\t"}`, "\"\\/\b\f\n\r\t"},
		{"/a", "{\"a\":\"\xff\"}", "\xff"},
		{"/a", `{"a":null}`, "null"},
		{"/n", `{"n":-0}`, "0"},
		{"/n", `{"n":1E2}`, "100"},
	} {
		if got, err := keyOf(t, Options{Keys: []string{"json:" + c.pointer}}, c.in); err != nil || got != c.want {
			t.Errorf("%q in %s: %q, %v; want %q", c.pointer, c.in, got, err, c.want)
		}
	}
	for _, c := range []struct{ pointer, in string }{
		{"/b", `{"a":1}`}, {"/a/b", `{"a":1}`}, {"/a/b", `{"a":{"b":1},"a":2}`}, {"/2", "[0,1]"}, {"/-", "[0]"}, {"/00", "[0]"},
		{"/+1", "[0,1]"}, {"/4294967296", "[0]"}, {"/99999999999", "[0]"}, {"/a", `[]`}, {"/0", `"text"`}, {"/a", "{}"}, {`/\u0061`, `{"\u0061":1}`},
	} {
		if got, err := keyOf(t, Options{Keys: []string{"json:" + c.pointer}}, c.in); err == nil || errors.Is(err, errNotJSON) {
			t.Errorf("%q in %s: %q, %v; want no value", c.pointer, c.in, got, err)
		}
	}
}

// Names between dots are another spelling of a pointer.
func TestDottedPaths(t *testing.T) {
	for path, pointer := range map[string]string{
		"a": "/a", "user.id": "/user/id", "items.0.id": "/items/0/id", "a~b.c": "/a~0b/c", "a b.é": "/a b/é", "/a.b": "/a.b", "": "",
	} {
		dotted, slashed := Options{Keys: []string{"json:" + path}}, Options{Keys: []string{"json:" + pointer}}
		if got := dotted.Spellings()[0]; got != slashed.Keys[0] || slashed.Spellings()[0] != got {
			t.Errorf("json:%s is spelt %s, want json:%s", path, got, pointer)
		}
		const doc = `{"a":1,"user":{"id":2},"items":[{"id":3}],"a~b":{"c":4},"a b":{"é":5},"a.b":6}`
		want, err := keyOf(t, slashed, doc)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := keyOf(t, dotted, doc); err != nil || got != want {
			t.Errorf("json:%s: %q, %v; want %q", path, got, err, want)
		}
	}
	if _, err := keyOf(t, Options{Keys: []string{"json:a.b"}}, `{"a":1}`); err == nil || err.Error() != `the record has no value at "a.b"` {
		t.Error(err)
	}
}

func TestNotJSON(t *testing.T) {
	for _, doc := range []string{
		"", " ", "{", "}", "[", "]", "[1", "[1,", "[1,]", "[,1]", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{a:1}`, `{1:1}`, `{"a" 1}`,
		`{"a":1 "b":2}`, `[1 2]`, "1 2", "[] x", `"`, `"a`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\x1f\"", "\"\x00\"", "\"a\tb\"", "01", "-", "-a", "1.", ".5",
		"1e", "1e+", "+1", "0x1", "t", "tru", "truE", "nul", "fals", "NaN", "'a'", "[1}", `{"a":1]`, "\ufeff1", "\x0b1",
	} {
		for _, in := range []struct{ pointer, doc string }{{"", doc}, {"/x", doc}, {"/x", `{"x":` + doc + "}"}, {"/1", "[0," + doc + "]"}, {"/9", "[" + doc + "]"}} {
			if _, err := keyOf(t, Options{Keys: []string{"json:" + in.pointer}}, in.doc); errors.Is(err, errNotJSON) == json.Valid([]byte(in.doc)) {
				t.Errorf("%q in %q: %v", in.pointer, in.doc, err)
			}
		}
	}
}

// One value has one key, however it is written; different values have different keys.
func TestNumbersHaveOneForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Int64Range(-1100, 1100)
		exponent := rapid.IntRange(-25, 25)
		spell := func(label string, n int64, e int) (string, *big.Rat) {
			shift := rapid.IntRange(0, 6).Draw(t, label+"shift")
			text := strings.TrimPrefix(fmt.Sprint(n), "-")
			text = strings.Repeat("0", max(shift+1-len(text), 0)) + text
			whole, fraction := text[:len(text)-shift], text[len(text)-shift:]
			whole = strings.TrimLeft(whole, "0")
			if whole == "" {
				whole = "0"
			}
			if n < 0 {
				whole = "-" + whole
			}
			if fraction != "" {
				whole += "." + fraction
			}
			if e+shift != 0 || rapid.Bool().Draw(t, label+"always") {
				whole += fmt.Sprintf([]string{"e%d", "E%+d", "e%+03d"}[rapid.IntRange(0, 2).Draw(t, label+"form")], e+shift)
			}
			r, ok := new(big.Rat).SetString(whole)
			if !ok || !json.Valid([]byte(whole)) {
				t.Fatalf("the test made %q", whole)
			}
			return whole, r
		}
		n, e := number.Draw(t, "n"), exponent.Draw(t, "e")
		a, va := spell("a", n, e)
		if rapid.Bool().Draw(t, "another") {
			n, e = number.Draw(t, "n2"), exponent.Draw(t, "e2")
		}
		b, vb := spell("b", n, e)
		ka, kb := string(appendNumber(nil, []byte(a))), string(appendNumber(nil, []byte(b)))
		if (ka == kb) != (va.Cmp(vb) == 0) {
			t.Fatalf("%s has the key %s and %s has %s", a, ka, b, kb)
		}
		if v, ok := new(big.Rat).SetString(ka); !ok || v.Cmp(va) != 0 || !json.Valid([]byte(ka)) {
			t.Fatalf("%s has the key %s", a, ka)
		}
		if again := string(appendNumber(nil, []byte(ka))); again != ka {
			t.Fatalf("the form %s of %s has the form %s", ka, a, again)
		}
	})
	for text, want := range map[string]string{
		"123456789012345678901":      "123456789012345678901",
		"-123456789012345678901":     "-123456789012345678901",
		"1234567890123456789012":     "1234567890123456789012e0",
		"1000000000000000000000":     "1e21",
		"1e20":                       "100000000000000000000",
		"1e21":                       "1e21",
		"0.000000000000000000001":    "0.000000000000000000001",
		"1e-22":                      "1e-22",
		"-0.0e5":                     "0",
		"0E000000":                   "0",
		"1e1000000000000000":         "1e1000000000000000",
		"10e99999999999999999999999": "10e99999999999999999999999",
		"1.5e-9999999999999999":      "1.5e-9999999999999999",
	} {
		if got := string(appendNumber(nil, []byte(text))); got != want {
			t.Errorf("%s has the form %s, want %s", text, got, want)
		}
	}
}

func TestDeepJSON(t *testing.T) {
	for _, c := range []struct{ open, close string }{{"[", "]"}, {`{"a":`, "}"}} {
		for depth, valid := range map[int]bool{maxDepth: true, maxDepth + 1: false} {
			doc := []byte(strings.Repeat(c.open, depth) + "1" + strings.Repeat(c.close, depth))
			for _, pointer := range []string{"", "/a", "/0", "/x"} {
				_, err := keyOf(t, Options{Keys: []string{"json:" + pointer}}, string(doc))
				if errors.Is(err, errNotJSON) == valid || json.Valid(doc) != valid {
					t.Errorf("%d x %s, pointer %q: %v", depth, c.open, pointer, err)
				}
			}
		}
	}
}

// reference looks a pointer up the slow way.
func reference(doc []byte, tokens []string) (value any, found bool) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		panic(err) // the caller has validated doc
	}
	for _, token := range tokens {
		switch v := value.(type) {
		case map[string]any:
			if value, found = v[token]; !found {
				return nil, false
			}
		case []any:
			i := arrayIndex(token)
			if i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// exact replaces numbers by their exact values, so that values can be compared.
func exact(value any) any {
	switch v := value.(type) {
	case json.Number:
		return exactNumber(string(v))
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = exact(v[k])
		}
	}
	return value
}

// exactNumber returns a JSON number as an integer without zeros at its end, and a power
// of ten, whatever their size.
func exactNumber(text string) string {
	mantissa, power, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits, _ := new(big.Int).SetString(whole+fraction, 10)
	exponent, isSet := new(big.Int).SetString(power, 10)
	if !isSet {
		exponent = new(big.Int)
	}
	exponent.Sub(exponent, big.NewInt(int64(len(fraction))))
	if digits.Sign() == 0 {
		return "0"
	}
	plain := digits.String()
	trimmed := strings.TrimRight(plain, "0")
	exponent.Add(exponent, big.NewInt(int64(len(plain)-len(trimmed))))
	return trimmed + "e" + exponent.String()
}

// halves replaces half surrogate pairs by what encoding/json makes of them.
func halves(key string) string {
	var b strings.Builder
	for i := 0; i < len(key); i++ {
		if key[i] == 0xed && i+2 < len(key) && key[i+1] >= 0xa0 {
			b.WriteRune(utf8.RuneError)
			i += 2
		} else {
			b.WriteByte(key[i])
		}
	}
	return b.String()
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []struct{ doc, pointer string }{
		{`{"a":[1,{"b":"c"}],"a":2}`, "/a/1/b"}, {`{"a":"\ud83d\ude00\u0041"}`, "/a"}, {`[1.50,-0,1e5,""]`, "/0"}, {`"x`, ""},
		{`{"a" : {"z":1,"y":[true,false,null]}}`, "/a"}, {"{\"\xff\":1}", "/a"}, {`{"a":1}x`, "/a"}, {`{"k\n":"v\t"}`, "/k\n"},
		{`{"long name of a member":"a value of more than eight bytes \\ with \" in it"}`, "/long name of a member"}, {" [ ] ", ""}, {"01", ""}, {"-", ""},
	} {
		f.Add([]byte(seed.doc), seed.pointer)
	}
	f.Fuzz(func(t *testing.T, doc []byte, pointer string) {
		k, err := Compile(Options{Keys: []string{"json:" + pointer}})
		if err != nil {
			return
		}
		key, err := k.Extract(doc, new(Scratch))
		if valid := json.Valid(doc); valid == errors.Is(err, errNotJSON) {
			t.Fatalf("%q: %v, but encoding/json finds it valid: %v", doc, err, valid)
		} else if !valid || !utf8.Valid(doc) || !utf8.ValidString(pointer) {
			return
		}
		tokens := k.parts[0].find.(*jsonPart).tokens
		value, found := reference(doc, tokens)
		if found != (err == nil) {
			if strings.Contains(string(doc), `\u`) {
				return // names with half surrogate pairs are not kept apart there
			}
			t.Fatalf("%q at %q: %v, want found: %v", doc, pointer, err, found)
		}
		switch v := value.(type) {
		case nil:
			if found && string(key) != "null" {
				t.Fatalf("%q at %q: %q, want null", doc, pointer, key)
			}
		case string:
			if halves(string(key)) != v {
				t.Fatalf("%q at %q: %q, want %q", doc, pointer, key, v)
			}
		default:
			d := json.NewDecoder(bytes.NewReader(key))
			d.UseNumber()
			var back any
			if err := d.Decode(&back); err != nil {
				t.Fatalf("%q at %q: the key %q is no JSON: %v", doc, pointer, key, err)
			}
			if !reflect.DeepEqual(exact(back), exact(value)) && utf8.Valid(key) {
				t.Fatalf("%q at %q: the key %q stands for another value", doc, pointer, key)
			}
			again, err := mustCompile(t, Options{Keys: []string{"json:"}}).Extract(key, new(Scratch))
			if err != nil || !bytes.Equal(again, key) {
				t.Fatalf("the key %q is not canonical: %q, %v", key, again, err)
			}
		}
	})
}
