package keyspec

import (
	"strings"
	"testing"

	"seen/keys"
)

func TestEncoding(t *testing.T) {
	for _, c := range []struct {
		o            Options
		record, want string
	}{
		{Options{Encoding: keys.Hex}, "00ffAb", "\x00\xff\xab"},
		{Options{Encoding: keys.Hex}, "", ""},
		{Options{Encoding: keys.Hex, Trim: true}, " 61 ", "a"},
		{Options{Encoding: keys.Decimal}, "258", "\x02\x01\x00\x00\x00\x00\x00\x00"},
		{Options{Encoding: keys.Decimal}, "-1", "\xff\xff\xff\xff\xff\xff\xff\xff"},
		{Options{Encoding: keys.Decimal}, "-9223372036854775808", "\x00\x00\x00\x00\x00\x00\x00\x80"},
		{Options{Encoding: keys.Decimal, Keys: []string{"2,2"}, Separator: ","}, "x,1,y", "\x01\x00\x00\x00\x00\x00\x00\x00"},
		{Options{Encoding: keys.Hex, Keys: []string{"1,1", "2,2"}, Separator: ","}, "61,6263", "\x01a\x02bc"},
		{Options{Encoding: keys.Decimal, Missing: MissingEmpty}, "x", ""},
		{Options{Encoding: keys.Decimal, Missing: MissingEmpty, Keys: []string{"2"}, Separator: ","}, "x", ""},
	} {
		if got, err := keyOf(t, c.o, c.record); err != nil || got != c.want {
			t.Errorf("%+v: %q becomes %q, %v; want %q", c.o, c.record, got, err, c.want)
		}
	}
	for record, e := range map[string]keys.Encoding{
		"6": keys.Hex, "6g": keys.Hex, "é": keys.Hex, "": keys.Decimal, "1.0": keys.Decimal, "0x1": keys.Decimal, "9223372036854775808": keys.Decimal, " 1": keys.Decimal,
		strings.Repeat("no", 100): keys.Hex,
	} {
		if got, err := keyOf(t, Options{Encoding: e}, record); err == nil || got != "" || len(err.Error()) > 200 {
			t.Errorf("%q becomes %q, %v", record, got, err)
		}
	}
	if k, err := Compile(Options{Encoding: "base64"}); k != nil || err == nil {
		t.Error(k, err)
	}
}
