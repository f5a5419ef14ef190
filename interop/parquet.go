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

func (u parquetType) check() error { return checkListed("parquet", "type", string(u), parquetTypes) }

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
// Any number of goroutines may ask while none changes the filter. The hash is public, so
// an attacker can choose keys that collide. The struct must not be copied.
type parquet struct {
	typ    parquetType
	blocks uint64
	bits   bitArray
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

// parquetConfig says how large a parquet is to be: for Capacity keys at ErrorRate, or
// of so many Bytes.
type parquetConfig struct {
	// Capacity is the number of keys, at least 1, and ErrorRate the rate at capacity,
	// between 0 and 1, exclusively. The array gets the length that most programs give
	// it, a power of two, and at most 128 MiB.
	Capacity  uint64
	ErrorRate float64
	// Bytes is the length of the array, a multiple of 32. With it, Capacity and
	// ErrorRate do not matter.
	Bytes uint64
	Type  parquetType
}

// newParquet returns an empty filter.
func newParquet(c parquetConfig) (*parquet, error) {
	if err := c.Type.check(); err != nil {
		return nil, err
	}
	size := c.Bytes
	if size == 0 {
		if err := checkWish(c.Capacity, c.ErrorRate); err != nil {
			return nil, err
		}
		wanted := -parquetProbes * float64(c.Capacity) / math.Log1p(-math.Pow(c.ErrorRate, 1.0/parquetProbes))
		if wanted > parquetMostBytes*8 {
			return nil, fmt.Errorf("parquet: %d keys at an error rate of %v take %.3g bytes, more than the limit of %d; lower the capacity or raise the error rate",
				c.Capacity, c.ErrorRate, wanted/8, parquetMostBytes)
		}
		size = parquetBlock
		for float64(size)*8 < wanted {
			size *= 2
		}
	}
	if size%parquetBlock != 0 || size > parquetMaxBytes {
		return nil, fmt.Errorf("parquet: an array of %d bytes; use a multiple of %d up to %d", size, parquetBlock, parquetMaxBytes)
	}
	f := &parquet{typ: c.Type, blocks: size / parquetBlock}
	var err error
	if f.bits, err = newBitArray(lsbFirst, size); err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	return f, nil
}

// openParquetFilter returns the filter that b, which is a header and an array and nothing
// behind it, holds for keys of a type. It refers to b, which must not change, and opening
// takes the same time for any length.
func openParquetFilter(b []byte, typ parquetType) (*parquet, error) {
	if err := typ.check(); err != nil {
		return nil, err
	}
	f, rest, err := parseParquet(b)
	if err == nil && len(rest) != 0 {
		err = fmt.Errorf("%d bytes follow the array of %d", len(rest), len(f.bits.b))
	}
	if err != nil {
		return nil, fmt.Errorf("parquet: %w: %w", ErrBadData, err)
	}
	f.typ = typ
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
	f := &parquet{blocks: uint64(size) / parquetBlock, bits: bitArray{order: lsbFirst, b: rest[:size]}}
	return f, rest[size:], nil
}

// size returns the length of the array in bytes.
func (f *parquet) size() uint64 { return f.blocks * parquetBlock }

// position returns the i-th position of a key whose hash is h.
func (f *parquet) position(h, i uint64) uint64 {
	block := h >> 32 * f.blocks >> 32
	bit := uint32(h) * parquetFactors[i] >> 27
	return block*parquetBlock*8 + i*32 + uint64(bit)
}

// Has reports whether key may have been added. A key that is not a value of the type was
// never added.
func (f *parquet) Has(key []byte) bool {
	var room [16]byte
	value, ok := f.typ.value(key, room[:])
	return ok && f.hasHash(xxhash.Sum64(value))
}

func (f *parquet) hasHash(h uint64) bool {
	return f.bits.hasEach(parquetProbes, func(i uint64) uint64 { return f.position(h, i) })
}

// Add adds key and reports whether it was certainly not there before. It fails with
// ErrReadOnly if f was opened from bytes, or if key is not a value of the type.
func (f *parquet) Add(key []byte) (bool, error) {
	if err := f.bits.mayChange(); err != nil {
		return false, err
	}
	var room [16]byte
	value, ok := f.typ.value(key, room[:])
	if !ok {
		return false, fmt.Errorf("parquet: key %q is not a value of the type %s", key, f.typ)
	}
	h := xxhash.Sum64(value)
	return f.bits.setEach(parquetProbes, func(i uint64) uint64 { return f.position(h, i) }), nil
}

// Clone returns a copy that shares nothing with f, and can be changed. It fails if there
// is not enough memory.
func (f *parquet) Clone() (*parquet, error) {
	g := *f
	return &g, g.bits.detach(0)
}

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
	return unite(&f.bits, f, other, func(g *parquet) (*bitArray, error) {
		return &g.bits, checkSame(same{"types", f.typ, g.typ}, same{"numbers of bytes", f.size(), g.size()})
	})
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
	m := f.size() * 8
	// The words that a key sets a bit in are eight slices, for what a bit can tell.
	slices := sizing.Params{Shape: sizing.Partitioned, M: m, K: parquetProbes}
	return bloom.Stats{
		Type: "parquet", Bits: m, Probes: parquetProbes, Layers: 1, Bytes: f.size(), Ones: ones, Fill: float64(ones) / float64(m),
		Cardinality: slices.Cardinality(ones), ErrorRate: rate / float64(f.blocks),
	}
}

// WriteTo writes the header and the array, as most programs do.
func (f *parquet) WriteTo(w io.Writer) (int64, error) {
	c := &countingWriter{w: w}
	head := binary.AppendUvarint([]byte{0x10 | thriftI32}, 2*f.size())
	for range 3 {
		// A union of which the first is chosen, a structure without fields.
		head = append(head, 0x10|thriftStruct, 0x10|thriftStruct, 0, 0)
	}
	if _, err := c.Write(append(head, 0)); err != nil {
		return c.done(err)
	}
	return c.done(f.bits.writeTo(c, f.size(), lsbFirst))
}
