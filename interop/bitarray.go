package interop

import (
	"crypto/md5"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// BitarrayHash is how the Bloom filter among the examples of the Python package
// bitarray maps a key to bits, which has changed several times.
type BitarrayHash string

const (
	// BitarrayMD5Dot is that up to bitarray 1.0. The MD5 of the key is a big-endian
	// number x. For each probe, if x is below m, a dot is appended to what is hashed and
	// x is its MD5; the position is x modulo m, and x is divided by m.
	BitarrayMD5Dot BitarrayHash = "md5dot"
	// BitarrayMD5First is that of bitarray 1.1: with the letter x in place of the dot.
	BitarrayMD5First BitarrayHash = "md5x-1.1"
	// BitarrayMD5X is that of bitarray 1.2 to 2.8.2: a new MD5 is taken if x is below
	// 1024 m.
	BitarrayMD5X BitarrayHash = "md5x"
	// BitarraySHA1First is that of bitarray 2.8.3 to 3.1.0. With N the least power of
	// two above m, the SHA-1 of the key is a little-endian number x. If x is below N, a
	// letter X is appended to what is hashed and x is its SHA-1; x modulo N is a
	// position if it is below m, and x is divided by N.
	BitarraySHA1First BitarrayHash = "sha1-2to31"
	// BitarraySHA1 is that since bitarray 3.1.1: x begins with 0, so that the first
	// SHA-1 is that of the key and an X.
	BitarraySHA1 BitarrayHash = "sha1"
)

// bitarrayHashes are all of them.
var bitarrayHashes = []BitarrayHash{BitarrayMD5Dot, BitarrayMD5First, BitarrayMD5X, BitarraySHA1First, BitarraySHA1}

// Bitarray says how a filter was made by the example. The file is what tobytes returns:
// the bits, the highest of a byte first, and zeros up to a whole byte. It says neither
// m nor k. Keys are text: the example hashes str(key).
type Bitarray struct {
	Hash BitarrayHash
	M, K uint64
}

// BitarrayFor returns the M and K that the example derives from a number of keys and an
// error rate, between 0 and 1.
func BitarrayFor(hash BitarrayHash, capacity uint64, errorRate float64) (Bitarray, error) {
	if err := checkWish(capacity, errorRate); err != nil {
		return Bitarray{}, err
	}
	m := math.Ceil(-float64(capacity) * math.Log2(errorRate) / ln2)
	if err := checkSize(m, capacity, errorRate); err != nil {
		return Bitarray{}, err
	}
	return Bitarray{hash, uint64(m), uint64(math.Ceil(-math.Log2(errorRate)))}, nil
}

// NewBitarray returns an empty filter. Capacity and error rate are what it was asked
// for, or 0.
func NewBitarray(a Bitarray, capacity uint64, errorRate float64) (*Bitmap, error) {
	return newBitmap(a, capacity, errorRate)
}

// ParseBitarray returns the filter whose bytes are b, and to which it refers.
func ParseBitarray(b []byte, a Bitarray) (*Bitmap, error) { return parseBitmap(b, a) }

func (a Bitarray) check() error {
	if !slices.Contains(bitarrayHashes, a.Hash) {
		return fmt.Errorf("unknown hash %q; use one of %v", a.Hash, bitarrayHashes)
	}
	if a.M < 2 || a.M >= 1<<53 {
		return fmt.Errorf("m = %d bits; the example is followed from 2 to 2^53", a.M)
	}
	return nil
}

func (a Bitarray) positions(dst []uint64, key []byte) ([]uint64, error) {
	if !utf8.Valid(key) {
		return nil, errNoText
	}
	switch a.Hash {
	case BitarrayMD5Dot:
		return a.md5(dst, key, ".", 1), nil
	case BitarrayMD5First:
		return a.md5(dst, key, "x", 1), nil
	case BitarrayMD5X:
		return a.md5(dst, key, "x", 1024), nil
	case BitarraySHA1First:
		return a.sha1(dst, key, true), nil
	}
	return a.sha1(dst, key, false), nil
}

// md5 takes positions from numbers of 128 bits, as long as those are times*m or more.
func (a Bitarray) md5(dst []uint64, key []byte, more string, times uint64) []uint64 {
	text := key
	read := func() (high, low uint64) {
		sum := md5.Sum(text)
		return binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])
	}
	high, low := read()
	for range a.K {
		if high == 0 && low < times*a.M {
			text = append(text[:len(text):len(text)], more...)
			high, low = read()
		}
		var at, top uint64
		top, at = high/a.M, high%a.M
		low, at = bits.Div64(at, low, a.M)
		high = top
		dst = append(dst, at)
	}
	return dst
}

// sha1 takes positions from numbers of 160 bits, as many bits at a time as m has, as
// long as those give one below m.
func (a Bitarray) sha1(dst []uint64, key []byte, hashed bool) []uint64 {
	text := key
	var x [3]uint64 // the lowest word first
	read := func() {
		sum := sha1.Sum(text)
		x[0], x[1], x[2] = binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:]), uint64(binary.LittleEndian.Uint32(sum[16:]))
	}
	if hashed {
		read()
	}
	width := bits.Len64(a.M)
	for n := uint64(0); n < a.K; {
		if x[2] == 0 && x[1] == 0 && x[0]>>width == 0 {
			text = append(text[:len(text):len(text)], 'X')
			read()
		}
		at := x[0] & (1<<width - 1)
		x[0], x[1], x[2] = x[0]>>width|x[1]<<(64-width), x[1]>>width|x[2]<<(64-width), x[2]>>width
		if at < a.M {
			dst = append(dst, at)
			n++
		}
	}
	return dst
}

func (a Bitarray) size() (m, k uint64) { return a.M, a.K }
func (a Bitarray) keyKind() KeyKind    { return KeyText }

func (a Bitarray) params() []Field {
	return []Field{{"gen", string(a.Hash)}, {"m", strconv.FormatUint(a.M, 10)}, {"k", strconv.FormatUint(a.K, 10)}}
}

func (Bitarray) name() string    { return "bitarray" }
func (Bitarray) order() bitOrder { return msbFirst }
func (Bitarray) trims() bool     { return false }
func (Bitarray) spreads() bool   { return false }

func (a Bitarray) describe() Description {
	spec := Spec{Name: "bitarray"}
	for _, p := range a.params() {
		spec = spec.with(p.Name, p.Value)
	}
	hash := "MD5"
	if strings.HasPrefix(string(a.Hash), "sha1") {
		hash = "SHA-1"
	}
	return Description{Format: spec.String(), System: "Bloom example of Python's bitarray", Hash: hash + ", taken apart as a number"}
}

var bitarrayFormat = format{
	name:   "bitarray",
	system: "the Bloom example of Python's bitarray",
	params: append([]param{
		{
			name: "gen", meaning: "by the version of bitarray: up to 1.0, 1.1, 1.2 to 2.8.2, 2.8.3 to 3.1.0, and since 3.1.1", required: true,
			values: []string{string(BitarrayMD5Dot), string(BitarrayMD5First), string(BitarrayMD5X), string(BitarraySHA1First), string(BitarraySHA1)},
		},
		{name: "m", meaning: "length in bits"},
		{name: "k", meaning: "probes of a key"},
	}, stringParams...),
	caps: capability{
		probe: true, write: true, merge: true,
		verified: "bytes and answers of the example of bitarray 3.1.0 and 3.11.0; of earlier ones, of programs that follow it, and md5x-1.1 of none",
	},
	open: func(b []byte, s Spec) (Foreign, error) {
		m, k, err := s.bitsAndProbes(1<<53, true)
		if err != nil {
			return nil, err
		}
		return foreign(ParseBitarray(b, Bitarray{BitarrayHash(s.Params["gen"]), m, k}))
	},
	create: func(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
		m, k, err := s.bitsAndProbes(1<<53, false)
		if err != nil {
			return nil, err
		}
		a := Bitarray{BitarrayHash(s.Params["gen"]), m, k}
		if m == 0 {
			if a, err = BitarrayFor(a.Hash, capacity, errorRate); err != nil {
				return nil, err
			}
		}
		return foreign(NewBitarray(a, capacity, errorRate))
	},
	clone:  cloneOf[*Bitmap],
	rewrap: rewrapBitmap,
}
