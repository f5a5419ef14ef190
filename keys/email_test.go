package keys

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestEmail(t *testing.T) {
	for in, want := range map[string]string{
		"  Jane.Doe@Example.COM ":               "jane.doe@example.com",
		"Jane Doe <Jane@Example.com>":           "jane@example.com",
		`"Doe, Jane" < jane@example.com. >`:     "jane@example.com",
		"<a@b>":                                 "a@b",
		"jane+news@example.com":                 "jane+news@example.com",
		"J.a.n.e+news@GMail.com":                "jane@gmail.com",
		"jane@googlemail.com":                   "jane@gmail.com",
		"jane.doe+x@outlook.com":                "jane.doe@outlook.com",
		"jane.doe@outlook.com":                  "jane.doe@outlook.com",
		"jane+a+b@icloud.com.":                  "jane@icloud.com",
		"+tag@gmail.com":                        "+tag@gmail.com",
		`"a+b"@gmail.com`:                       `"a+b"@gmail.com`,
		"ÄB@Example.com":                        "äb@example.com",
		"Team <a@b.c> <Other+Tag@FastMail.com>": "other@fastmail.com",
		"j@BÜCHER.Example.":                     "j@xn--bcher-kva.example",
		"j@xn--BCHER-kva.example":               "j@xn--bcher-kva.example",
		"j@b\u0075\u0308cher.example":           "j@xn--bcher-kva.example",
		"Jürgen@stra\u00dfe.example":            "jürgen@xn--strae-oqa.example",
		"j@bücher。example。":                     "j@xn--bcher-kva.example",
		"J.D+x@ｇｍａｉｌ.com":                       "jd@gmail.com",
		"j@xn--a.example":                       "j@xn--a.example", // not punycode
		"j@_x.bücher.example":                   "j@_x.bücher.example",
		"j@a\u00adb.example":                    "j@ab.example",
		"j@" + strings.Repeat("Ü", 513):         "j@" + strings.Repeat("ü", 513),
		"a@x" + strings.Repeat(" .", 1<<19):     "a@x", // in one go
	} {
		if got, err := AppendEmail([]byte("kept "), []byte(in)); string(got) != "kept "+want || err != nil {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
		if got, err := AppendEmail(nil, []byte(want)); string(got) != want || err != nil {
			t.Errorf("the canonical %q becomes %q, %v", want, got, err)
		}
	}
}

func TestNotEmail(t *testing.T) {
	for in, want := range map[string]string{
		"":                              `"" is not a mail address: it has no @`,
		" No Address ":                  `" No Address " is not a mail address: it has no @`,
		"id,email,subject":              `"id,email,subject" is not a mail address: it has no @`,
		"<>":                            "it has no @",
		"x>":                            "it has no @",
		"@gmail.com":                    "it has no user before the @",
		"...@gmail.com":                 "it has no user before the @",
		"jane@ . ":                      "it has no host after the @",
		"a@b@example.com":               "it has more than one @",
		"1,jane@example.com":            "it has a ',' outside quotes",
		"1+2,jane@gmail.com":            "it has a ',' outside quotes",
		"jane@example.com,hello":        "it has a ',' outside quotes",
		`"1","jane@example.com"`:        "it has a ',' outside quotes",
		`"jane@example.com"`:            "a quote does not end before the @",
		`{"mail":"jane@example.com"}`:   "a quote does not end before the @",
		`jane@"example.com"`:            "its host has a quote",
		`"a\"@example.com`:              "a quote does not end before the @",
		"jane@example.com;":             "it has a ';' outside quotes",
		"1\tjane@example.com":           "it has white space outside quotes",
		"jane\u00a0doe@example.com":     "it has white space outside quotes",
		"jane@example.com hello":        "it has white space outside quotes",
		"<jane@example.com> Jane":       "it has a '<' outside quotes",
		"jane@example.com <no address>": "it has no @",
	} {
		got, err := AppendEmail([]byte("kept"), []byte(in))
		if !errors.Is(err, ErrEmail) || !strings.HasSuffix(err.Error(), want) || string(got) != "kept" {
			t.Errorf("%q: %q, %v; want an error that ends with %q", in, got, err, want)
		}
	}
	for _, in := range []string{`"a b, <c>;"@host`, `"a\"@b"@host`, "x:y@host", "a@[::1]", "o'neil@host", "\xff@host", "a..b@-x_.y"} {
		if got, err := AppendEmail(nil, []byte(in)); string(got) != in || err != nil {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

// What is appended in place must neither reach before the start nor depend on
// what room there is.
func TestEmailInPlace(t *testing.T) {
	for room := range 40 {
		dst := append(make([]byte, 0, 5+room), "kept "...)
		if got, err := AppendEmail(dst, []byte("<A.B.C+tag@googlemail.com.>")); err != nil || string(got) != "kept abc@gmail.com" || string(dst) != "kept " {
			t.Errorf("%q, behind %q", got, dst)
		}
	}
}

func TestEmailConfig(t *testing.T) {
	for _, c := range []struct {
		config   EmailConfig
		in, want string
	}{
		{EmailConfig{KeepHost: true}, "J@BÜCHER.example.", "j@bücher.example"},
		{EmailConfig{KeepHost: true}, "J.D+x@gmail.com", "jd@gmail.com"},
		{EmailConfig{DropTags: true}, "J.D+x+y@Example.com", "j.d@example.com"},
		{EmailConfig{DropTags: true}, "J.D+x@gmail.com", "jd@gmail.com"},
		{EmailConfig{DropTags: true}, "+x@example.com", "+x@example.com"},
		{EmailConfig{DropTags: true}, "j+@example.com", "j@example.com"},
		{EmailConfig{DropTags: true}, `"a+b"@example.com`, `"a+b"@example.com`},
		{EmailConfig{DropTags: true}, "j+ü@Bücher.example", "j@xn--bcher-kva.example"},
		{EmailConfig{DropTags: true, KeepHost: true}, "j+x@BÜCHER.example", "j@bücher.example"},
	} {
		if got, err := c.config.Append(nil, []byte(c.in)); string(got) != c.want || err != nil {
			t.Errorf("%+v of %q: %q, %v; want %q", c.config, c.in, got, err, c.want)
		}
	}
}

// The host of an address is that of a URL, where a URL can have it.
func TestHostsOfEmailsAreThoseOfURLs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	letters := []rune("aZ0-.üßẞÜſİıΣςåΩ☃中。｡．ｇØ\u0308\u00ad\u200d\u0915\u094d٠א")
	same := 0
	for range 50_000 {
		host := make([]rune, 1+r.IntN(6))
		for i := range host {
			host[i] = letters[r.IntN(len(letters))]
		}
		url, err := URL("http://" + string(host) + "/")
		if err != nil {
			continue
		}
		want := strings.TrimRight(strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"), ".")
		if strings.Trim(want, "0123456789.") == "" {
			continue // a URL has an IP address there
		}
		got, err := AppendEmail(nil, []byte("a@"+string(host)))
		if string(got) != "a@"+want || err != nil {
			t.Fatalf("%q is %q in a URL, and %q, %v in an address", string(host), want, got, err)
		}
		same++
	}
	if same < 5_000 {
		t.Errorf("%d hosts of 50000 can be in a URL; the test says nothing", same)
	}
}

// What is not an address is an error, with white space around it, too. The canonical form
// of a canonical form is itself, and what is added around an address
// or to its case changes nothing.
func FuzzEmail(f *testing.F) {
	for _, seed := range []string{
		"Jane Doe <Jane+x@Example.com>", "J.a.n.e+news@GoogleMail.com.", "a@b..", "a@b .", "a <x@b>.", ". a@gmail.com", "a+b@gmail.com..",
		"J+x@BÜCHER.Example。", "a@ｇｍａｉｌ.com", "a@xn--a.é", "a@ẞ.<b@İ>.", "<<a@b>>", "< <>", `."a+b"@gmail.com`, "\u0130@\u212a", "a@b\xff.", "@", ".@gmail.com", "<a>.<b>.",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, address []byte) {
		for _, c := range []EmailConfig{{}, {KeepHost: true}, {DropTags: true}, {KeepHost: true, DropTags: true}} {
			once, err := c.Append(nil, address)
			around := append(append([]byte(" \t"), address...), '\n')
			got, errAround := c.Append(nil, around)
			if !bytes.Equal(got, once) || (errAround == nil) != (err == nil) {
				t.Errorf("%+v: %q becomes %q, %v, and with white space %q, %v", c, address, once, err, got, errAround)
			}
			if err != nil {
				if !errors.Is(err, ErrEmail) || len(once) > 0 {
					t.Errorf("%+v: %q becomes %q, %v", c, address, once, err)
				}
				continue
			}
			if twice, err := c.Append(nil, once); !bytes.Equal(once, twice) || err != nil {
				t.Errorf("%+v: %q becomes %q, and that %q, %v", c, address, once, twice, err)
			}
			before := []byte("kept")
			if got, err := c.Append(before[:4:4], address); err != nil || !bytes.Equal(got[:4], before) || !bytes.Equal(got[4:], once) {
				t.Errorf("%+v: %q behind %q becomes %q, %v", c, address, before, got, err)
			}
		}
	})
}
