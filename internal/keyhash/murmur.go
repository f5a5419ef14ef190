package keyhash

import "encoding/binary"

const murmurMul = 0xc6a4a7935bd1e995

// SumMurmur64A returns the MurmurHash64A of key, by Austin Appleby, who put it in the public
// domain. Other systems compute positions of keys by it. Keys that collide for any seed are
// easy to construct. No maintained module has this variant of Murmur.
func SumMurmur64A(key []byte, seed uint64) uint64 {
	h := seed ^ uint64(len(key))*murmurMul
	for ; len(key) >= 8; key = key[8:] {
		k := binary.LittleEndian.Uint64(key) * murmurMul
		k = (k ^ k>>47) * murmurMul
		h = (h ^ k) * murmurMul
	}
	if len(key) > 0 {
		var tail [8]byte
		copy(tail[:], key)
		h = (h ^ binary.LittleEndian.Uint64(tail[:])) * murmurMul
	}
	h = (h ^ h>>47) * murmurMul
	return h ^ h>>47
}

// SumMurmur32 returns the MurmurHash2 of 32 bits of key, by Austin Appleby, who put it in the public
// domain. (Modules with a hash of this name have the third version.)
func SumMurmur32(key []byte, seed uint32) uint32 {
	const mul = 0x5bd1e995
	h := seed ^ uint32(len(key))
	for ; len(key) >= 4; key = key[4:] {
		k := binary.LittleEndian.Uint32(key) * mul
		k = (k ^ k>>24) * mul
		h = h*mul ^ k
	}
	if len(key) > 0 {
		var tail [4]byte
		copy(tail[:], key)
		h = (h ^ binary.LittleEndian.Uint32(tail[:])) * mul
	}
	h = (h ^ h>>13) * mul
	return h ^ h>>15
}
