package interop

import (
	"crypto/md5"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

// bitarrayHash is how the Bloom filter among the examples of the Python package
// bitarray maps a key to bits, which has changed several times.
type bitarrayHash string

const (
	// bitarrayMD5Dot is that up to bitarray 1.0. The MD5 of the key is a big-endian
	// number x. For each probe, if x is below m, a dot is appended to what is hashed and
	// x is its MD5; the position is x modulo m, and x is divided by m.
	bitarrayMD5Dot bitarrayHash = "md5dot"
	// bitarrayMD5First is that of bitarray 1.1: with the letter x in place of the dot.
	bitarrayMD5First bitarrayHash = "md5x-1.1"
	// bitarrayMD5X is that of bitarray 1.2 to 2.8.2: a new MD5 is taken if x is below
	// 1024 m.
	bitarrayMD5X bitarrayHash = "md5x"
	// bitarraySHA1First is that of bitarray 2.8.3 to 3.1.0. With N the least power of
	// two above m, the SHA-1 of the key is a little-endian number x. If x is below N, a
	// letter X is appended to what is hashed and x is its SHA-1; x modulo N is a
	// position if it is below m, and x is divided by N.
	bitarraySHA1First bitarrayHash = "sha1-2to31"
	// bitarraySHA1 is that since bitarray 3.1.1: x begins with 0, so that the first
	// SHA-1 is that of the key and an X.
	bitarraySHA1 bitarrayHash = "sha1"
)

// bitarray says how a filter was made by the example. The file is what tobytes returns:
// the bits, the highest of a byte first, and zeros up to a whole byte. It says neither
// m nor k. Keys are text: the example hashes str(key).
type bitarray struct {
	Hash bitarrayHash
	M, K uint64
}

// bitarrayFor returns the M and K that the example derives from a number of keys and an
// error rate, between 0 and 1.
func bitarrayFor(hash bitarrayHash, capacity uint64, errorRate float64) (bitarray, error) {
	m := math.Ceil(-float64(capacity) * math.Log2(errorRate) / ln2)
	if err := checkSize(m, capacity, errorRate); err != nil {
		return bitarray{}, err
	}
	return bitarray{hash, uint64(m), uint64(math.Ceil(-math.Log2(errorRate)))}, nil
}

func (a bitarray) check() error {
	if a.M < 2 || a.M >= 1<<53 {
		return fmt.Errorf("m = %d bits; use 2 to 2^53", a.M)
	}
	return nil
}

func (a bitarray) positions(dst []uint64, key []byte) ([]uint64, error) {
	if !utf8.Valid(key) {
		return nil, errNoText
	}
	switch a.Hash {
	case bitarrayMD5Dot:
		return a.md5(dst, key, ".", 1), nil
	case bitarrayMD5First:
		return a.md5(dst, key, "x", 1), nil
	case bitarrayMD5X:
		return a.md5(dst, key, "x", 1024), nil
	case bitarraySHA1First:
		return a.sha1(dst, key, true), nil
	}
	return a.sha1(dst, key, false), nil
}

// md5 takes positions from numbers of 128 bits, as long as those are times*m or more.
func (a bitarray) md5(dst []uint64, key []byte, more string, times uint64) []uint64 {
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
func (a bitarray) sha1(dst []uint64, key []byte, hashed bool) []uint64 {
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

func (a bitarray) size() (m, k uint64) { return a.M, a.K }
func (a bitarray) keyKind() KeyKind    { return KeyText }

func (a bitarray) params() []Field {
	return []Field{{"gen", string(a.Hash)}, {"m", strconv.FormatUint(a.M, 10)}, {"k", strconv.FormatUint(a.K, 10)}}
}

func (bitarray) name() string    { return "bitarray" }
func (bitarray) order() bitOrder { return msbFirst }
func (bitarray) trims() bool     { return false }
func (bitarray) spreads() bool   { return false }

func (a bitarray) describe() Description {
	hash := "MD5"
	if strings.HasPrefix(string(a.Hash), "sha1") {
		hash = "SHA-1"
	}
	return Description{Format: specOf(a), System: "Bloom example of Python's bitarray", Hash: hash + ", divided as one number"}
}

// bitarrayOf returns the filter of a specification, of a size for so many keys unless it has m
// and k.
func bitarrayOf(s Spec, capacity uint64, errorRate float64) (bitmapSystem, error) {
	m, k, err := s.bitsAndProbes(1<<53, capacity == 0)
	hash := bitarrayHash(s.Params["gen"])
	if err == nil && m == 0 {
		return bitarrayFor(hash, capacity, errorRate)
	}
	return bitarray{hash, m, k}, err
}

var bitarrayFormat = format{
	name:   "bitarray",
	system: "the Bloom example of Python's bitarray",
	params: append([]param{
		{
			name: "gen", meaning: "the version of bitarray: up to 1.0; 1.1; 1.2 to 2.8.2; 2.8.3 to 3.1.0; since 3.1.1", required: true,
			values: []string{string(bitarrayMD5Dot), string(bitarrayMD5First), string(bitarrayMD5X), string(bitarraySHA1First), string(bitarraySHA1)},
		},
		{name: "m", meaning: "length in bits"},
		{name: "k", meaning: "probes of a key"},
	}, stringParams...),
	verified: "bytes and answers of the example of bitarray 3.1.0 and 3.11.0, and of programs that follow earlier versions; md5x-1.1 was compared with nothing",
	open:     bitmapOf(bitarrayOf).open,
	create:   bitmapOf(bitarrayOf).create,
	clone:    cloneOf[*bitmap],
	rewrap:   rewrapBitmap,
}
