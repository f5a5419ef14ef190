package keys

import (
	"errors"
	"strconv"
	"strings"
	"testing"
)

// form makes a URLForm or fails.
func form(t testing.TB, c URLConfig) *URLForm {
	t.Helper()
	f, err := NewURL(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// checkForms holds the canonical forms under c against a table from what is
// written to what is wanted; each form has to be its own.
func checkForms(t *testing.T, c URLConfig, table map[string]string) {
	t.Helper()
	f := form(t, c)
	for in, want := range table {
		got, err := f.Append([]byte("kept "), []byte(in))
		if err != nil || string(got) != "kept "+want {
			t.Errorf("%+v of %q: %q, %v; want %q", c, in, got, err, want)
		}
		again, err := f.Append(nil, []byte(want))
		if err != nil || string(again) != want {
			t.Errorf("%+v: the canonical %q becomes %q, %v", c, want, again, err)
		}
	}
}

func TestURL(t *testing.T) {
	checkForms(t, URLConfig{}, map[string]string{
		"http://example.com/":                        "http://example.com/",
		"http://example.com":                         "http://example.com/",
		"https://example.com?a=1":                    "https://example.com/?a=1",
		"http://example.com/?":                       "http://example.com/?",
		"HTTP://Example.COM/Path?Query":              "http://example.com/Path?Query",
		" \thttp://example.com/a b\r\n":              "http://example.com/a%20b",
		"http://exam\nple.com/a\tb":                  "http://example.com/ab",
		"http:\\\\example.com\\a":                    "http://example.com/a",
		"http:example.com":                           "http://example.com/",
		"https:////example.com//a//":                 "https://example.com//a//",
		"http://BÜCHER.example/ü?ü#ü":                "http://xn--bcher-kva.example/%C3%BC?%C3%BC",
		"http://xn--bcher-kva.example/":              "http://xn--bcher-kva.example/",
		"http://ｅｘａｍｐｌｅ.com/":                        "http://example.com/",
		"http://ex%41mple.com/":                      "http://example.com/",
		"http://example.com./":                       "http://example.com./",
		"http://a_b.example.com/":                    "http://a_b.example.com/",
		"http://0x7f.1/":                             "http://127.0.0.1/",
		"http://127.0.0.1:8080/":                     "http://127.0.0.1:8080/",
		"http://[2001:DB8:0:0::1]:80/":               "http://[2001:db8::1]/",
		"http://example.com:80/":                     "http://example.com/",
		"http://example.com:/":                       "http://example.com/",
		"http://example.com:0443/":                   "http://example.com:443/",
		"https://example.com:443":                    "https://example.com/",
		"https://example.com:80/":                    "https://example.com:80/",
		"ws://example.com:80/":                       "ws://example.com/",
		"ftp://example.com:21/a":                     "ftp://example.com/a",
		"http://User:Pass@Example.com/":              "http://User:Pass@example.com/",
		"http://a@b@example.com/":                    "http://a%40b@example.com/",
		"http://example.com/a/./b/../c":              "http://example.com/a/c",
		"http://example.com/../../a/..":              "http://example.com/",
		"http://example.com/a/%2e%2E/b/%2e":          "http://example.com/b/",
		"http://example.com/.well-known/...":         "http://example.com/.well-known/...",
		"http://example.com/a#fragment":              "http://example.com/a",
		"http://example.com#":                        "http://example.com/",
		"http://example.com/a#b?c":                   "http://example.com/a",
		"http://example.com/%7euser/%c3%a4%2f":       "http://example.com/~user/%C3%A4%2F",
		"http://example.com/?q=%41+%2b":              "http://example.com/?q=A+%2B",
		"http://example.com/100%":                    "http://example.com/100%",
		"http://example.com/%%32e/%61":               "http://example.com/%%32e/%61",
		"http://example.com/\xe4\xff":                "http://example.com/%E4%FF",
		"http://example.com/\"<>`{}|^":               "http://example.com/%22%3C%3E%60%7B%7D|^",
		"http://example.com/'?'":                     "http://example.com/'?%27",
		"http://example.com/a;b=1,2?b=2&a=1&a=0&&":   "http://example.com/a;b=1,2?b=2&a=1&a=0&&",
		"http://example.com/?utm_source=x":           "http://example.com/?utm_source=x",
		"mailto:Jane@Example.com":                    "mailto:Jane@Example.com",
		"DATA:text/plain,a%41 #x":                    "data:text/plain,a%41",
		"file:///C|/a/../b#x":                        "file:///C:/b",
		"file:///%43|/":                              "file:///%43|/",
		"gopher://Example.com:70/%7e":                "gopher://Example.com:70/%7e",
		"about:blank":                                "about:blank",
		"http://" + strings.Repeat("a", 70) + ".com": "http://" + strings.Repeat("a", 70) + ".com/",
	})
}

// Each rule that is on by default can be off, and then touches nothing else.
func TestURLRules(t *testing.T) {
	const all = "http://Bücher.example:80/a/./%7e/%2E%2e/%c3#x"
	checkForms(t, URLConfig{}, map[string]string{all: "http://xn--bcher-kva.example/a/%C3"})
	checkForms(t, URLConfig{KeepHost: true}, map[string]string{
		all:                           "http://Bücher.example/a/%C3",
		"HTTP://u@EXAMPLE.com:80":     "http://u@EXAMPLE.com/",
		"http://EXAMPLE.com":          "http://EXAMPLE.com/",
		"http://example.com":          "http://example.com/",
		"http://[2001:DB8:0:0::1]:80": "http://[2001:DB8:0:0::1]/",
		"mailto:a@B":                  "mailto:a@B",
	})
	checkForms(t, URLConfig{KeepPort: true}, map[string]string{
		all:                       "http://xn--bcher-kva.example:80/a/%C3",
		"http://Example.com:80":   "http://example.com:80/",
		"https://example.com:443": "https://example.com:443/",
		"https://example.com":     "https://example.com/",
	})
	checkForms(t, URLConfig{KeepDots: true}, map[string]string{
		all:                         "http://xn--bcher-kva.example/a/./~/../%C3",
		"http://example.com/a/../b": "http://example.com/a/../b",
		"http://example.com/.":      "http://example.com/.",
		"http://example.com\\.\\ü?": "http://example.com/./%C3%BC?",
		"http:example.com":          "http://example.com/",
	})
	checkForms(t, URLConfig{KeepEscapes: true}, map[string]string{
		all:                             "http://xn--bcher-kva.example/a/%c3",
		"http://example.com/%7e?%41%2b": "http://example.com/%7e?%41%2b",
		"http://example.com/%2e/a":      "http://example.com/a",
	})
	checkForms(t, URLConfig{KeepFragment: true}, map[string]string{
		all:                             "http://xn--bcher-kva.example/a/%C3#x",
		"http://example.com#%7e":        "http://example.com/#~",
		"http://example.com/a?b#c?d&e#": "http://example.com/a?b#c?d&e#",
	})
	checkForms(t, URLConfig{KeepHost: true, KeepPort: true, KeepDots: true, KeepEscapes: true, KeepFragment: true}, map[string]string{
		all: "http://Bücher.example:80/a/./%7e/%2E%2e/%c3#x",
	})
}

func TestURLQuery(t *testing.T) {
	checkForms(t, URLConfig{SortQuery: true}, map[string]string{
		"http://example.com/?b=2&a=1":                               "http://example.com/?a=1&b=2",
		"http://example.com/?b&a=2&a=1&aa":                          "http://example.com/?a=2&a=1&aa&b",
		"http://example.com/?&b&&a&":                                "http://example.com/?a&b",
		"http://example.com/?":                                      "http://example.com/",
		"http://example.com/?%7e=1&Z=1":                             "http://example.com/?Z=1&~=1",
		"http://example.com/?a=b=c&a":                               "http://example.com/?a=b=c&a",
		"http://example.com/a":                                      "http://example.com/a",
		"mailto:a@b.example?to=x&cc=y":                              "mailto:a@b.example?to=x&cc=y",
		"http://example.com/?b?&a?#b&a":                             "http://example.com/?a?&b?",
		"http://example.com/?utm_source=1&a":                        "http://example.com/?a&utm_source=1",
		"http://example.com/?z&y&x&w&v&u&t&s&r&q&p&o&n&m&l&k&j&i&h": "http://example.com/?h&i&j&k&l&m&n&o&p&q&r&s&t&u&v&w&x&y&z",
	})
	checkForms(t, URLConfig{DropTracking: true}, map[string]string{
		"http://example.com/?utm_source=x&utm_medium=y":         "http://example.com/",
		"http://example.com/?b=2&gclid=1&a=1&fbclid=2":          "http://example.com/?b=2&a=1",
		"http://example.com/?utm&gclidx=1&UTM_a=1&a=utm_source": "http://example.com/?utm&gclidx=1&UTM_a=1&a=utm_source",
		"http://Example.com/?utm%5Fsource=x#utm_source":         "http://example.com/",
		"http://example.com/?msclkid=1&&q=%20&mc_eid":           "http://example.com/?q=%20",
		"data:a ?utm_source=x":                                  "data:a ?utm_source=x",
	})
	checkForms(t, URLConfig{Drop: []string{"session*", "id"}, KeepFragment: true}, map[string]string{
		"http://example.com/?sessionid=1&id=2&ID=3#?id=1&id": "http://example.com/?ID=3#?id=1&id",
		"http://example.com/?id=1#x":                         "http://example.com/#x",
		"http://example.com/#?id=1":                          "http://example.com/#?id=1",
		"http://example.com/?utm_source=1":                   "http://example.com/?utm_source=1",
	})
	checkForms(t, URLConfig{Drop: []string{"*"}}, map[string]string{"http://example.com/?a&b": "http://example.com/"})
}

func TestReferences(t *testing.T) {
	f := form(t, URLConfig{SortQuery: true, DropTracking: true})
	for ref, want := range map[string]string{
		"":                            "http://example.com/a/b?q=1",
		"c":                           "http://example.com/a/c",
		"../c?y&x&utm_source=1#top":   "http://example.com/c?x&y",
		"/%63":                        "http://example.com/c",
		"//Example.org:80/":           "http://example.org/",
		"?x":                          "http://example.com/a/b?x",
		"#top":                        "http://example.com/a/b?q=1",
		"https://Example.com/c?y&x#z": "https://example.com/c?x&y",
		"http:c":                      "http://example.com/a/c",
		"\\c \n":                      "http://example.com/c",
		"\xff":                        "http://example.com/a/%FF",
		"mailto:x@example.com":        "mailto:x@example.com",
	} {
		got, err := f.AppendReference([]byte("kept "), []byte("http://example.com/a/b?q=1#f"), []byte(ref))
		if err != nil || string(got) != "kept "+want {
			t.Errorf("%q: %q, %v; want %q", ref, got, err, want)
		}
	}
	for _, c := range [][2]string{{"no url", "a"}, {"mailto:x", "a"}, {"http://example.com/", "//"}, {"http://" + strings.Repeat("a", MaxURL), "a"}, {"", "a"}} {
		got, err := f.AppendReference([]byte("kept"), []byte(c[0]), []byte(c[1]))
		if !errors.Is(err, ErrURL) || string(got) != "kept" {
			t.Errorf("%q in %.50q: %q, %v; want an error", c[1], c[0], got, err)
		}
	}
}

func TestURLConfigErrors(t *testing.T) {
	for _, p := range []string{"", "a*b", "**", "a&b", "a=1"} {
		if f, err := NewURL(URLConfig{Drop: []string{p}}); err == nil || f != nil {
			t.Errorf("%q: %v, %v; want an error", p, f, err)
		}
	}
}

func TestNoURL(t *testing.T) {
	for _, in := range []string{
		"", " ", "/a/b", "example.com", "//example.com/", "?a", "#a", "http://", "http:///", "http://a b/", "http://example.com:99999/",
		"http://example.com:a/", "http://[::1/", "http://1.2.3.4.5/", "http://%zz/", "http://\xff/", "http://ex\xffample.com/", "http://xn--a/",
		"http://@/", "http://a:b@/", "http://" + strings.Repeat("@", maxAt+1) + "a/", "http://" + strings.Repeat("a", MaxURL),
	} {
		got, err := defaultURL.Append([]byte("kept"), []byte(in))
		if !errors.Is(err, ErrURL) || string(got) != "kept" {
			t.Errorf("%.50q: %q, %v; want an error", in, got, err)
		}
		if len(in) < 50 && err != nil && !strings.Contains(err.Error(), strconv.Quote(in)) {
			t.Errorf("%q is not named in %q", in, err)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	}
}

// The parser is only asked for what is not canonical already.
func TestCanonicalURLsTakeNoMemory(t *testing.T) {
	f := form(t, URLConfig{SortQuery: true, DropTracking: true})
	for _, in := range []string{
		"http://example.com/a/b?c=d", "https://Example.COM", "https://www.example.com:8080/.a/b%20c?b=1&a=%2F&utm_source=x#fragment",
	} {
		dst, in := make([]byte, 0, 200), []byte(in)
		if n := testing.AllocsPerRun(100, func() {
			if _, err := f.Append(dst, in); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%q: %v allocations", in, n)
		}
	}
}
