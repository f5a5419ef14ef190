package keyhash

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/zeebo/xxh3"
)

// IsShort reports whether Short applies: to keys of 9 to 16 bytes, as most ids are, which
// take half as long without a call for each.
func IsShort(key []byte) bool { return uint(len(key)-9) < 8 }

// Short is XXH3 for 9 to 16 bytes, in a form that compilers inline. It is the part for small
// inputs with seed 0 in the specification of xxHash 0.8; the constants are from its default
// secret.
func Short(key []byte) uint64 {
	low := binary.LittleEndian.Uint64(key) ^ 0x6782737bea4239b9
	high := binary.LittleEndian.Uint64(key[len(key)-8:]) ^ 0xaf56bc3b0996523a
	productHigh, productLow := bits.Mul64(low, high)
	x := uint64(len(key)) + bits.ReverseBytes64(low) + high + (productHigh ^ productLow)
	x ^= x >> 37
	x *= 0x165667919e3779f9
	return x ^ x>>32
}

// SumKeys stores the hash of each key in hs, which must be at least as long as
// keys. It takes less time than Sum for each.
func (h *Hash) SumKeys(hs []uint64, keys [][]byte) {
	hs = hs[:len(keys)]
	if *h == (Hash{}) {
		Sums(hs, keys)
		return
	}
	for i, key := range keys {
		hs[i] = h.Sum(key)
	}
}

// SumStrings is SumKeys for strings. A generic function for both would allocate memory for
// each call.
func (h *Hash) SumStrings(hs []uint64, keys []string) {
	hs = hs[:len(keys)]
	if *h == (Hash{}) {
		Sums(hs, keys)
		return
	}
	for i, key := range keys {
		hs[i] = h.SumString(key)
	}
}

// bytesOf returns the bytes of a key. Slices and strings begin with a pointer.
func bytesOf[T []byte | string](key *T) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(key)), len(*key))
}

// Sums is SumKeys or SumStrings of the zero Hash.
func Sums[T []byte | string](hs []uint64, keys []T) {
	hs = hs[:len(keys)]
	for i := 0; ; i++ {
		if i += manyKeys(hs[i:], keys[i:]); i == len(keys) {
			return
		}
		if key := bytesOf(&keys[i]); IsShort(key) {
			hs[i] = Short(key)
		} else {
			hs[i] = xxh3.Hash(key)
		}
	}
}

// Summer is a Hash prepared for many keys that come one by one.
type Summer struct {
	hash *Hash
	nh   *nhSchedule // nil for other algorithms
}

// Summer returns h prepared. h must not change while the Summer is in use.
func (h *Hash) Summer() Summer {
	s := Summer{hash: h}
	if h.Algorithm == NH {
		s.nh = scheduleOf(&h.Secret)
	}
	return s
}

// Sum returns the hash of key.
func (s *Summer) Sum(key []byte) uint64 {
	if s.nh != nil {
		return s.nh.sum(key)
	}
	return s.hash.Sum(key)
}

// SumLines is SumKeys for keys one after another in data, each followed by tail bytes: key i
// ends tail bytes before ends[i].
func (h *Hash) SumLines(hs []uint64, data []byte, ends []uint32, tail int) {
	ends = ends[:len(hs)]
	start := uint32(0)
	switch {
	case h.Algorithm == NH:
		scheduleOf(&h.Secret).sumLines(hs, data, ends, uint32(tail))
	case *h != Hash{}:
		for i, end := range ends {
			hs[i] = h.Sum(data[start : end-uint32(tail)])
			start = end
		}
	default:
		for i, end := range ends {
			if key := data[start : end-uint32(tail)]; IsShort(key) {
				hs[i] = Short(key)
			} else {
				hs[i] = xxh3.Hash(key)
			}
			start = end
		}
	}
}
