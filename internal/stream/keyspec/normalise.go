package keyspec

import (
	"bytes"
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// normaliser is what is done to a part of a key after it was taken from the record.
type normaliser uint8

const (
	asIs normaliser = iota
	trim
	foldCase
	trimFold
	lower
	trimLower
	email
)

// newNormaliser returns what o asks for. Lower case by Unicode includes that of
// ASCII, and the form of mail addresses everything else.
func newNormaliser(o Options) normaliser {
	n := asIs
	switch {
	case o.Email:
		return email
	case o.Lower:
		n = lower
	case o.FoldCase:
		n = foldCase
	}
	if o.Trim {
		n++ // each is followed by itself with trimming
	}
	return n
}

// apply returns the normalised form of b, which stays as it is: the result
// aliases b where nothing had to change, and s otherwise.
func (n normaliser) apply(b []byte, s *Scratch) []byte {
	switch n {
	case trim, trimFold, trimLower:
		b = bytes.TrimSpace(b)
	case email:
		return s.canonicalEmail(b)
	}
	switch n {
	case foldCase, trimFold:
		return s.foldASCII(b)
	case lower, trimLower:
		return s.lower(b)
	}
	return b
}

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

// foldASCII maps A to Z to lower case.
func (s *Scratch) foldASCII(b []byte) []byte {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if upper(binary.LittleEndian.Uint64(b[i:])) != 0 {
			return s.foldFrom(b, i)
		}
	}
	for ; i < len(b); i++ {
		if 'A' <= b[i] && b[i] <= 'Z' {
			return s.foldFrom(b, i)
		}
	}
	return b
}

// foldFrom copies b and folds what lies behind i.
func (s *Scratch) foldFrom(b []byte, i int) []byte {
	s.norm = append(s.norm[:0], b...)
	b = s.norm
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		binary.LittleEndian.PutUint64(b[i:], x|upper(x))
	}
	for ; i < len(b); i++ {
		if 'A' <= b[i] && b[i] <= 'Z' {
			b[i] |= 0x20
		}
	}
	return b
}

// lower maps b to lower case, character by character by Unicode. Bytes that are
// not UTF-8 stay, or keys that differ in them would become one.
func (s *Scratch) lower(b []byte) []byte {
	i := 0
	for i+8 <= len(b) && binary.LittleEndian.Uint64(b[i:])&high == 0 {
		i += 8
	}
	for i < len(b) && b[i] < utf8.RuneSelf {
		i++
	}
	if i == len(b) {
		return s.foldASCII(b)
	}
	s.norm = append(s.norm[:0], s.foldASCII(b[:i])...)
	for i < len(b) {
		c := b[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c |= 0x20
			}
			s.norm = append(s.norm, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			s.norm = append(s.norm, c)
		} else {
			s.norm = utf8.AppendRune(s.norm, unicode.ToLower(r))
		}
		i += size
	}
	return s.norm
}

// taggedDomains are the mail providers that deliver user+tag@domain to
// user@domain for every user and say so in their documentation.
var taggedDomains = map[string]bool{
	"gmail.com": true, "googlemail.com": true,
	"outlook.com": true, "hotmail.com": true, "live.com": true,
	"icloud.com": true, "me.com": true, "mac.com": true,
	"proton.me": true, "protonmail.com": true, "pm.me": true,
	"fastmail.com": true,
}

// canonicalEmail implements Options.Email.
func (s *Scratch) canonicalEmail(b []byte) []byte {
	b = bytes.TrimSpace(b)
	if n := len(b) - 1; n > 0 && b[n] == '>' {
		if open := bytes.LastIndexByte(b, '<'); open >= 0 {
			b = bytes.TrimSpace(b[open+1 : n])
		}
	}
	b = s.lower(b)
	at := bytes.LastIndexByte(b, '@')
	if at < 0 {
		return b
	}
	local, domain := b[:at], bytes.TrimSuffix(b[at+1:], []byte{'.'})
	if !taggedDomains[string(domain)] || at == 0 || local[0] == '"' {
		return b[:at+1+len(domain)]
	}
	if plus := bytes.IndexByte(local, '+'); plus > 0 {
		local = local[:plus]
	}
	gmail := string(domain) == "gmail.com" || string(domain) == "googlemail.com"
	if !gmail && len(local) == at {
		return b[:at+1+len(domain)]
	}
	// The parts only move towards the front, and s.lower may have returned the
	// record itself: the result is put together in another buffer.
	s.address = s.address[:0]
	for _, c := range local {
		if c != '.' || !gmail {
			s.address = append(s.address, c)
		}
	}
	s.address = append(s.address, '@')
	if gmail {
		s.address = append(s.address, "gmail.com"...)
	} else {
		s.address = append(s.address, domain...)
	}
	return s.address
}
