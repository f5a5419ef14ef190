package keyspec

import (
	"bytes"

	"seen/keys"
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
		s.norm = keys.AppendEmail(s.norm[:0], b)
		return s.norm
	}
	switch n {
	case foldCase, trimFold:
		return s.foldASCII(b)
	case lower, trimLower:
		return s.lower(b)
	}
	return b
}

// foldASCII maps A to Z to lower case.
func (s *Scratch) foldASCII(b []byte) []byte {
	if !keys.HasUpper(b) {
		return b
	}
	s.norm = keys.AppendFold(s.norm[:0], b)
	return s.norm
}

// lower maps b to lower case by Unicode.
func (s *Scratch) lower(b []byte) []byte {
	if keys.ASCII(b) == len(b) {
		return s.foldASCII(b)
	}
	s.norm = keys.AppendLower(s.norm[:0], b)
	return s.norm
}
