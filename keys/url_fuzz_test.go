package keys

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// fuzzForms are the forms that the fuzz tests ask, with each rule on and off.
func fuzzForms(t testing.TB) []*URLForm {
	var forms []*URLForm
	for _, c := range []URLConfig{
		{}, {KeepHost: true}, {KeepPort: true}, {KeepDots: true}, {KeepEscapes: true}, {KeepFragment: true},
		{KeepHost: true, KeepPort: true, KeepDots: true, KeepEscapes: true, KeepFragment: true},
		{SortQuery: true, DropTracking: true}, {SortQuery: true, KeepFragment: true, Drop: []string{"a*", "b"}},
		{KeepDots: true, KeepHost: true},
	} {
		forms = append(forms, form(t, c))
	}
	return forms
}

func addURLs(f *testing.F) {
	for _, in := range []string{
		"http://example.com/", "https://Example.COM:443/a/../b?c=d&a#e", "http://a_b.example/%7e/%%32e", "http://[::1]:80/", "http://1.2.3/",
		"http://User:Pa%73s@h.example:8080?x", "http:\\\\b\u00fccher.example\\\xff?\xfe", "file:///C|/..", "data:a b ?x #y", "web+x:/.//y", "foo://%7E/./..",
		"https://xn--a.example/", "https://a--b.example/", "https://ab--c.example/", "https://a.0x/", "https://a.b.", "http://a:00080", "http://a..b", "http://a-.b",
		"http://a/.%2e/.", "http://a/%2e", "http://a/'?'", "http://a?&&b=1&a", "mailto:x", " http://a ", "http://a/#\n", "ws://a/%4", "http:a%", "http://a//..//.",
	} {
		f.Add(in)
	}
}

// A form is its own form, whatever the rules, and what is no URL is one error.
func FuzzURL(f *testing.F) {
	addURLs(f)
	forms := fuzzForms(f)
	f.Fuzz(func(t *testing.T, in string) {
		for _, form := range forms {
			got, err := form.Append(nil, []byte(in))
			if err != nil {
				if len(got) > 0 || !errors.Is(err, ErrURL) {
					t.Fatalf("%+v of %q: %q, %v", form.config, in, got, err)
				}
				continue
			}
			again, err := form.Append(nil, got)
			if err != nil || !bytes.Equal(again, got) {
				t.Fatalf("%+v of %q: %q becomes %q, %v", form.config, in, got, again, err)
			}
			based, err := form.AppendReference(nil, []byte("http://base.example/a/b"), got)
			if err != nil || !bytes.Equal(based, got) {
				t.Fatalf("%+v: the canonical %q, as a reference, becomes %q, %v", form.config, got, based, err)
			}
		}
	})
}

// What the shortcut accepts the parser makes the same of, and has nothing to
// change in it any more.
func FuzzShortcut(f *testing.F) {
	addURLs(f)
	forms := fuzzForms(f)
	f.Fuzz(func(t *testing.T, in string) {
		for _, prefix := range []string{"", "http://a/", "https://a.b?", "http://a."} {
			for _, form := range forms {
				checkShortcut(t, form, prefix+in)
			}
		}
	})
}

// checkShortcut reports whether the shortcut is taken, and fails where the parser
// does not agree with it.
func checkShortcut(t *testing.T, f *URLForm, in string) bool {
	t.Helper()
	got, ok := f.appendCanonical(nil, []byte(in))
	if !ok {
		return false
	}
	want, err := f.parse(string(encodeInvalid([]byte(in))))
	if err != nil || string(got) != want {
		t.Fatalf("%+v of %q: %q; the parser makes %q, %v", f.config, in, got, want, err)
	}
	if again, err := f.parse(want); err != nil || again != want {
		t.Fatalf("%+v of %q: the parser makes %q of %q, %v", f.config, in, again, want, err)
	}
	return true
}

// URLs put together from pieces reach the borders between what the shortcut
// takes and what it leaves, where random bytes seldom are.
func TestShortcutIsTheParser(t *testing.T) {
	pieces := [][]string{
		{"http", "https", "HTTP", "hTTps", "ws", "httpx"}, {"://", "://", "://", ":/", ":", ":\\\\"}, {"", "", "", "u@", "u:p@"},
		{"a", "a", "0", "xn--a", "a-", "-a", "a--b", "ab--c", "A", "", "1.2", "a.0x1", "\u00fc", "a_b", "%61"}, {"", "", ".a", ".B", ".0", ".", ".a1", ".1a", ".0xa"},
		{"", "", ":", ":80", ":443", ":0", ":08", ":65535", ":65536", ":123456", ":a"},
		{"", "/", "/", "?", "#", "\\"}, {"", "a", ".", "..", ".a", "%2e", "%2E.", "%41", "%c3", "%C3", "%", "%4", "\u00fc", "\xff", "'", "^|", "{", "\""},
		{"", "/", "//", "/.", "/..", "/./", "/../", "/..."}, {"", "", "?", "?&", "?b=1&a", "?'", "?%41", "?%", "?\"<", "??/."}, {"", "", "#", "#a ", "#\xff"}, {"", "", " "},
	}
	r := rand.New(rand.NewPCG(1, 2))
	forms := fuzzForms(t)
	taken := 0
	for range 20_000 {
		var in strings.Builder
		for _, p := range pieces {
			in.WriteString(p[r.IntN(len(p))*r.IntN(2)]) // every second time the first, which is harmless
		}
		if checkShortcut(t, forms[r.IntN(len(forms))], in.String()) {
			taken++
		}
	}
	if taken < 500 {
		t.Errorf("the shortcut took %d of 20000 URLs; the test says nothing", taken)
	}
}
