package redisbloom

import "seen/internal/keyhash"

// Hash is the pair of numbers that stands for a key in a [Filter]: its
// probes are A, A+B, A+2B and so on, modulo 2^64 and then the length of the array.
type Hash struct{ A, B uint64 }

const (
	seed64 = 0xc6a4a7935bd1e995
	seed32 = 0x9747b28c
)

// Hash returns the hash of key by f's options: in 64-bit arithmetic, or in 32-bit
// arithmetic for some filters of early versions. It does not allocate.
func (f *Filter) Hash(key []byte) Hash { return hashOf(key, f.options) }

func hashOf(key []byte, options uint32) Hash {
	if options&force64 == 0 {
		a := keyhash.SumMurmur32(key, seed32)
		return Hash{uint64(a), uint64(keyhash.SumMurmur32(key, a))}
	}
	a := keyhash.SumMurmur64A(key, seed64)
	return Hash{a, keyhash.SumMurmur64A(key, a)}
}

// Hashes stores the hash of each key in hs, which must be at least as long as
// keys.
func (f *Filter) Hashes(hs []Hash, keys [][]byte) {
	hs = hs[:len(keys)]
	for i, key := range keys {
		hs[i] = f.Hash(key)
	}
}
