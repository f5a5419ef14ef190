package keys

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// Masks for eight bytes at a time.
const (
	ones = 0x0101010101010101
	low  = 0x7f7f7f7f7f7f7f7f
	high = 0x8080808080808080
)

// upper returns a mask with the bit 0x20 set in each byte of x that is one of A
// to Z: what has to be added to make it lower case.
func upper(x uint64) uint64 {
	fromA := x&low + ones*(0x80-'A')
	behindZ := x&low + ones*(0x80-'Z'-1)
	return fromA &^ behindZ &^ x & high >> 2
}

// HasUpper reports whether b has a letter A to Z, so that a caller can do
// without a copy of what AppendFold would not change.
func HasUpper(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if upper(binary.LittleEndian.Uint64(b)) != 0 {
			return true
		}
	}
	for _, c := range b {
		if 'A' <= c && c <= 'Z' {
			return true
		}
	}
	return false
}

// AppendFold appends b to dst with the letters A to Z in lower case; all other
// bytes stay.
func AppendFold(dst, b []byte) []byte {
	start := len(dst)
	dst = append(dst, b...)
	b = dst[start:]
	for ; len(b) >= 8; b = b[8:] {
		x := binary.LittleEndian.Uint64(b)
		binary.LittleEndian.PutUint64(b, x|upper(x))
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] |= 0x20
		}
	}
	return dst
}

// ASCII returns the length of the part of b before its first byte beyond ASCII.
func ASCII(b []byte) int {
	i := 0
	for i+8 <= len(b) && binary.LittleEndian.Uint64(b[i:])&high == 0 {
		i += 8
	}
	for i < len(b) && b[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// AppendLower appends b to dst in lower case, character by character by Unicode.
// Bytes that are not UTF-8 stay, or keys that differ in them would become one.
func AppendLower(dst, b []byte) []byte {
	i := ASCII(b)
	dst = AppendFold(dst, b[:i])
	for i < len(b) {
		c := b[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c |= 0x20
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, c)
		} else {
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
		}
		i += size
	}
	return dst
}
