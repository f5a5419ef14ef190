package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCanonicalRules(t *testing.T) {
	for _, c := range []struct{ rules, want, refused string }{
		{rules: ""},
		{rules: "  "},
		{rules: "trim lower  lower", want: "lower trim"},
		{rules: "url-drop=%C3%A9 email", want: "email url-drop=%C3%A9"},
		{rules: "é", refused: `the rule "é" has a character at byte 0 that is not printable ASCII`},
		{rules: "lower a\tb", refused: `the rule "a\tb" has a character at byte 1 that is not printable ASCII`},
		{rules: strings.Repeat("x", MaxRules), want: strings.Repeat("x", MaxRules)},
		{rules: strings.Repeat("x", MaxRules+1), refused: "the rules of keys have 2049 bytes, more than the 2048 that a file can hold"},
	} {
		got, err := CanonicalRules(c.rules)
		if got != c.want || err == nil && c.refused != "" || err != nil && err.Error() != c.refused {
			t.Errorf("%.40q: %.40q, %v; want %.40q, %s", c.rules, got, err, c.want, c.refused)
		}
	}
}

// Every tag that has rules is that of its rules, and tags of other programs have none.
func TestRulesInTags(t *testing.T) {
	for bit := 1; bit < ruleBits; bit++ {
		for _, mask := range []uint64{1 << bit, 1<<bit | 1<<1, 1<<ruleBits - 2} {
			rules := rulesOfTag(ruleMark | mask)
			if tag, ok := tagOfRules(rules); !ok || tag != ruleMark|mask {
				t.Errorf("mask %#x: %q, which is %#x, %t", mask, rules, tag, ok)
			}
			if canonical, err := CanonicalRules(rules); err != nil || canonical != rules {
				t.Errorf("mask %#x: %q is not canonical: %q, %v", mask, rules, canonical, err)
			}
		}
	}
	for _, tag := range []uint64{0, 1, 77, ruleMark, ruleMark | 3, 1 << 4, ^uint64(0), ruleMark<<1 | 2} {
		if rules := rulesOfTag(tag); rules != "" {
			t.Errorf("tag %#x has the rules %q", tag, rules)
		}
	}
	for _, word := range []string{"rule-0", "rule-1", "rule-24", "rule-020", "rule-+20", "rule-", "url-drop=x"} {
		if tag, ok := tagOfRules(word); ok {
			t.Errorf("%s is in the tag %#x", word, tag)
		}
	}
	if got := fmt.Sprintf("%x", binary.BigEndian.AppendUint64(nil, ruleMark)); got != "72756c6573000000" {
		t.Errorf("the mark is %s", got)
	}
}

// TestRulesVersion: a frame is of version 1 where readers of that version can skip the
// rules, and of version 2 otherwise.
func TestRulesVersion(t *testing.T) {
	for _, c := range []struct {
		name    string
		h       Header
		version uint32
	}{
		{"none", Header{Type: TypeAdaptive}, 1},
		{"words with bits", Header{Type: TypeAdaptive, Rules: "email"}, 1},
		{"a bit of a later version", Header{Type: TypeAdaptive, Rules: "email rule-23"}, 1},
		{"a tag too", Header{Type: TypeAdaptive, Rules: "email", Fields: [16]uint64{tagField: 77}}, 2},
		{"a tag like rules", Header{Type: TypeAdaptive, Fields: [16]uint64{tagField: ruleMark | 16}}, 2},
		{"a name", Header{Type: TypeAdaptive, Rules: "url url-drop=ref"}, 2},
		{"static", Header{Type: TypeStatic, Rules: "email"}, 2},
		{"a sketch", Header{Type: TypeHyperLogLog, Rules: "email"}, 2},
		{"long", Header{Type: TypeAdaptive, Rules: strings.Repeat("x", MaxRules)}, 2},
	} {
		b := mustAppend(t, &c.h, nil)
		if v := binary.LittleEndian.Uint32(b[atVersion:]); v != c.version {
			t.Errorf("%s: version %d, want %d", c.name, v, c.version)
		}
		if c.version == 1 { // a reader of that version sees a tag, and nothing else
			plain := c.h
			plain.Rules = ""
			without := mustAppend(t, &plain, nil)
			tagless := reseal(b, func(b []byte) { clear(b[atFields+8*tagField:][:8]) })
			if !bytes.Equal(tagless, without) {
				t.Errorf("%s: the rules change more than the tag", c.name)
			}
		}
		for name, open := range sources {
			h, _, err := open(b)
			if err != nil || h.Rules != c.h.Rules || h.Fields != c.h.Fields || h.Version != c.version {
				t.Errorf("%s of %s: %+v, %v", name, c.name, h, err)
			}
		}
	}
}

// TestDamagedRules: rules that no writer writes are damage, whatever their checksum says.
func TestDamagedRules(t *testing.T) {
	b := mustAppend(t, &Header{Type: TypeStatic, Rules: "lower url-drop=ref"}, nil)
	const at = partsOffset
	for name, change := range map[string]func(b []byte){
		"longer than the page":    func(b []byte) { binary.LittleEndian.PutUint32(b[atRules:], 3600) },
		"as long as memory":       func(b []byte) { binary.LittleEndian.PutUint32(b[atRules:], 1<<32-1) },
		"cut":                     func(b []byte) { b[atRules]-- },
		"more than there are":     func(b []byte) { b[atRules]++ },
		"not in order":            func(b []byte) { copy(b[at:], "zzzzz") },
		"twice":                   func(b []byte) { copy(b[at:], "lower lower      ") },
		"two blanks":              func(b []byte) { copy(b[at:], "low  ") },
		"a line end":              func(b []byte) { b[at+2] = '\n' },
		"not text":                func(b []byte) { b[at+2] = 0xc3 },
		"a bit without a name":    func(b []byte) { copy(b[at:], "a-bbb rule-20     "); binary.LittleEndian.PutUint32(b[atRules:], 13) },
		"rules in version 1":      func(b []byte) { b[atVersion] = 1 },
		"version 2 in a reserved": func(b []byte) { b[atRules+4] = 1 },
	} {
		var damage *CorruptError
		for source, open := range sources {
			if h, _, err := open(reseal(b, change)); !errors.As(err, &damage) {
				t.Errorf("%s, %s: %+v, %v", name, source, h, err)
			}
		}
	}
}
