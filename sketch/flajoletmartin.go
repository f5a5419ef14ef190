package sketch

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"seen/bloom"
)

// FlajoletMartin estimates the number of distinct keys by probabilistic counting
// with stochastic averaging, PCSA (Flajolet and Martin, "Probabilistic counting
// algorithms for data base applications", 1985). The hash of a key chooses a bitmap and a
// bit in it, bit r with probability 2^-(r+1). With R the average position of the lowest zero
// bit, the number of keys is about
//
//	maps / 0.77351 * 2^R
//
// with a standard error of 0.78 / sqrt(maps): 9.8 % with 64 bitmaps in 512 bytes,
// 2.4 % with 1024 in 8 KiB.
//
// The zero value is not usable; make one with [NewFlajoletMartin].
type FlajoletMartin struct {
	hashed
	maps []uint64 // a power of two of them
}

const maxMaps = 1 << 16

// FlajoletMartinConfig says how large a [FlajoletMartin] is.
type FlajoletMartinConfig struct {
	// Maps is the number of bitmaps of 64 bits, a power of two from 1 to 65536.
	Maps int
	// Hash is the key hash; the zero value is XXH3 with seed 0.
	Hash bloom.Hash
}

// NewFlajoletMartin returns an empty sketch.
func NewFlajoletMartin(c FlajoletMartinConfig) (*FlajoletMartin, error) {
	if !validMaps(c.Maps) {
		return nil, fmt.Errorf("%d bitmaps are not a power of two from 1 to %d", c.Maps, maxMaps)
	}
	if err := c.Hash.Validate(); err != nil {
		return nil, err
	}
	return &FlajoletMartin{hashed: hashed{hash: keyOf(c.Hash)}, maps: make([]uint64, c.Maps)}, nil
}

func validMaps(n int) bool { return n >= 1 && n <= maxMaps && n&(n-1) == 0 }

// Maps returns the number of bitmaps.
func (s *FlajoletMartin) Maps() int { return len(s.maps) }

// Add adds key and reports whether that changed the sketch, which only a new key does; most
// new keys do not change a large sketch. It does not allocate and does not keep key.
func (s *FlajoletMartin) Add(key []byte) bool { return s.AddHash(s.hash.Sum(key)) }

// AddString is Add for a string, without a copy.
func (s *FlajoletMartin) AddString(key string) bool { return s.AddHash(s.hash.SumString(key)) }

// AddHash is Add for a key whose hash is h. Hashes must be well mixed in all bits, like those
// of the sketch's own Hash.
func (s *FlajoletMartin) AddHash(h uint64) bool {
	m := &s.maps[h&uint64(len(s.maps)-1)]
	top := s.topBit()
	bit := uint64(1) << bits.TrailingZeros64(h>>(64-s.hashBits())|1<<top)
	isNew := *m&bit == 0
	*m |= bit
	return isNew
}

// hashBits is the number of bits of a hash that do not choose the bitmap.
func (s *FlajoletMartin) hashBits() int { return 64 - bits.TrailingZeros(uint(len(s.maps))) }

// topBit is the highest bit of a bitmap in use, for hashes whose rest is zero.
func (s *FlajoletMartin) topBit() int { return min(s.hashBits(), 63) }

const (
	// phi is the bias of the position of the lowest zero bit: of n keys in one
	// bitmap it is near log2(phi * n) (Flajolet and Martin 1985, theorem 3.A).
	phi = 0.77351
	// asymptotic is the number of keys for each bitmap from which phi alone has an error of
	// less than a tenth of a percent.
	asymptotic = 8
)

// Cardinality estimates the number of distinct keys that were added. It reads all
// bitmaps.
//
// Below eight keys for each bitmap the formula of Flajolet and Martin does not hold: for an
// empty sketch it gives 1.29 * maps. The estimate is then the number of keys for which the
// bits are most likely. (The usual correction, the term 2^(-1.75 R) of Scheuermann and Mauve
// 2007, is right for no keys and for many, but up to 23 % too high between.)
func (s *FlajoletMartin) Cardinality() float64 {
	n := float64(len(s.maps))
	lowestZeros := 0
	for _, m := range s.maps {
		lowestZeros += bits.TrailingZeros64(^m)
	}
	// 1 + 0.31/maps is the bias left by averaging few bitmaps, from the same paper.
	estimate := n / phi * math.Exp2(float64(lowestZeros)/n) / (1 + 0.31/n)
	if estimate >= asymptotic*n {
		return estimate
	}
	return s.likeliest()
}

// likeliest returns the number of keys for which the bits set are most likely.
// With n keys, bit r of a bitmap is set with probability 1 - exp(-n*p), where
// p = 2^-(r+1) / maps is the share of keys that set it. The logarithm of the
// likelihood is concave in n; its slope is searched for zero.
func (s *FlajoletMartin) likeliest() float64 {
	var set [64]float64 // in how many bitmaps bit r is set
	for _, m := range s.maps {
		for ; m != 0; m &= m - 1 {
			set[bits.TrailingZeros64(m)]++
		}
	}
	if set == [64]float64{} {
		return 0
	}
	maps := float64(len(s.maps))
	top := s.topBit()
	slope := func(n float64) (sum float64) {
		for r := range top + 1 {
			p := math.Exp2(-float64(min(r+1, top))) / maps
			if set[r] > 0 {
				sum += set[r] * p / math.Expm1(n*p)
			}
			sum -= (maps - set[r]) * p
		}
		return sum
	}
	low, high := 0.0, 1.0
	for slope(high) > 0 {
		low, high = high, 2*high
	}
	// Half of a millionth is below every standard error.
	for high-low > 1e-6*high {
		if middle := (low + high) / 2; slope(middle) > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// StdErr returns the relative standard error of Cardinality: that of the paper, 0.78 /
// sqrt(maps), for many keys in each bitmap. With 8, 4, 2 and 1 bitmaps the error is
// about 3, 5, 12 and 30 % larger than this. With 64 bitmaps or more, and few keys in each,
// it is smaller, down to half as much: then it is the Cramér-Rao bound for a known number
// of keys (see [HyperLogLog.StdErr]), and what the choice between two estimates adds.
func (s *FlajoletMartin) StdErr() float64 {
	const (
		paper    = 0.78
		manyMaps = 64
		choice   = 1.0 / 190 // of the variance, times the square of the load; measured
	)
	maps := float64(len(s.maps))
	load := s.Cardinality() / maps
	variance := paper * paper
	if maps >= manyMaps && load > 0 {
		if load < asymptotic {
			information := 0.0 // of one bitmap about the load
			for r := range s.topBit() + 1 {
				p := math.Exp2(-float64(r + 1))
				information += p * p / math.Expm1(load*p)
			}
			variance = 1 / (load * load * information)
		}
		variance -= 1 / load
		if load < asymptotic {
			variance *= 1 + choice*load*load
		}
	}
	return math.Sqrt(max(0, variance) / maps)
}

// Merge adds the keys of other to s: s becomes the sketch of both streams. If the number of
// bitmaps or the hash differ, Merge fails with [ErrIncompatible] and does not change s.
func (s *FlajoletMartin) Merge(other *FlajoletMartin) error {
	if err := s.checkAlike(other); err != nil {
		return err
	}
	for i, m := range other.maps {
		s.maps[i] |= m
	}
	return nil
}

func (s *FlajoletMartin) checkAlike(other *FlajoletMartin) error {
	return s.hashed.checkAlike(&other.hashed, IncompatibleError{"number of bitmaps", len(s.maps), len(other.maps)})
}

// Clear forgets all keys. The memory stays.
func (s *FlajoletMartin) Clear() { clear(s.maps) }

// Clone returns a copy that shares nothing with s.
func (s *FlajoletMartin) Clone() *FlajoletMartin {
	return &FlajoletMartin{hashed: s.hashed, maps: slices.Clone(s.maps)}
}

// Equal reports whether s and other have the same number of bitmaps, hash and bits.
func (s *FlajoletMartin) Equal(other *FlajoletMartin) bool {
	return s.checkAlike(other) == nil && slices.Equal(s.maps, other.maps)
}
