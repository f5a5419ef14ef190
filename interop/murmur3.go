package interop

import "github.com/twmb/murmur3"

// murmur3Of returns the two halves of MurmurHash3 for x64, 128 bits, with seed 0.
func murmur3Of(key []byte) (h1, h2 uint64) { return murmur3.Sum128(key) }

// murmur3Of1 is murmur3Of of key with a byte 1 appended. It allocates memory only for
// keys of 128 bytes and more.
func murmur3Of1(key []byte) (h1, h2 uint64) {
	var room [128]byte
	if len(key) < len(room) {
		return murmur3.Sum128(append(append(room[:0], key...), 1))
	}
	h := murmur3.New128()
	h.Write(key) // never fails
	h.Write([]byte{1})
	return h.Sum128()
}
