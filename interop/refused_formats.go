package interop

import (
	"bytes"
	"encoding/binary"
	"math"

	"seen/internal/rdb"
)

// Formats that are recognised, so that their owner is told what a file is and what to do
// with it, and not opened.

// refusedFormats are those formats.
var refusedFormats = []*format{
	{
		name: "dragonfly", system: "Dragonfly, BF.SCANDUMP", sign: "a header whose sub-filters give the exact length",
		detect: detects("dragonfly", Likely, isDragonfly),
		refused: "it uses another hash than RedisBloom, and there was no file to compare answers with; " +
			"build the filter from its keys",
	},
	{
		name: "valkey-bloom", system: "Valkey's module bloom", sign: "the name of the module",
		detect: detects("valkey-bloom", Certain, func(b []byte) bool { return bytes.HasPrefix(b, valkeyMark) }),
		refused: "it uses another hash than RedisBloom, and has no chunks to load elsewhere; " +
			"restore it in Valkey, or build the filter from its keys",
	},
	{
		name: "poppy", system: "poppy, version 2", sign: "its version and level, zeros, and an error rate",
		detect:  detects("poppy", Likely, isPoppy),
		refused: "its hash changed between releases, and the file does not say which one it uses; write it as version 1, which is the dcso format",
	},
	{
		name: "java-serialization", system: "a serialised object of Java", sign: "the beginning of an object stream",
		detect: detects("java-serialization", Likely, func(b []byte) bool { return bytes.HasPrefix(b, []byte{0xac, 0xed, 0, 5}) }),
		refused: "only Java with its classes can read it; load it there and use the filter's own export: " +
			"BloomFilter.writeTo of Guava or Spark, BitSet.toByteArray",
	},
	{
		name: "python-pickle", system: "a pickle of Python", sign: "the beginning and the end of a pickle",
		detect: detects("python-pickle", Likely, func(b []byte) bool {
			return len(b) > 2 && b[0] == 0x80 && b[1] >= 2 && b[1] <= 5 && b[len(b)-1] == '.'
		}),
		refused: "a pickle is a program that Python runs with the classes that made it; load it there and use the filter's own " +
			"export: export of pyprobables, tobytes of bitarray",
	},
	{
		name: "go-gob", system: "a stream of Go's gob", sign: "the definition of a type",
		detect:  detects("go-gob", Likely, isGob),
		refused: "it has types of the program that made it; load it there and use the filter's own export: WriteTo of bits-and-blooms",
	},
}

// detects is the detect function of a format whose parameters content does not tell.
func detects(name string, c Confidence, is func(b []byte) bool) func(b []byte) (Confidence, Spec, bool) {
	return func(b []byte) (Confidence, Spec, bool) { return c, Spec{Name: name}, is(b) }
}

// valkeyMark is what the payload of DUMP begins with for a filter of Valkey's module,
// except for the encoding.
var valkeyMark = binary.BigEndian.AppendUint64([]byte{rdb.KindModule, 0x81}, rdb.ModuleID("bloomfltr", 0))[:8]

// isDragonfly reports whether b is the header of Dragonfly's dump, by itself or with the
// bits of each sub-filter behind what it says of it. All numbers are little-endian: the
// version 1 in 32 bits and the growth, a float of 64; for each sub-filter the number of
// hashes in 32 bits, the bytes, a power of two, in 64, the error rate, a float of 64, the
// capacity, and the keys in it now and before, in 64 bits each.
func isDragonfly(b []byte) bool {
	const head, part = 12, 44
	if len(b) < head+part || binary.LittleEndian.Uint32(b) != 1 {
		return false
	}
	if growth := math.Float64frombits(binary.LittleEndian.Uint64(b[4:])); !(growth >= 1 && growth <= 1<<20) {
		return false
	}
	for _, withBits := range []bool{false, true} {
		rest := b[head:]
		for len(rest) >= part {
			hashes, size := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint64(rest[4:])
			rate := math.Float64frombits(binary.LittleEndian.Uint64(rest[12:]))
			if hashes == 0 || hashes > foreignMaxProbes || size == 0 || size&(size-1) != 0 || !(rate > 0 && rate < 1) {
				break
			}
			rest = rest[part:]
			if withBits {
				if size > uint64(len(rest)) {
					return false
				}
				rest = rest[size:]
			}
		}
		if len(rest) == 0 {
			return true
		}
	}
	return false
}

// isPoppy reports whether b begins as a file of poppy's version 2: 2, a level up to 3,
// six zeros, the capacity in 64 bits and the error rate, a float of 64, little-endian.
func isPoppy(b []byte) bool {
	if len(b) < 24 || b[0] != 2 || b[1] > 3 || !bytes.Equal(b[2:8], make([]byte, 6)) {
		return false
	}
	rate := math.Float64frombits(binary.LittleEndian.Uint64(b[16:]))
	return binary.LittleEndian.Uint64(b[8:]) != 0 && rate > 0 && rate < 1
}

// isGob reports whether b begins with the definition of a type: the length of the
// message, the number of the type, negative and of a first few, what kind of type it is,
// and that its name follows, or without one its number.
func isGob(b []byte) bool {
	length, rest := 0, b
	switch {
	case len(b) > 1 && b[0] < 0x80:
		length, rest = int(b[0]), b[1:]
	case len(b) > 2 && b[0] == 0xff:
		length, rest = int(b[1]), b[2:]
	}
	if length < 8 || length > len(rest) {
		return false
	}
	switch {
	case rest[0] == 0x7f:
		rest = rest[1:]
	case rest[0] == 0xff && rest[1] >= 0x81 && rest[1]%2 == 1:
		rest = rest[2:]
	default:
		return false
	}
	return rest[0] >= 1 && rest[0] <= 7 && rest[1] == 1 && (rest[2] == 1 || rest[2] == 2)
}
