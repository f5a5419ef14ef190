package keyspec

import (
	"strings"
	"testing"
)

func TestEncoding(t *testing.T) {
	for _, c := range []struct {
		o            Options
		record, want string
	}{
		{Options{Encoding: Hex}, "00ffAb", "\x00\xff\xab"},
		{Options{Encoding: Hex}, "", ""},
		{Options{Encoding: Hex, Trim: true}, " 61 ", "a"},
		{Options{Encoding: Decimal}, "258", "\x02\x01\x00\x00\x00\x00\x00\x00"},
		{Options{Encoding: Decimal}, "-1", "\xff\xff\xff\xff\xff\xff\xff\xff"},
		{Options{Encoding: Decimal}, "-9223372036854775808", "\x00\x00\x00\x00\x00\x00\x00\x80"},
		{Options{Encoding: Decimal, Keys: []string{"2,2"}, Separator: ","}, "x,1,y", "\x01\x00\x00\x00\x00\x00\x00\x00"},
		{Options{Encoding: Hex, Keys: []string{"1,1", "2,2"}, Separator: ","}, "61,6263", "\x01a\x02bc"},
		{Options{Encoding: Decimal, Missing: MissingEmpty}, "x", ""},
		{Options{Encoding: Decimal, Missing: MissingEmpty, Keys: []string{"2"}, Separator: ","}, "x", ""},
	} {
		if got, err := keyOf(t, c.o, c.record); err != nil || got != c.want {
			t.Errorf("%+v: %q becomes %q, %v; want %q", c.o, c.record, got, err, c.want)
		}
	}
	for record, e := range map[string]Encoding{
		"6": Hex, "6g": Hex, "é": Hex, "": Decimal, "1.0": Decimal, "0x1": Decimal, "9223372036854775808": Decimal, " 1": Decimal,
		strings.Repeat("no", 100): Hex,
	} {
		if got, err := keyOf(t, Options{Encoding: e}, record); err == nil || got != "" || len(err.Error()) > 200 {
			t.Errorf("%q becomes %q, %v", record, got, err)
		}
	}
	if k, err := Compile(Options{Encoding: 3}); k != nil || err == nil {
		t.Error(k, err)
	}
}
