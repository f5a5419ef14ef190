package interop

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"seen/bloom"
)

// sparkType is the type of the keys that Spark added. The file does not say it.
type sparkType string

// The types of Spark's BloomFilter.
const (
	sparkString sparkType = "string" // putString: text as UTF-8
	sparkBinary sparkType = "binary" // putBinary
	sparkLong   sparkType = "long"   // putLong: whole numbers of any width
)

var sparkTypes = []string{string(sparkString), string(sparkBinary), string(sparkLong)}

// spark is a BloomFilter of Apache Spark (org.apache.spark.util.sketch), as its method
// writeTo writes it, in either version.
//
// The bytes are numbers of 32 bits, big-endian: the version, 1 or 2; the probes k of a
// key; in version 2 a seed; and the number of words, of 64 bits, big-endian, that
// follow. Bit i is bit i mod 64 of word i/64. The length m of the array, 64 times the
// number of words, is the modulus of the positions.
//
// h1 is Spark's MurmurHash3 of 32 bits of the key with the seed, in version 1 with 0,
// and h2 that with h1 as the seed. The positions of version 1 are h1 + i*h2 in 32 bits,
// for i from 1, inverted if negative, modulo m. Those of version 2 are h1*(2^31-1) + i*h2
// in 64 bits, of numbers with a sign, likewise. Numbers are hashed as 8 bytes,
// little-endian.
//
// What SQL puts into such a filter to join tables is usually a hash of 64 bits of the
// value, as a long, and not the value.
//
// Any number of goroutines may ask while none changes the filter. The hash is public, so
// an attacker can choose keys that collide. The struct must not be copied.
type spark struct {
	version int
	typ     sparkType
	seed    int32
	k       uint64
	m       uint64
	bits    bitArray
}

// sparkConfig says how large a spark is to be.
type sparkConfig struct {
	// Capacity is the number of keys, at least 1, and ErrorRate the rate at capacity,
	// between 0 and 1, exclusively.
	Capacity  uint64
	ErrorRate float64
	Type      sparkType
	// Version is 1, which all releases read, or 2, for those from 4.1 on, whose error
	// rate holds for large filters too. 0 means 1.
	Version int
	// Seed is 0 unless the version is 2.
	Seed int32
}

// newSpark returns an empty filter, with the size that Spark would give it.
func newSpark(c sparkConfig) (*spark, error) {
	if c.Version == 0 {
		c.Version = 1
	}
	if c.Version < 1 || c.Version > 2 || c.Version == 1 && c.Seed != 0 {
		return nil, fmt.Errorf("spark: version %d with seed %d; use 1, which has no seed, or 2", c.Version, c.Seed)
	}
	words, k, err := guavaSize(c.Capacity, c.ErrorRate)
	if err != nil {
		return nil, fmt.Errorf("spark: %w", err)
	}
	f := &spark{version: c.Version, typ: c.Type, seed: c.Seed, k: k, m: 64 * words}
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("spark: %w", err)
	}
	if err := c.Type.check(); err != nil {
		return nil, err
	}
	if f.bits, err = newBitArray(bigWords, 8*words); err != nil {
		return nil, fmt.Errorf("spark: %w", err)
	}
	return f, nil
}

func (u sparkType) check() error { return checkListed("spark", "type", string(u), sparkTypes) }

func (f *spark) check() error {
	if f.k == 0 || f.k > foreignMaxProbes {
		return fmt.Errorf("k = %d probes; seen reads 1 to %d", f.k, foreignMaxProbes)
	}
	return nil
}

// openSpark returns the filter to which values of a type were added. It refers to b,
// which must not change, and opening takes the same time for any length.
func openSpark(b []byte, typ sparkType) (*spark, error) {
	if err := typ.check(); err != nil {
		return nil, err
	}
	f, err := parseAs("spark", b, parseSpark)
	if err != nil {
		return nil, err
	}
	f.typ = typ
	return f, nil
}

func parseSpark(b []byte) (*spark, error) {
	var head [4]uint32
	fields := 3
	if len(b) >= 4 && binary.BigEndian.Uint32(b) == 2 {
		fields = 4
	}
	if len(b) < 4*fields {
		return nil, fmt.Errorf("%d bytes, but the header has %d", len(b), 4*fields)
	}
	for i := range fields {
		head[i] = binary.BigEndian.Uint32(b[4*i:])
	}
	words, rest := head[fields-1], b[4*fields:]
	f := &spark{version: int(head[0]), k: uint64(head[1]), m: 64 * uint64(words)}
	if fields == 4 {
		f.seed = int32(head[2])
	}
	if head[0] != 1 && head[0] != 2 {
		return nil, fmt.Errorf("version %d; seen reads 1 and 2", head[0])
	}
	if words == 0 || words > math.MaxInt32 || uint64(len(rest)) != 8*uint64(words) {
		return nil, fmt.Errorf("the header says %d words of 8 bytes; there are %d bytes", words, len(rest))
	}
	f.bits = bitArray{order: bigWords, b: rest}
	return f, f.check()
}

// takes reports whether key is a value of the type.
func (f *spark) takes(key []byte) bool { return f.typ != sparkLong || len(key) == 8 }

func (f *spark) hash(key []byte) (h1, h2 uint32) {
	h1 = sparkMurmur3(key, uint32(f.seed))
	return h1, sparkMurmur3(key, h1)
}

// position returns the i-th position, from 0, of a key whose hash is h1, h2.
func (f *spark) position(h1, h2 uint32, i uint64) uint64 {
	if f.version == 1 {
		c := int32(h1 + uint32(i+1)*h2)
		return uint64(c^c>>31) % f.m // inverted if negative
	}
	c := int64(int32(h1))*math.MaxInt32 + int64(i+1)*int64(int32(h2))
	return uint64(c^c>>63) % f.m
}

// Has reports whether key may have been added. A key that is not a value of the type was
// never added.
func (f *spark) Has(key []byte) bool {
	if !f.takes(key) {
		return false
	}
	h1, h2 := f.hash(key)
	return f.bits.hasEach(f.k, func(i uint64) uint64 { return f.position(h1, h2, i) })
}

// Add adds key and reports whether it was certainly not there before. It fails with
// ErrReadOnly if f was opened from bytes, or if key is not a value of the type.
func (f *spark) Add(key []byte) (bool, error) {
	if err := f.bits.mayChange(); err != nil {
		return false, err
	}
	if !f.takes(key) {
		return false, fmt.Errorf("spark: key %q is not a value of the type %s", key, f.typ)
	}
	h1, h2 := f.hash(key)
	return f.bits.setEach(f.k, func(i uint64) uint64 { return f.position(h1, h2, i) }), nil
}

// Clone returns a copy that shares nothing with f, and can be changed. It fails if there
// is not enough memory.
func (f *spark) Clone() (*spark, error) {
	g := *f
	return &g, g.bits.detach(0)
}

// Union adds the keys of other, which must be a spark with the same version, type, seed,
// m and k. Otherwise it returns an error that wraps bloom.ErrIncompatible.
func (f *spark) Union(other Reader) error {
	return unite(&f.bits, f, other, func(g *spark) (*bitArray, error) {
		return &g.bits, checkSame(same{"versions", f.version, g.version}, same{"types", f.typ, g.typ}, same{"seeds", f.seed, g.seed},
			same{"m", f.m, g.m}, same{"k", f.k, g.k})
	})
}

// Stats describes the filter. It reads the whole array.
func (f *spark) Stats() bloom.Stats { return plainStats("spark", f.m, f.k, f.bits.ones(f.m)) }

// WriteTo writes the filter as Spark does, for its method readFrom.
func (f *spark) WriteTo(w io.Writer) (int64, error) {
	c := &countingWriter{w: w}
	head := binary.BigEndian.AppendUint32(nil, uint32(f.version))
	head = binary.BigEndian.AppendUint32(head, uint32(f.k))
	if f.version == 2 {
		head = binary.BigEndian.AppendUint32(head, uint32(f.seed))
	}
	if _, err := c.Write(binary.BigEndian.AppendUint32(head, uint32(f.m/64))); err != nil {
		return c.done(err)
	}
	return c.done(f.bits.writeTo(c, f.m/8, bigWords))
}
