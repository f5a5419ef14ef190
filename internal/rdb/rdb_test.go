package rdb

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"
)

// TestFile writes a file with a string and a value of a module, and reads both back.
func TestFile(t *testing.T) {
	module := AppendLength(nil, ModuleID("MBbloom--", 4))
	module = AppendNumber(module, math.MaxUint32)
	module = AppendDouble(module, 0.5)
	module = append(AppendTextHead(module, 3), "abc"...)
	module = AppendEnd(module)
	var b bytes.Buffer
	n, err := WriteFile(&b, 3, []Value{
		{Kind: KindString, Key: "s", Parts: [][]byte{AppendLength(nil, 100), bytes.Repeat([]byte{'x'}, 100)}},
		{Kind: KindModule, Key: "m", Parts: [][]byte{module}},
	})
	if err != nil || n != int64(b.Len()) || !IsFile(b.Bytes()) || FileVersion(b.Bytes()) != "0009" {
		t.Fatalf("%d of %d bytes, %v", n, b.Len(), err)
	}
	var got []string
	err = Walk(b.Bytes(), func(r *Reader, kind byte, db uint64) error {
		key, err := r.Text().Bytes()
		if err != nil {
			return err
		}
		if kind == KindString {
			text, err := r.Text().Bytes()
			got = append(got, fmt.Sprintf("%d %s %d", db, key, len(text)))
			return err
		}
		if !r.IsModule("MBbloom--") || r.IsModule("bloomfltr") {
			t.Error("the module is not recognised")
		}
		r.Length()
		number, double := r.Number32(), r.Double()
		text, err := r.ModuleText().Bytes()
		r.End()
		got = append(got, fmt.Sprintf("%d %s %d %v %s", db, key, number, double, text))
		return err
	})
	if want := "[3 s 100 3 m 4294967295 0.5 abc]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v; want %s", got, err, want)
	}
	if err := Verify(b.Bytes()); err != nil {
		t.Error(err)
	}
	b.Bytes()[20] ^= 1
	if err := Verify(b.Bytes()); !errors.Is(err, ErrBadData) {
		t.Errorf("a changed byte: %v", err)
	}
}

// TestText reads the forms of a string: plain, a number, and compressed.
func TestText(t *testing.T) {
	for b, want := range map[string]string{
		"\x03abc":                               "abc",
		"\xc0\xff":                              "-1",
		"\xc1\x00\x80":                          "-32768",
		"\xc2\x00\x00\x00\x80":                  "-2147483648",
		"\xc3\x05\x0a\x01ab\xe0\x01":            "", // a copy of 9 bytes or more, whose distance is missing
		"\xc3\x05\x07\x01ab\x60\x01":            "abababa",
		"\xc3\x02\x02\x01a":                     "", // two literal bytes, of which one is there
		"\x80\x00\x00\x00\x02xy":                "xy",
		"\x81\x00\x00\x00\x00\x00\x00\x00\x01z": "z",
		"\x82":                                  "",
		"\xc4":                                  "",
		"\x05abc":                               "",
	} {
		r := NewReader([]byte(b))
		text, err := r.Text().Bytes()
		if err == nil {
			err = r.Err()
		}
		if want == "" && !errors.Is(err, ErrBadData) || want != "" && (err != nil || string(text) != want || len(r.Rest()) != 0) {
			t.Errorf("%q: %q, %v; want %q", b, text, err, want)
		}
	}
}
