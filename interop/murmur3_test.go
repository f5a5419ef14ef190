package interop

import (
	"bytes"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// plainMurmur3 is MurmurHash3 for x64, 128 bits, seed 0, byte by byte: a second way
// to hash for the tests of those formats that use it.
func plainMurmur3(key []byte) (h1, h2 uint64) {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	half := func(b []byte) (k uint64) {
		for i, x := range b {
			k |= uint64(x) << (8 * i)
		}
		return k
	}
	rest := key
	for ; len(rest) >= 16; rest = rest[16:] {
		h1 ^= bits.RotateLeft64(half(rest[:8])*c1, 31) * c2
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= bits.RotateLeft64(half(rest[8:16])*c2, 33) * c1
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}
	h1 ^= bits.RotateLeft64(half(rest[:min(8, len(rest))])*c1, 31) * c2
	h2 ^= bits.RotateLeft64(half(rest[min(8, len(rest)):])*c2, 33) * c1
	h1 ^= uint64(len(key))
	h2 ^= uint64(len(key))
	h1 += h2
	h2 += h1
	finish := func(k uint64) uint64 {
		k = (k ^ k>>33) * 0xff51afd7ed558ccd
		k = (k ^ k>>33) * 0xc4ceb9fe1a85ec53
		return k ^ k>>33
	}
	h1, h2 = finish(h1), finish(h2)
	h1 += h2
	return h1, h1 + h2
}

// anchorKeys are the keys of which the hashes are known, from the functions' own
// programs: nothing, "a", "hello world", the bytes 0 to 99, and 300 times "x".
func anchorKeys() [][]byte {
	var upTo99 []byte
	for i := range byte(100) {
		upTo99 = append(upTo99, i)
	}
	return [][]byte{{}, []byte("a"), []byte("hello world"), upTo99, bytes.Repeat([]byte("x"), 300)}
}

func TestMurmur3(t *testing.T) {
	for i, want := range []string{
		"00000000000000000000000000000000", "85555565f6597889e6b53a48510e895a", "533f6046eb7f610eab97467d60eb63b1",
		"b06f9999c14051ca0fbd6d93c8340799", "5934efe32fb7671da0a50b1d771cd844",
	} {
		key := anchorKeys()[i]
		h1, h2 := murmur3Of(key)
		p1, p2 := plainMurmur3(key)
		if got, plain := fmt.Sprintf("%016x%016x", h1, h2), fmt.Sprintf("%016x%016x", p1, p2); got != want || plain != want {
			t.Errorf("%q: %s, the plain way %s, want %s", key, got, plain, want)
		}
	}
	r := rand.New(rand.NewPCG(3, 1))
	key := make([]byte, 300)
	for i := range key {
		key[i] = byte(r.Uint32())
	}
	for n := range key {
		a1, a2 := murmur3Of(key[:n])
		b1, b2 := plainMurmur3(key[:n])
		c1, c2 := murmur3Of1(key[:n])
		d1, d2 := plainMurmur3(append(bytes.Clone(key[:n]), 1))
		if a1 != b1 || a2 != b2 || c1 != d1 || c2 != d2 {
			t.Errorf("%d bytes: %x %x and %x %x, with a byte behind %x %x and %x %x", n, a1, a2, b1, b2, c1, c2, d1, d2)
		}
	}
}
