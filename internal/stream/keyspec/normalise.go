package keyspec

import (
	"bytes"

	"seen/keys"
)

// normaliser is what is done to a part of a key after it was taken from the record.
// Lower case by Unicode includes that of ASCII. The zero value leaves a part as it is.
type normaliser struct {
	trim, fold, lower bool
}

// FoldsCase reports whether the key is one part of which the case of A to Z is ignored.
func (k *Key) FoldsCase() bool { return k != nil && len(k.parts) == 1 && k.parts[0].norm.fold }

// apply returns the normalised form of b, which stays as it is: the result
// aliases b where nothing had to change, and s otherwise.
func (n normaliser) apply(b []byte, s *Scratch) []byte {
	if n.trim {
		b = bytes.TrimSpace(b)
	}
	switch {
	case n.lower:
		return s.lower(b)
	case n.fold:
		return s.foldASCII(b)
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
