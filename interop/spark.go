package interop

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
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
// See plain for what goroutines may do.
type spark struct{ plain[sparkScheme] }

// sparkScheme is how Spark maps a key to positions.
type sparkScheme struct {
	version int
	typ     sparkType
	seed    int32 // 0 unless the version is 2
	m, k    uint64
}

// createSpark returns an empty filter, with the size that Spark would give it.
func createSpark(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
	f := sparkScheme{version: 1, typ: sparkType(s.Params["type"])}
	if s.Params["version"] == "2" {
		f.version = 2
	}
	seed, err := strconv.ParseInt(s.Params["seed"], 10, 32)
	if err != nil {
		return nil, fmt.Errorf("spark: %w: seed=%s is not a whole number of 32 bits", ErrSpec, s.Params["seed"])
	}
	if f.seed = int32(seed); f.version == 1 && seed != 0 {
		return nil, fmt.Errorf("spark: version 1 with seed %d; use 1, which has no seed, or 2", seed)
	}
	words, k, err := guavaSize(capacity, errorRate)
	if err != nil {
		return nil, fmt.Errorf("spark: %w", err)
	}
	f.m, f.k = 64*words, k
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("spark: %w", err)
	}
	p, err := newPlain(f, bigWords, 8*words, 0, 0)
	return foreign(&spark{p}, err)
}

func (f sparkScheme) check() error {
	if f.k == 0 || f.k > foreignMaxProbes {
		return fmt.Errorf("k = %d probes; seen reads 1 to %d", f.k, foreignMaxProbes)
	}
	return nil
}

// parseSpark returns the filter in b, to which values of the type that s names were added.
// It refers to b, which must not change, and takes the same time for any length.
func parseSpark(b []byte, s Spec) (*spark, error) {
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
	f := sparkScheme{version: int(head[0]), typ: sparkType(s.Params["type"]), k: uint64(head[1]), m: 64 * uint64(words)}
	if fields == 4 {
		f.seed = int32(head[2])
	}
	if head[0] != 1 && head[0] != 2 {
		return nil, fmt.Errorf("version %d; seen reads 1 and 2", head[0])
	}
	if words == 0 || words > math.MaxInt32 || uint64(len(rest)) != 8*uint64(words) {
		return nil, fmt.Errorf("the header says %d words of 8 bytes; there are %d bytes", words, len(rest))
	}
	return &spark{opened(f, bigWords, rest)}, f.check()
}

// takes reports whether key is a value of the type.
func (f sparkScheme) takes(key []byte) bool { return f.typ != sparkLong || len(key) == 8 }

func (f sparkScheme) hash(key []byte) (h1, h2 uint32) {
	h1 = sparkMurmur3(key, uint32(f.seed))
	return h1, sparkMurmur3(key, h1)
}

// position returns the i-th position, from 0, of a key whose hash is h1, h2.
func (f sparkScheme) position(h1, h2 uint32, i uint64) uint64 {
	if f.version == 1 {
		c := int32(h1 + uint32(i+1)*h2)
		return uint64(c^c>>31) % f.m // inverted if negative
	}
	c := int64(int32(h1))*math.MaxInt32 + int64(i+1)*int64(int32(h2))
	return uint64(c^c>>63) % f.m
}

func (f sparkScheme) positions(dst []uint64, key []byte) ([]uint64, error) {
	if !f.takes(key) {
		return nil, fmt.Errorf("spark: key %q is not a value of the type %s", key, f.typ)
	}
	h1, h2 := f.hash(key)
	for i := range f.k {
		dst = append(dst, f.position(h1, h2, i))
	}
	return dst, nil
}

func (f sparkScheme) size() (m, k uint64) { return f.m, f.k }
func (sparkScheme) name() string          { return "spark" }

func (f sparkScheme) params() []Field {
	return []Field{
		{"versions", strconv.Itoa(f.version)}, {"types", string(f.typ)}, {"seeds", strconv.Itoa(int(f.seed))},
		{"m", strconv.FormatUint(f.m, 10)}, {"k", strconv.FormatUint(f.k, 10)},
	}
}

// Has reports whether key may have been added. A key that is not a value of the type was
// never added. Unlike that of plain it calculates no position after a zero bit.
func (f *spark) Has(key []byte) bool {
	yes := f.scheme.takes(key)
	if yes {
		h1, h2 := f.scheme.hash(key)
		for i := uint64(0); yes && i < f.scheme.k; i++ {
			yes = f.bits.has(f.scheme.position(h1, h2, i))
		}
	}
	return yes
}

// Add adds key and reports whether it was certainly not there before. The file does not
// say how many keys were added, so they are not counted.
func (f *spark) Add(key []byte) (bool, error) { return f.set(key) }

// WriteTo writes the filter as Spark does, for its method readFrom.
func (f *spark) WriteTo(w io.Writer) (int64, error) {
	s := f.scheme
	head := binary.BigEndian.AppendUint32(nil, uint32(s.version))
	head = binary.BigEndian.AppendUint32(head, uint32(s.k))
	if s.version == 2 {
		head = binary.BigEndian.AppendUint32(head, uint32(s.seed))
	}
	return f.bits.writeBetween(w, binary.BigEndian.AppendUint32(head, uint32(s.m/64)), nil)
}
