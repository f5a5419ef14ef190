package interop

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/bits"
	"runtime"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"seen/bloom"
	"seen/sizing"
)

// parquetType is the type of the values in a column of Parquet. It determines which bytes
// are hashed for a key: those of the encoding PLAIN, without a length.
type parquetType string

// The types of keys. Columns of dates are INT32 in days, those of timestamps INT64 in
// the column's unit; decimals are INT32, INT64 or bytes, big-endian.
const (
	parquetString parquetType = "string" // BYTE_ARRAY: text as UTF-8
	parquetBinary parquetType = "binary" // BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY, INT96: the bytes themselves
	parquetInt32  parquetType = "int32"  // INT32
	parquetInt64  parquetType = "int64"  // INT64
	parquetFloat  parquetType = "float"  // FLOAT: a number in decimal
	parquetDouble parquetType = "double" // DOUBLE: a number in decimal
	parquetUUID   parquetType = "uuid"   // FIXED_LEN_BYTE_ARRAY of 16 bytes: 32 hexadecimal digits, with or without hyphens
)

var parquetTypes = []string{
	string(parquetString), string(parquetBinary), string(parquetInt32), string(parquetInt64), string(parquetFloat), string(parquetDouble), string(parquetUUID),
}

// value returns the bytes that are hashed for a key, and false if the type has no such
// value. They may be in room, which has 16 bytes.
func (u parquetType) value(key, room []byte) ([]byte, bool) {
	switch u {
	case parquetInt64:
		return key, len(key) == 8
	case parquetInt32:
		if len(key) != 8 {
			return nil, false
		}
		v := int64(binary.LittleEndian.Uint64(key))
		return key[:4], v == int64(int32(v))
	case parquetFloat:
		v, err := strconv.ParseFloat(string(key), 32)
		return binary.LittleEndian.AppendUint32(room[:0], math.Float32bits(float32(v))), err == nil
	case parquetDouble:
		v, err := strconv.ParseFloat(string(key), 64)
		return binary.LittleEndian.AppendUint64(room[:0], math.Float64bits(v)), err == nil
	case parquetUUID:
		if len(key) == 36 && key[8] == '-' && key[13] == '-' && key[18] == '-' && key[23] == '-' {
			var digits [32]byte
			at := digits[:0]
			for _, part := range [][]byte{key[:8], key[9:13], key[14:18], key[19:23], key[24:]} {
				at = append(at, part...)
			}
			key = at
		}
		if len(key) != 32 {
			return nil, false
		}
		n, err := hex.Decode(room[:16], key)
		return room[:n], err == nil
	}
	return key, true
}

// parquet is a split-block Bloom filter of the Parquet format, alone: what is in a file
// for one column of one row group, see parquetFile. It answers as every program does that
// follows the specification.
//
// The bytes are a header in the compact protocol of Thrift: the number of bytes of the
// array, and the names of its algorithm, its hash and its compression, of which there is
// one each. The array follows: blocks of 256 bits, eight little-endian words of 32.
//
// The high half of the key's XXH64 hash picks a block, as a fraction of their number. The
// low half, times a constant for each of the eight words, has in its top five bits
// which bit of that word belongs to the key.
//
// See plain for what goroutines may do.
type parquet struct{ plain[parquetScheme] }

// parquetScheme is how programs map a key to positions.
type parquetScheme struct {
	typ    parquetType
	blocks uint64
}

const (
	parquetBlock  = 32 // bytes
	parquetProbes = 8
	// parquetMaxBytes is the longest array whose length the header can say.
	parquetMaxBytes = math.MaxInt32 / parquetBlock * parquetBlock
	// parquetMostBytes is the longest that other programs make.
	parquetMostBytes = 128 << 20
)

// parquetFactors are of the specification.
var parquetFactors = [parquetProbes]uint32{0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31}

// createParquet returns an empty filter. Its array has the length that s names or, for a
// number of keys and an error rate, that most programs give it, a power of two.
func createParquet(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
	if err := needParquetType(s); err != nil {
		return nil, err
	}
	size, err := s.number("bytes", parquetBlock, parquetMaxBytes)
	if err != nil {
		return nil, err
	}
	if size == 0 {
		wanted := -parquetProbes * float64(capacity) / math.Log1p(-math.Pow(errorRate, 1.0/parquetProbes))
		if wanted > parquetMostBytes*8 {
			return nil, fmt.Errorf("parquet: %d keys at an error rate of %v take %.3g bytes, more than the limit of %d; lower the capacity or raise the error rate",
				capacity, errorRate, wanted/8, parquetMostBytes)
		}
		size = parquetBlock
		for float64(size)*8 < wanted {
			size *= 2
		}
	}
	if size%parquetBlock != 0 {
		return nil, fmt.Errorf("parquet: an array of %d bytes; use a multiple of %d up to %d", size, parquetBlock, parquetMaxBytes)
	}
	p, err := newPlain(parquetScheme{parquetType(s.Params["type"]), size / parquetBlock}, lsbFirst, size, 0, 0)
	return foreign(&parquet{p}, err)
}

// parseParquetFilter returns the filter that b, which is a header and an array and nothing
// behind it, holds for keys of the type that s names. It refers to b, which must not
// change, and takes the same time for any length.
func parseParquetFilter(b []byte, s Spec) (*parquet, error) {
	f, rest, err := parseParquet(b)
	if err == nil && len(rest) != 0 {
		err = fmt.Errorf("%d bytes follow the array of %d", len(rest), len(f.bits.b))
	}
	if err != nil {
		return nil, err
	}
	f.scheme.typ = parquetType(s.Params["type"])
	return f, nil
}

// parquetMaxHead is far above the 15 bytes of a header, which may get more fields. In a
// file any number of columns can point to the same one.
const parquetMaxHead = 1 << 10

// parseParquet returns the filter that b begins with, and what follows it.
func parseParquet(b []byte) (*parquet, []byte, error) {
	r := &thriftReader{b: b[:min(len(b), parquetMaxHead)]}
	size := int64(-1)
	names := [3]int64{-1, -1, -1} // of the algorithm, the hash and the compression
	r.fields(func(id int64, typ byte) bool {
		switch {
		case id == 1 && typ == thriftI32:
			size = r.number()
		case id >= 2 && id <= 4 && typ == thriftStruct:
			r.fields(func(name int64, _ byte) bool {
				names[id-2] = name
				return false
			})
		default:
			return false
		}
		return true
	})
	rest := b[min(len(b), parquetMaxHead)-len(r.b):]
	switch {
	case r.err != nil:
		return nil, nil, r.err
	case names != [3]int64{1, 1, 1}:
		return nil, nil, fmt.Errorf("algorithm %d, hash %d, compression %d; seen reads 1, 1, 1 (split blocks, XXH64, none); -1 is a missing field", names[0], names[1], names[2])
	case size <= 0 || size%parquetBlock != 0:
		return nil, nil, fmt.Errorf("an array of %d bytes, not a multiple of %d", size, parquetBlock)
	case size > int64(len(rest)):
		return nil, nil, fmt.Errorf("the header says an array of %d bytes; there are %d", size, len(rest))
	}
	return &parquet{opened(parquetScheme{blocks: uint64(size) / parquetBlock}, lsbFirst, rest[:size])}, rest[size:], nil
}

// position returns the i-th position of a key whose hash is h.
func (f parquetScheme) position(h, i uint64) uint64 {
	block := h >> 32 * f.blocks >> 32
	bit := uint32(h) * parquetFactors[i] >> 27
	return block*parquetBlock*8 + i*32 + uint64(bit)
}

func (f parquetScheme) positions(dst []uint64, key []byte) ([]uint64, error) {
	var room [16]byte
	value, ok := f.typ.value(key, room[:])
	if !ok {
		return nil, fmt.Errorf("parquet: key %q is not a value of the type %s", key, f.typ)
	}
	h := xxhash.Sum64(value)
	for i := range uint64(parquetProbes) {
		dst = append(dst, f.position(h, i))
	}
	return dst, nil
}

func (f parquetScheme) size() (m, k uint64) { return f.blocks * parquetBlock * 8, parquetProbes }
func (parquetScheme) name() string          { return "parquet" }

func (f parquetScheme) params() []Field {
	return []Field{{"types", string(f.typ)}, {"numbers of bytes", strconv.FormatUint(f.blocks*parquetBlock, 10)}}
}

// Has reports whether key may have been added. A key that is not a value of the type was
// never added. Unlike that of plain it calculates no position after a zero bit.
func (f *parquet) Has(key []byte) bool {
	var room [16]byte
	value, ok := f.scheme.typ.value(key, room[:])
	return ok && f.hasHash(xxhash.Sum64(value))
}

func (f *parquet) hasHash(h uint64) bool {
	for i := range uint64(parquetProbes) {
		if !f.bits.has(f.scheme.position(h, i)) {
			return false
		}
	}
	return true
}

// Add adds key and reports whether it was certainly not there before. The file does not
// say how many keys were added, so they are not counted.
func (f *parquet) Add(key []byte) (bool, error) { return f.set(key) }

// Union adds the keys of other, which must be a parquet, or a parquetFile of which one
// filter was selected, with the same type and length. Otherwise it returns an error that
// wraps bloom.ErrIncompatible.
func (f *parquet) Union(other Reader) error {
	if file, ok := other.(*parquetFile); ok {
		one, err := file.one()
		if err != nil {
			return err
		}
		other = one
	}
	return f.plain.Union(other)
}

// Stats describes the filter. It reads the whole array.
func (f *parquet) Stats() bloom.Stats {
	ones, rate := uint64(0), 0.0
	for b := f.bits.b; len(b) > 0; b = b[parquetBlock:] {
		// A key that was not added asks for a block, and in each of its words a bit,
		// all equally likely.
		hit := 1.0
		for i := range parquetProbes {
			n := bits.OnesCount32(binary.LittleEndian.Uint32(b[4*i:]))
			ones += uint64(n)
			hit *= float64(n) / 32
		}
		rate += hit
	}
	runtime.KeepAlive(f)
	m, k := f.scheme.size()
	// The words that a key sets a bit in are eight slices, for what a bit can tell.
	slices := sizing.Params{Shape: sizing.Partitioned, M: m, K: int(k)}
	return bloom.Stats{
		Type: "parquet", Bits: m, Probes: int(k), Layers: 1, Bytes: m / 8, Ones: ones, Fill: float64(ones) / float64(m),
		Cardinality: slices.Cardinality(ones), ErrorRate: rate / float64(f.scheme.blocks),
	}
}

// WriteTo writes the header and the array, as most programs do.
func (f *parquet) WriteTo(w io.Writer) (int64, error) {
	head := binary.AppendUvarint([]byte{0x10 | thriftI32}, 2*f.scheme.blocks*parquetBlock)
	for range 3 {
		// A union of which the first is chosen, a structure without fields.
		head = append(head, 0x10|thriftStruct, 0x10|thriftStruct, 0, 0)
	}
	return f.bits.writeBetween(w, append(head, 0), nil)
}
