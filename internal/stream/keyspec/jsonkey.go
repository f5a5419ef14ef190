package keyspec

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// key returns the key that the valid value d[start:end] stands for.
func (d jsonText) key(start, end int, s *Scratch) []byte {
	raw := d[start:end]
	switch raw[0] {
	case '"':
		inside := raw[1 : len(raw)-1]
		if bytes.IndexByte(inside, '\\') < 0 {
			return inside
		}
		s.value = unescape(s.value[:0], inside)
	case '{', '[':
		s.value, _ = d.appendCanonical(s.value[:0], start, s)
	case 't', 'f', 'n':
		return raw
	default:
		if plainInteger(raw) {
			return raw
		}
		s.value = appendNumber(s.value[:0], raw)
	}
	return s.value
}

// member is a member of an object that was appended to a buffer: its name with
// quotes, a colon, its value.
type member struct{ start, nameEnd, end int }

// appendCanonical appends the canonical text of the valid value at i and
// returns the position behind the value.
func (d jsonText) appendCanonical(dst []byte, i int, s *Scratch) ([]byte, int) {
	switch d[i] {
	case '{':
		return d.appendObject(dst, i, s)
	case '[':
		dst = append(dst, '[')
		i = d.space(i + 1)
		for d[i] != ']' {
			if d[i] == ',' {
				dst = append(dst, ',')
				i = d.space(i + 1)
			}
			dst, i = d.appendCanonical(dst, i, s)
			i = d.space(i)
		}
		return append(dst, ']'), i + 1
	case '"':
		end, _ := d.str(i)
		return appendString(dst, d[i+1:end-1]), end
	case 't', 'n':
		return append(dst, d[i:i+4]...), i + 4
	case 'f':
		return append(dst, d[i:i+5]...), i + 5
	}
	end := d.number(i)
	return appendNumber(dst, d[i:end]), end
}

func (d jsonText) appendObject(dst []byte, i int, s *Scratch) ([]byte, int) {
	base := len(s.members)
	start := len(dst)
	i = d.space(i + 1)
	for d[i] != '}' {
		if d[i] == ',' {
			i = d.space(i + 1)
		}
		m := member{start: len(dst)}
		end, _ := d.str(i)
		dst = appendString(dst, d[i+1:end-1])
		m.nameEnd = len(dst)
		dst = append(dst, ':')
		i = d.space(d.space(end) + 1)
		dst, i = d.appendCanonical(dst, i, s)
		m.end = len(dst)
		s.members = append(s.members, m)
		i = d.space(i)
	}
	members := s.members[base:]
	name := func(m member) []byte { return dst[m.start:m.nameEnd] }
	slices.SortStableFunc(members, func(a, b member) int { return bytes.Compare(name(a), name(b)) })
	ordered := make([]byte, 0, len(dst)-start+len(members)+2)
	ordered = append(ordered, '{')
	for k, m := range members {
		if k+1 < len(members) && bytes.Equal(name(m), name(members[k+1])) {
			continue // the last one of a name counts
		}
		if len(ordered) > 1 {
			ordered = append(ordered, ',')
		}
		ordered = append(ordered, dst[m.start:m.end]...)
	}
	s.members = s.members[:base]
	return append(append(dst[:start], ordered...), '}'), i + 1
}

// appendString appends the inside of a JSON string as a JSON string with as few
// escapes as there can be.
func appendString(dst, inside []byte) []byte {
	dst = append(dst, '"')
	if bytes.IndexByte(inside, '\\') < 0 {
		return append(append(dst, inside...), '"')
	}
	for _, c := range unescape(nil, inside) {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			const hex = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// unescape appends the text that the valid inside of a JSON string means. Half of a
// surrogate pair, which is not a character, is encoded like one (as in WTF-8), so that
// different strings stay different.
func unescape(dst, inside []byte) []byte {
	for {
		i := bytes.IndexByte(inside, '\\')
		if i < 0 {
			return append(dst, inside...)
		}
		dst = append(dst, inside[:i]...)
		c := inside[i+1]
		inside = inside[i+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := hexRune(inside)
			inside = inside[4:]
			if utf16.IsSurrogate(r) && len(inside) >= 6 && inside[0] == '\\' && inside[1] == 'u' {
				if pair := utf16.DecodeRune(r, hexRune(inside[2:])); pair != utf8.RuneError {
					r = pair
					inside = inside[6:]
				}
			}
			if utf16.IsSurrogate(r) {
				dst = append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
			} else {
				dst = utf8.AppendRune(dst, r)
			}
			continue
		}
		dst = append(dst, c)
	}
}

// hexRune returns the value of four hexadecimal digits.
func hexRune(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		r = r<<4 | rune(hexValue(c))
	}
	return r
}

// maxDigits is the length up to which numbers are written without exponent.
const maxDigits = 21

// plainInteger reports whether the JSON number b is its own canonical form.
func plainInteger(b []byte) bool {
	if len(b) > maxDigits || b[0] == '-' && b[1] == '0' {
		return false
	}
	for _, c := range b {
		if c == '.' || c|0x20 == 'e' {
			return false
		}
	}
	return true
}

// appendNumber appends the canonical form of the JSON number b, which is equal
// for equal numbers whatever their size: an integer or a decimal fraction
// without superfluous zeros while that takes at most maxDigits digits, else the
// digits, an e and the power of ten of the last digit. Exponents beyond 10^15
// are kept as they are written.
func appendNumber(dst, b []byte) []byte {
	if plainInteger(b) {
		return append(dst, b...)
	}
	mantissa, exponent := b, int64(0)
	if i := bytes.IndexAny(b, "eE"); i >= 0 {
		mantissa = b[:i]
		text := bytes.TrimLeft(b[i+1:], "+")
		v, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil || v > 1e15 || v < -1e15 {
			return append(dst, b...)
		}
		exponent = v
	}
	negative := mantissa[0] == '-'
	if negative {
		mantissa = mantissa[1:]
	}
	digits := make([]byte, 0, len(mantissa))
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	digits = append(append(digits, whole...), fraction...)
	exponent -= int64(len(fraction))
	digits = bytes.TrimLeft(digits, "0")
	trimmed := bytes.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(trimmed))
	digits = trimmed
	if len(digits) == 0 {
		return append(dst, '0')
	}
	if negative {
		dst = append(dst, '-')
	}
	point := int64(len(digits)) + exponent // digits before the point
	switch {
	case exponent >= 0 && point <= maxDigits:
		dst = append(dst, digits...)
		return append(dst, bytes.Repeat([]byte{'0'}, int(exponent))...)
	case exponent < 0 && point > 0 && len(digits) <= maxDigits:
		dst = append(dst, digits[:point]...)
		dst = append(dst, '.')
		return append(dst, digits[point:]...)
	case exponent < 0 && point <= 0 && -exponent <= maxDigits:
		dst = append(dst, '0', '.')
		dst = append(dst, bytes.Repeat([]byte{'0'}, int(-point))...)
		return append(dst, digits...)
	}
	dst = append(append(dst, digits...), 'e')
	return strconv.AppendInt(dst, exponent, 10)
}
