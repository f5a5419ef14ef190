package interop

import (
	"encoding/binary"
	"math/bits"
)

// sparkMurmur3 is MurmurHash3 for x86, 32 bits, as Spark has it: the bytes after the last
// whole word are not combined: each is sign-extended and mixed in as a word of its own.
// (Go modules with this hash follow its author instead.)
func sparkMurmur3(key []byte, seed uint32) uint32 {
	h := seed
	mix := func(k uint32) {
		h ^= bits.RotateLeft32(k*0xcc9e2d51, 15) * 0x1b873593
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	rest := key
	for ; len(rest) >= 4; rest = rest[4:] {
		mix(binary.LittleEndian.Uint32(rest))
	}
	for _, b := range rest {
		mix(uint32(int8(b)))
	}
	h ^= uint32(len(key))
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
