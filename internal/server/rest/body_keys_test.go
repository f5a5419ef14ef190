package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// readKeys reads all keys of a body.
func readKeys(contentType string, body io.Reader) (keys []string, err error) {
	r, err := newKeyReader(contentType, body)
	if err != nil {
		return nil, err
	}
	for {
		key, err := r.next()
		if err == io.EOF {
			return keys, nil
		}
		if err != nil {
			return nil, err
		}
		keys = append(keys, string(key))
	}
}

func TestBodies(t *testing.T) {
	long := strings.Repeat("x", maxKeyBytes)
	const isJSON, isText = "application/json", "text/plain; charset=utf-8"
	for _, c := range []struct {
		kind, body string
		want       []string
		wrong      string // part of the error
	}{
		{isText, "", nil, ""},
		{isText, "a\nb\r\n\nc", []string{"a", "b", "c"}, ""},
		{isText, "\xff\xfe\n\x00\n", []string{"\xff\xfe", "\x00"}, ""},
		{isText, long + "\r\n", []string{long}, ""},
		{isText, "a\n" + long + "x\n", nil, "line 2 is longer than"},
		{isText, long + long, nil, "line 1 is longer than"},
		{isJSON, `[]`, nil, ""},
		{isJSON, ` ["a", "\u00e4\n", "\ud83d\ude00", "\\ud800"] `, []string{"a", "ä\n", "😀", `\ud800`}, ""},
		{isJSON, `["` + long + `"]`, []string{long}, ""},
		{isJSON, `["` + long + `x"]`, nil, "string 0 of the array: it is longer than"},
		{isJSON, `["a", 1]`, nil, "string 1 of the array: 1 is not a string"},
		{isJSON, `["a", null]`, nil, "null is not a string"},
		{isJSON, `["a" "b"]`, nil, "at byte"},
		{isJSON, `["a"`, nil, "the JSON is incomplete"},
		{isJSON, ``, nil, "the JSON is incomplete"},
		{isJSON, `"a"`, nil, "not an array of strings"},
		{isJSON, `1e999`, nil, "not an array of strings"},
		{isJSON, `{"a": 1}`, nil, "not an array of strings"},
		{isJSON, `["a"] ["b"]`, nil, "data after the array"},
		{isJSON, `["a"] x`, nil, "at byte"},
		{isJSON, "[\"\xff\"]", nil, "not UTF-8"},
		{isJSON, `["\ud800"]`, nil, `\ud800 is half`},
		{isJSON, `["\ud800\u0041"]`, nil, `\ud800 is half`},
		{isJSON, `["x\uDC00"]`, nil, `\uDC00 is half`},
		{"", "a", nil, "send application/json"},
		{"application/x-www-form-urlencoded", "a", nil, "send application/json"},
	} {
		for name, body := range map[string]io.Reader{
			"whole": strings.NewReader(c.body), "by bytes": iotest.OneByteReader(strings.NewReader(c.body)),
		} {
			if name == "by bytes" && len(c.body) > 1000 {
				continue
			}
			got, err := readKeys(c.kind, body)
			switch {
			case c.wrong == "" && err != nil:
				t.Errorf("%s %.60q, %s: %v", c.kind, c.body, name, err)
			case c.wrong != "" && (err == nil || !errors.Is(err, errBody) || !strings.Contains(err.Error(), c.wrong)):
				t.Errorf("%s %.60q, %s: error %v, want %q", c.kind, c.body, name, err, c.wrong)
			case fmt.Sprint(got) != fmt.Sprint(c.want):
				t.Errorf("%s %.60q, %s: %.100q, want %.100q", c.kind, c.body, name, got, c.want)
			}
		}
	}
}

// A failure of the connection is not a mistake in the body.
func TestBodyFailure(t *testing.T) {
	broken := errors.New("broken")
	for _, kind := range []string{"application/json", "text/plain"} {
		for _, begin := range []string{"", `["a"`} {
			_, err := readKeys(kind, io.MultiReader(strings.NewReader(begin), iotest.ErrReader(broken)))
			if !errors.Is(err, broken) || errors.Is(err, errBody) {
				t.Errorf("%s after %q: %v", kind, begin, err)
			}
		}
	}
}

func FuzzBody(f *testing.F) {
	for _, seed := range []string{``, `[]`, `["a","b"]`, "a\nb\r\n", `["\ud800\udc00"]`, `["\ud800"]`, "[\"\xff\"]", `[1]`, `[["a"]]`, `["a"]]`, `1e999`} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, isJSON bool) {
		kind := "text/plain"
		if isJSON {
			kind = "application/json"
		}
		keys, err := readKeys(kind, bytes.NewReader(body))
		if err != nil {
			if len(keys) > 0 || !errors.Is(err, errBody) {
				t.Fatalf("%d keys and the error %v", len(keys), err)
			}
			return
		}
		total := 0
		for _, key := range keys {
			total += len(key)
		}
		if total > len(body) {
			t.Fatalf("%d bytes of keys from a body of %d", total, len(body))
		}
		if !isJSON {
			return
		}
		// What is taken is what the standard library takes, except for what it would
		// have to replace.
		var want []string
		if err := json.Unmarshal(body, &want); err != nil || !utf8.Valid(body) {
			t.Fatalf("%q is taken as JSON: %v", body, err)
		}
		if fmt.Sprintf("%q", want) != fmt.Sprintf("%q", keys) {
			t.Fatalf("%q instead of %q", keys, want)
		}
	})
}
