package frame

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// The rules of a frame say what was done to its keys before they were hashed, as words with
// blanks between them, in ascending order: "email", or "lower trim". Package keys gives the
// words their meaning; the codec stores words that it does not know as well.
//
// Version 2 of the format has the words in the header. Readers of version 1 know a filter's
// tag as a number that is not theirs, so a filter whose words all have a bit in ruleWords
// stays in version 1 and has them there: those readers go on to read it.

const (
	// MaxRules is the length of the longest rules in bytes.
	MaxRules = 2048

	// tagField is the field of the header with the tag of a filter.
	tagField = 15
	// ruleMark is the upper part of a tag that has rules. Its name in ASCII is "rules".
	ruleMark = 0x72756c6573 << ruleBits
	ruleBits = 24
	// unnamed begins the word for a bit of a tag that this version has no word for.
	unnamed = "rule-"
)

// ruleWords has the word of each bit in a tag. Bit 0 is not used: the tags of "seen uniq"
// are odd. The numbers are part of the format.
var ruleWords = [ruleBits]string{
	1:  "trim",
	2:  "ignore-case",
	3:  "lower",
	4:  "email",
	5:  "hex",
	6:  "decimal",
	7:  "url",
	8:  "url-keep-host",
	9:  "url-keep-port",
	10: "url-keep-dots",
	11: "url-keep-escapes",
	12: "url-keep-fragment",
	13: "url-sort-query",
	14: "url-drop-tracking-1",
	15: "email-keep-host",
	16: "email-plus",
}

// CanonicalRules returns the words of rules in the order of the format, each once. The error
// says which word cannot be stored.
func CanonicalRules(rules string) (string, error) {
	words := strings.FieldsFunc(rules, func(r rune) bool { return r == ' ' })
	for _, w := range words {
		if i := strings.IndexFunc(w, func(r rune) bool { return r <= ' ' || r > '~' }); i >= 0 {
			return "", fmt.Errorf("the rule %q has a character at byte %d that is not printable ASCII", w, i)
		}
	}
	slices.Sort(words)
	text := strings.Join(slices.Compact(words), " ")
	if len(text) > MaxRules {
		return "", fmt.Errorf("the rules of keys have %d bytes, more than the %d that a file can hold", len(text), MaxRules)
	}
	return text, nil
}

// tagOfRules returns the tag for rules whose words all have a bit.
func tagOfRules(rules string) (tag uint64, ok bool) {
	tag = ruleMark
	for w := range strings.SplitSeq(rules, " ") {
		bit := slices.Index(ruleWords[:], w)
		if bit < 0 {
			bit = unnamedBit(w)
		}
		if bit <= 0 {
			return 0, false
		}
		tag |= 1 << bit
	}
	return tag, true
}

// unnamedBit returns the bit of a word for a bit without a name, or -1 for other words.
func unnamedBit(word string) int {
	digits, ok := strings.CutPrefix(word, unnamed)
	if !ok {
		return -1
	}
	bit, err := strconv.ParseUint(digits, 10, 8)
	if err != nil || bit < 1 || bit >= ruleBits || ruleWords[bit] != "" || strconv.FormatUint(bit, 10) != digits {
		return -1
	}
	return int(bit)
}

// rulesOfTag returns the rules in a tag, or "" for a number of another kind.
func rulesOfTag(tag uint64) string {
	mask := tag &^ ruleMark
	if tag&^(1<<ruleBits-1) != ruleMark || mask&1 != 0 {
		return ""
	}
	var words []string
	for ; mask != 0; mask &= mask - 1 {
		bit := bits.TrailingZeros64(mask)
		w := ruleWords[bit]
		if w == "" {
			w = unnamed + strconv.Itoa(bit)
		}
		words = append(words, w)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// hasTag reports whether frames of type t have a tag in version 1.
func (t Type) hasTag() bool { return !t.Sketch() && t != TypeStatic }

// version returns the version that h is written in, and the tag field.
func (h *Header) version() (version uint32, tag uint64) {
	tag = h.Fields[tagField]
	if h.Version == 2 || h.Type.hasTag() && rulesOfTag(tag) != "" { // a tag of version 2 is never rules
		return 2, tag
	}
	if h.Rules == "" {
		return 1, tag
	}
	if inTag, ok := tagOfRules(h.Rules); ok && tag == 0 && h.Type.hasTag() {
		return 1, inTag
	}
	return 2, tag
}

// rulesLength returns how many bytes of the encoded header the rules need after the parts.
func (h *Header) rulesLength() int {
	if v, _ := h.version(); v == 1 {
		return 0
	}
	return len(h.Rules)
}

// validateRules checks the rules of h.
func (h *Header) validateRules() *CorruptError {
	version, _ := h.version()
	canonical, err := CanonicalRules(h.Rules)
	switch {
	case err != nil:
		return corrupt(atRules, "%v", err)
	case canonical != h.Rules:
		return corrupt(atRules, "the rules of keys %q are not in order", h.Rules)
	}
	if version == 2 {
		for w := range strings.SplitSeq(h.Rules, " ") {
			if unnamedBit(w) > 0 {
				return corrupt(atRules, "the rule of keys %q has no name in this version", w)
			}
		}
	}
	return nil
}

// parseRules reads the rules of an encoded header of b, whose other fields h has.
func (h *Header) parseRules(b []byte) error {
	if h.Version == 1 {
		if h.Type.hasTag() {
			if h.Rules = rulesOfTag(h.Fields[tagField]); h.Rules != "" {
				h.Fields[tagField] = 0
			}
		}
		return nil
	}
	n := binary.LittleEndian.Uint32(b[atRules:])
	if n > MaxRules || headerLength(len(h.Parts), int(n)) != uint64(len(b)) {
		return corrupt(atRules, "rules of %d bytes do not belong to a header of %d bytes with %d parts", n, len(b), len(h.Parts))
	}
	at := partsOffset + partSize*len(h.Parts)
	h.Rules = string(b[at : at+int(n)])
	return nil
}
