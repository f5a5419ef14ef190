package keys

import "testing"

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
