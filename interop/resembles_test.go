package interop

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"seen/internal/filtertest"
)

// lists are lists of keys that begin or look as filters do.
func lists() map[string]string {
	all := map[string]string{
		"nothing": "", "blank": "\n\n", "words": "apple\npear\n", "one word": "apple", "one letter": "{", "brackets": "{\n}\n[\n]\n", "quote": `"`,
		"URLs":      "https://example.org/a?b=c\nhttps://example.org/d\n",
		"log":       "[2026-01-02 10:00] started\n[error] failed\n",
		"CSV":       "\"id\",\"name\"\n\"1\",\"x\"\n",
		"strings":   "\"a\"\n\"b\"\n",
		"events":    `{"type":"click","m":3,"k":7,"b":"left"}` + "\n" + `{"type":"click","m":4,"k":7,"b":"right"}` + "\n",
		"filters":   `{"type":"BloomFilter","id":4}` + "\n" + `{"type":"TopK","id":5}` + "\n",
		"hashes":    `{"id":"` + strings.Repeat("ab", 32) + `","body":"` + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("text "), 80)) + `"}` + "\n{}\n",
		"one event": `{"type":"click","at":12,"to":{"m":1,"k":"x","b":"y"}}`,
		"cut event": `{"type":"click","at":12,"to":{"m":1,"k":"x","b":"y"`,
		"cut last":  `{"a":1}` + "\n" + `{"m":12`,
		"numbers":   "1\n2\n3\n", "one number": "12", "list": "[1,2,3]\n[4]\n", "null": "null\ntrue\n",
		"no JSON": "{key}\n{other}\n", "code": "{ return x; }\n", "template": "{{ .Name }}\n",
		"names of formats": "PAR1\nREDIS0011\nBZh9\n", "UUIDs": "6ba7b810-9dad-11d1-80b4-00c04fd430c8\n6ba7b811-9dad-11d1-80b4-00c04fd430c8\n",
		"four letters": "able\nacid\naged\nalso\n", "JWT": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U\n",
		"marked": "\ufeffapple\npear\n", "languages": "größe\nпример\n例\n", "Latin-1": "gr\xf6\xdfe\n\xe9t\xe9\n",
		"keys of RSA":     strings.Repeat("0123456789abcdef", 32) + "\n" + strings.Repeat("fedcba9876543210", 32) + "\n",
		"packed payloads": "H4sIAAAAAAAAA0vKBABQrw1PAgAAAA\nH4sIAAAAAAAAA0vKBABQrw1PAgAAAA\n",
	}
	sums := map[string]func(b []byte) []byte{
		"MD5":     func(b []byte) []byte { s := md5.Sum(b); return s[:] },
		"SHA-1":   func(b []byte) []byte { s := sha1.Sum(b); return s[:] },
		"SHA-256": func(b []byte) []byte { s := sha256.Sum256(b); return s[:] },
		"SHA-384": func(b []byte) []byte { s := sha512.Sum384(b); return s[:] },
		"SHA-512": func(b []byte) []byte { s := sha512.Sum512(b); return s[:] },
	}
	for name, sum := range sums {
		for form, encode := range map[string]func([]byte) string{
			"hex": hex.EncodeToString, "HEX": func(b []byte) string { return strings.ToUpper(hex.EncodeToString(b)) },
			"base64": base64.StdEncoding.EncodeToString, "unpadded": base64.RawURLEncoding.EncodeToString,
		} {
			for _, n := range []int{1, 2, 500} {
				for _, end := range []string{"\n", "\r\n"} {
					var list strings.Builder
					for i := range n {
						list.WriteString(encode(sum(fmt.Append(nil, i))) + end)
					}
					all[fmt.Sprint(n, " ", name, " ", form, " ", len(end))] = list.String()
				}
			}
		}
	}
	return all
}

// TestTextsStayTexts: no list of keys is mistaken for a filter, or for a part of one.
func TestTextsStayTexts(t *testing.T) {
	for name, text := range lists() {
		if err := Resembles([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if all := Detect([]byte(text)); len(all) > 0 && all[0].Confidence > Possible {
			t.Errorf("%s: taken for %v", name, all)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 64).Draw(t, "bytes of a key")
		encode := rapid.SampledFrom([]func([]byte) string{hex.EncodeToString, base64.StdEncoding.EncodeToString, base64.RawURLEncoding.EncodeToString}).Draw(t, "form")
		if n := len(encode(make([]byte, width))); n == base64Columns || n == hexColumns {
			t.Skip("these are taken for broken lines")
		}
		var list strings.Builder
		for range rapid.IntRange(1, 50).Draw(t, "keys") {
			list.WriteString(encode(rapid.SliceOfN(rapid.Byte(), width, width).Draw(t, "key")) + "\n")
		}
		if err := Resembles([]byte(list.String())); err != nil {
			t.Fatalf("%q: %v", list.String(), err)
		}
	})
}

// TestResembles says of what looks like a filter what it is and what to do.
func TestResembles(t *testing.T) {
	json := string(written(t, must(Create(Spec{Name: "bits-and-blooms"}.with("form", "json"), 100, 0.01))))
	npm := string(written(t, must(Create(Spec{Name: "npm-bloom-filters"}, 100, 0.01))))
	digits := string(written(t, must(Create(Spec{Name: "pyprobables"}.with("form", "hex"), 100, 0.01))))
	for _, c := range []struct{ name, text, want string }{
		{"cut", json[:len(json)-3], "ends early"},
		{"cut in a key", json[:4], "begins as the JSON"},
		{"followed", json + "\n" + json, "bytes follow the JSON"},
		{"in a list", "[" + json + "]", "inside another value"},
		{"in an object", `{"a":{"b":[` + json + `]}}`, "inside another value"},
		{"in a string", fmt.Sprintf("%q", npm), "string of JSON"},
		{"in a string of an object", fmt.Sprintf(`{"a":%q}`, npm), "string of JSON"},
		{"marked", "\ufeff" + json, "byte order mark"},
		{"marked digits", "\ufeff" + digits, "byte order mark"},
		{"digits followed", digits + "\nx\n", "bytes follow a filter"},
		{"digits cut", digits[:200], "one line of 200 digits"},
		{"base64", base64.StdEncoding.EncodeToString([]byte(npm)), "base64 -d"},
		{"RDB", "REDIS0011", "RDB"},
		{"one number that is too long", strings.Repeat("7", 129), "one line of 129"},
	} {
		err := Resembles([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for _, text := range []string{json, npm, digits, `{"type":"CuckooFilter","_size":3,"_seed":1}`, `{"m":1,"k":2,"b":"x"}`} {
		if all := Detect([]byte(text)); len(all) != 1 || all[0].Confidence < Likely {
			t.Errorf("%.60s: %v", text, all)
		}
	}
}

// FuzzResembles looks at anything, with no more memory than a few times its length.
func FuzzResembles(f *testing.F) {
	for _, text := range lists() {
		if len(text) < 2000 {
			f.Add([]byte(text))
		}
	}
	for _, format := range []Spec{{Name: "npm-bloom-filters"}, {Name: "npm-bloomfilter"}, Spec{Name: "bits-and-blooms"}.with("form", "json"), Spec{Name: "pyprobables"}.with("form", "hex")} {
		b := written(f, must(Create(format, 20, 0.1)))
		f.Add(b)
		f.Add(b[:len(b)/2])
		f.Add(fmt.Appendf(nil, "[%q,", b))
		f.Add([]byte(base64.StdEncoding.EncodeToString(b)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := filtertest.HeapAllocs()
		err := Resembles(b)
		if n := filtertest.HeapAllocs() - before; n > 1<<20+200*uint64(len(b)) {
			t.Fatalf("%d bytes allocated for %d", n, len(b))
		}
		if err != nil && !strings.HasPrefix(err.Error(), "it looks like a filter") {
			t.Fatal(err)
		}
		NeedsRest(b)
	})
}
