package keys

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestLowerIsUnicodeLower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(rapid.String().Draw(t, "text"))
		if utf8.Valid(b) {
			if got, want := AppendLower(nil, b), bytes.ToLower(b); !bytes.Equal(got, want) {
				t.Fatalf("%q: %q, want %q", b, got, want)
			}
		}
	})
}

// AppendFold, HasUpper and ASCII look at eight bytes at a time; here at one.
func TestFoldIsBytewise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		kept := bytes.Clone(b)
		want, ascii := bytes.Clone(b), len(b)
		for i, c := range b {
			if 'A' <= c && c <= 'Z' {
				want[i] += 'a' - 'A'
			}
			if c >= 0x80 {
				ascii = min(ascii, i)
			}
		}
		if got := AppendFold([]byte("KEPT"), b); string(got) != "KEPT"+string(want) {
			t.Fatalf("%q: %q, want %q", b, got, want)
		}
		if got := HasUpper(b); got != !bytes.Equal(b, want) {
			t.Fatalf("%q has capitals: %v", b, got)
		}
		if got := ASCII(b); got != ascii {
			t.Fatalf("%q: %d bytes of ASCII, want %d", b, got, ascii)
		}
		AppendLower(nil, b)
		if !bytes.Equal(b, kept) {
			t.Fatalf("%q was changed to %q", kept, b)
		}
	})
}

// Bytes that are not UTF-8 are part of the key: they may not all become one.
func TestLowerKeepsInvalidBytesApart(t *testing.T) {
	for in, want := range map[string]string{"A\xfe": "a\xfe", "A\xff": "a\xff", "\xc3A\xc3\x84\xc3": "\xc3a\xc3\xa4\xc3", "ABCDEFGHIÇ\xffẞ": "abcdefghiç\xffß"} {
		if got := AppendLower(nil, []byte(in)); string(got) != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
