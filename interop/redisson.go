package interop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/minio/highwayhash"
)

// redisson says how a filter of Redisson (RBloomFilter of the Java client) maps keys to
// the bits of its string in Redis, which has the filter's name. Size and Iterations are
// the fields size and hashIterations of the hash beside it, {NAME}:config.
//
// What is hashed are the bytes that Redisson's codec makes of a value. With StringCodec
// they are the UTF-8 of a text, as here unless Bytes is set. The default codec of
// Redisson is another one, Kryo; of its filters only those can be asked whose values one
// has encoded.
//
// The hash is HighwayHash of 128 bits with a key that is part of Redisson. Its halves a
// and b make h = a, a+b, 2a+b, 2a+2b and so on; bit (h mod 2^63) mod Size is set, as
// SETBIT counts bits: the highest of a byte first. Filters from before 2018 have other
// hashes.
type redisson struct {
	Size       uint64 // m, 1 to 2^32-2
	Iterations uint64 // k, 1 to 1000
	// Bytes says that keys are what a codec has made of values, such as those of
	// ByteArrayCodec. Otherwise they are text, and others were never added.
	Bytes bool
}

// redissonMaxSize is the largest size that Redisson accepts.
const redissonMaxSize = 2 * math.MaxInt32

// redissonKey is the key of the hash: four words, which the library takes as bytes.
var redissonKey = func() (key []byte) {
	for _, word := range []uint64{0x9e3779b97f4a7c15, 0xf39cc0605cedc834, 0x1082276bf3a27251, 0xf86c6a11d0c18e95} {
		key = binary.LittleEndian.AppendUint64(key, word)
	}
	return key
}()

// redissonFor returns the Size and Iterations that Redisson derives from a number of
// keys and an error rate, between 0 and 1.
func redissonFor(capacity uint64, errorRate float64) (redisson, error) {
	size := math.Trunc(-float64(capacity) * math.Log(errorRate) / (ln2 * ln2))
	if size < 1 || size > redissonMaxSize {
		return redisson{}, fmt.Errorf("redisson: %d keys at an error rate of %v need a size of %.0f bits; Redisson has 1 to %d", capacity, errorRate, size, uint64(redissonMaxSize))
	}
	return redisson{Size: uint64(size), Iterations: max(1, uint64(math.Round(size/float64(capacity)*ln2)))}, nil
}

func (r redisson) check() error {
	if r.Size > redissonMaxSize {
		return fmt.Errorf("a size of %d bits; Redisson has 1 to %d", r.Size, uint64(redissonMaxSize))
	}
	return nil
}

// Positions appends to dst the offsets of the bits of a value's bytes, as SETBIT counts
// them; two may be equal.
func (r redisson) Positions(dst []uint64, value []byte) []uint64 {
	sum := highwayhash.Sum128(value, redissonKey)
	a, b := binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])
	h := a
	for i := range r.Iterations {
		dst = append(dst, h&math.MaxInt64%r.Size)
		if i%2 == 0 {
			h += b
		} else {
			h += a
		}
	}
	return dst
}

var errNoText = errors.New("the key is not UTF-8, and the keys of this filter are text")

func (r redisson) positions(dst []uint64, key []byte) ([]uint64, error) {
	if !r.Bytes && !utf8.Valid(key) {
		return nil, errNoText
	}
	return r.Positions(dst, key), nil
}

func (r redisson) size() (m, k uint64) { return r.Size, r.Iterations }

// parts: probe 2c-1 is c(a+b) modulo 2^63, which has all factors 2 of c. If Size is even,
// the probe chooses only among the bits whose number has the factors 2 that Size and c
// have in common. That concerns 3 of the 13 probes for an error rate of 1e-4.
func (r redisson) parts() []bitPart {
	most := bits.TrailingZeros64(r.Size)
	twos := make([]int, r.Iterations) // shared factors 2 of each probe
	uneven := false
	for i := 1; i < len(twos); i += 2 {
		twos[i] = min(most, bits.TrailingZeros(uint(i+1)/2))
		uneven = uneven || twos[i] > 0
	}
	if !uneven {
		return nil
	}
	parts := make([]bitPart, most+1) // by the factors 2 of a bit's number
	for t := range parts {
		p := bitPart{share: math.Exp2(-float64(t + 1)), rates: make([]float64, len(twos))}
		if t == most {
			p.share *= 2
		}
		for i := range twos {
			if t >= twos[i] {
				p.rates[i] = math.Exp2(float64(twos[i]))
			}
		}
		parts[t] = p
	}
	return parts
}

// doubt covers that the probes of a key choose their bits together: where a+b has many
// factors 2, so have all its multiples. By simulation the variance of the estimate is 1.1
// to 1.3 times that of independent probes for 2^4 and 2^5 in Size, and 1.4 to 1.5 times
// for 2^14, full or not.
func (r redisson) doubt() float64 {
	return 0.14 * math.Sqrt(float64(bits.TrailingZeros64(r.Size))/float64(r.Size))
}

func (r redisson) keyKind() KeyKind {
	if r.Bytes {
		return KeyBytes
	}
	return KeyText
}

func (r redisson) codec() string {
	if r.Bytes {
		return "bytes"
	}
	return "string"
}

func (r redisson) params() []Field {
	return []Field{{"size", strconv.FormatUint(r.Size, 10)}, {"hashIterations", strconv.FormatUint(r.Iterations, 10)}, {"codec", r.codec()}}
}

func (redisson) name() string    { return "redisson" }
func (redisson) order() bitOrder { return msbFirst }
func (redisson) trims() bool     { return true }
func (redisson) spreads() bool   { return true }

func (r redisson) describe() Description {
	d := Description{
		Format: Spec{Name: "redisson"}.with("codec", r.codec()).with("m", strconv.FormatUint(r.Size, 10)).
			with("k", strconv.FormatUint(r.Iterations, 10)).String(),
		System: "Redisson RBloomFilter",
		Hash:   "HighwayHash of 128 bits with Redisson's key, double hashing",
	}
	if !r.Bytes {
		d.Notes = append(d.Notes, "read as written with StringCodec; Redisson's default codec encodes text in another way, so check a key that must be in the filter")
	}
	return d
}

var redissonFormat = format{
	name:   "redisson",
	system: "Redisson RBloomFilter, the string in Redis",
	params: append([]param{
		{name: "codec", meaning: "string: keys are text, written with StringCodec; bytes: keys are what the codec made of them", values: []string{"string", "bytes"}, preset: "string"},
		{name: "m", meaning: "the field size of the hash {NAME}:config"},
		{name: "k", meaning: "the field hashIterations of the hash {NAME}:config"},
	}, stringParams...),
	verified: "Redisson's own hash class, and bits stored by SETBIT in Redis 7.4; not a running Redisson client",
	open:     bitmapOf(redissonOf).open,
	create:   bitmapOf(redissonOf).create,
	clone:    cloneOf[*bitmap],
	rewrap:   rewrapBitmap,
}

// redissonOf returns the filter of a specification, of a size for so many keys unless it has m
// and k.
func redissonOf(s Spec, capacity uint64, errorRate float64) (bitmapSystem, error) {
	m, k, err := s.bitsAndProbes(redissonMaxSize, capacity == 0)
	r := redisson{Size: m, Iterations: k}
	if err == nil && m == 0 {
		r, err = redissonFor(capacity, errorRate)
	}
	r.Bytes = s.Params["codec"] == "bytes"
	return r, err
}
