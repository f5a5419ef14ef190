package interop

import (
	"fmt"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// javaBitSet is a filter from many pages about Java: a java.util.BitSet in which each of
// seven seeds sets a bit, r modulo Bits, where r is built from the UTF-16 code units of a
// text as seed times r plus the unit, in 32 bits.
//
// The file is what BitSet.toByteArray returns: bit i is bit i mod 8, counted from the
// lowest, of byte i/8, and zero bytes at the end are left out. Short keys give small
// numbers, and collide far more often than the size suggests.
type javaBitSet struct {
	Bits uint64 // a power of two, up to 2^31; 2^25 as published
}

var javaBitSetSeeds = [...]int32{5, 7, 11, 13, 31, 37, 61}

func (s javaBitSet) check() error {
	if bits.OnesCount64(s.Bits) != 1 || s.Bits > 1<<31 {
		return fmt.Errorf("%d bits; give a power of two up to %d", s.Bits, uint64(1<<31))
	}
	return nil
}

func (s javaBitSet) positions(dst []uint64, key []byte) ([]uint64, error) {
	if !utf8.Valid(key) {
		return nil, errNoText
	}
	for _, seed := range javaBitSetSeeds {
		r := int32(0)
		for c := range runes(key) {
			if high, low := utf16.EncodeRune(c); high != utf8.RuneError {
				r = seed*(seed*r+high) + low
			} else {
				r = seed*r + c
			}
		}
		dst = append(dst, uint64(uint32(r))&(s.Bits-1))
	}
	return dst, nil
}

func (s javaBitSet) size() (m, k uint64) { return s.Bits, uint64(len(javaBitSetSeeds)) }
func (s javaBitSet) keyKind() KeyKind    { return KeyText }
func (s javaBitSet) params() []Field     { return []Field{{"bits", strconv.FormatUint(s.Bits, 10)}} }

func (javaBitSet) name() string    { return "java-bitset" }
func (javaBitSet) order() bitOrder { return lsbFirst }
func (javaBitSet) trims() bool     { return true }
func (javaBitSet) spreads() bool   { return false }

func (s javaBitSet) describe() Description {
	return Description{
		Format: specOf(s),
		System: "java.util.BitSet, recipe with seven seeds",
		Hash:   "polynomial hashes over UTF-16",
	}
}

func javaBitSetOf(s Spec, _ uint64, _ float64) (bitmapSystem, error) {
	bits, err := s.number("bits", 1, 1<<31)
	return javaBitSet{bits}, err
}

var javaBitSetFormat = format{
	name:     "java-bitset",
	system:   "java.util.BitSet with the recipe of seven seeds",
	params:   append([]param{{name: "bits", meaning: "the length of the set in bits, a power of two", preset: "33554432"}}, stringParams...),
	verified: "bytes and answers of a program that follows the recipe, on OpenJDK 17",
	open:     bitmapOf(javaBitSetOf).open,
	create:   bitmapOf(javaBitSetOf).createFixed,
	clone:    cloneOf[*bitmap],
	rewrap:   rewrapBitmap,
}
