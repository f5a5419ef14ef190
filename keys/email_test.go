package keys

import (
	"bytes"
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
		"@gmail.com":                            "@gmail.com",
		" No Address ":                          "no address",
		"a@b@Example.com":                       "a@b@example.com",
		"ÄB@Example.com":                        "äb@example.com",
		"":                                      "",
		">":                                     ">",
		"<>":                                    "",
		"x>":                                    "x>",
		"Team <a@b.c> <Other+Tag@FastMail.com>": "other@fastmail.com",
		"a@x" + strings.Repeat(" .", 1<<19):     "a@x", // in one go
	} {
		if got := AppendEmail([]byte("kept "), []byte(in)); string(got) != "kept "+want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if got := AppendEmail(nil, []byte(want)); string(got) != want {
			t.Errorf("the canonical %q becomes %q", want, got)
		}
	}
}

// What is appended in place must neither reach before the start nor depend on
// what room there is.
func TestEmailInPlace(t *testing.T) {
	for room := range 40 {
		dst := append(make([]byte, 0, 5+room), "kept "...)
		if got := AppendEmail(dst, []byte("<A.B.C+tag@googlemail.com.>")); string(got) != "kept abc@gmail.com" || string(dst) != "kept " {
			t.Errorf("%q, behind %q", got, dst)
		}
	}
}

// The canonical form of a canonical form is itself, and what is added around an address
// or to its case changes nothing.
func FuzzEmail(f *testing.F) {
	for _, seed := range []string{
		"Jane Doe <Jane+x@Example.com>", "J.a.n.e+news@GoogleMail.com.", "a@b..", "a@b .", "a <x@b>.", ". a@gmail.com", "a+b@gmail.com..",
		"<<a@b>>", "< <>", `."a+b"@gmail.com`, "\u0130@\u212a", "a@b\xff.", "@", ".@gmail.com", "<a>.<b>.",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, address []byte) {
		once := AppendEmail(nil, address)
		if twice := AppendEmail(nil, once); !bytes.Equal(once, twice) {
			t.Errorf("%q becomes %q, and that %q", address, once, twice)
		}
		around := append(append([]byte(" \t"), address...), '\n')
		if got := AppendEmail(nil, around); !bytes.Equal(got, once) {
			t.Errorf("%q becomes %q, and with white space %q", address, once, got)
		}
		before := []byte("kept")
		if got := AppendEmail(before[:4:4], address); !bytes.Equal(got[:4], before) || !bytes.Equal(got[4:], once) {
			t.Errorf("%q behind %q becomes %q", address, before, got)
		}
	})
}
