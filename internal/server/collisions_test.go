package server

import (
	"encoding/binary"
	"math/bits"
)

// collidingKeys returns 2^pairs keys of 16*pairs bytes that have one MurmurHash64A,
// whatever its seed.
//
// The function reads the key in words of 8 bytes, mixes each on its own, and computes
//
//	h = (h xor stirred) * m
//
// with an odd m. If the top bit of one stirred word is turned over, so is the top
// bit of h, and no other: multiplying by an odd number keeps a difference of 2^63
// as it is. Turned over in the next word too, it cancels. Stirring can be undone, so
// that there is a word for every stirred one. This holds for every h, and so for
// every seed.
func collidingKeys(pairs int) [][]byte {
	keys := make([][]byte, 1<<pairs)
	for i := range keys {
		for pair := range pairs {
			for _, word := range []uint64{uint64(2*pair + 1), uint64(2*pair + 2)} {
				stirred := stir(word) ^ uint64(i>>pair&1)<<63
				keys[i] = binary.LittleEndian.AppendUint64(keys[i], unstir(stirred))
			}
		}
	}
	return keys
}

const (
	murmurM = 0xc6a4a7935bd1e995
	murmurR = 47
)

func stir(k uint64) uint64 {
	k *= murmurM
	k ^= k >> murmurR
	return k * murmurM
}

func unstir(k uint64) uint64 {
	k *= inverse(murmurM)
	k ^= k >> murmurR // undoes itself: twice 47 is more than 64
	return k * inverse(murmurM)
}

// inverse returns the number whose product with m, which is odd, is one.
func inverse(m uint64) uint64 {
	x := m // right in three bits, and each step doubles them
	for range bits.Len(64) {
		x *= 2 - m*x
	}
	return x
}
