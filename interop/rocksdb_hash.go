package interop

import (
	"encoding/binary"
	"math/bits"
)

// The hash of RocksDB's filters is a preview of XXH3, frozen before that was finished:
// libraries of XXH3 give other results. XXH3 kept the secret.

const xxph3Secret = "" +
	"\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x7c\x01\x81\x2c\xf7\x21\xad\x1c\xde\xd4\x6d\xe9\x83\x90\x97\xdb\x72\x40\xa4\xa4\xb7\xb3\x67\x1f" +
	"\xcb\x79\xe6\x4e\xcc\xc0\xe5\x78\x82\x5a\xd0\x7d\xcc\xff\x72\x21\xb8\x08\x46\x74\xf7\x43\x24\x8e\xe0\x35\x90\xe6\x81\x3a\x26\x4c" +
	"\x3c\x28\x52\xbb\x91\xc3\x00\xcb\x88\xd0\x65\x8b\x1b\x53\x2e\xa3\x71\x64\x48\x97\xa2\x0d\xf9\x4e\x38\x19\xef\x46\xa9\xde\xac\xd8" +
	"\xa8\xfa\x76\x3f\xe3\x9c\x34\x3f\xf9\xdc\xbb\xc7\xc7\x0b\x4f\x1d\x8a\x51\xe0\x4b\xcd\xb4\x59\x31\xc8\x9f\x7e\xc9\xd9\x78\x73\x64" +
	"\xea\xc5\xac\x83\x34\xd3\xeb\xc3\xc5\x81\xa0\xff\xfa\x13\x63\xeb\x17\x0d\xdd\x51\xb7\xf0\xda\x49\xd3\x16\x55\x26\x29\xd4\x68\x9e" +
	"\x2b\x16\xbe\x58\x7d\x47\xa1\xfc\x8f\xf8\xb8\xd1\x7a\xd0\x31\xce\x45\xcb\x3a\x8f\x95\x16\x04\x28\xaf\xd7\xfb\xca\xbb\x4b\x40\x7e"

// xxph3Words are the words of the secret from each offset on.
var xxph3Words = func() (words [len(xxph3Secret) - 7]uint64) {
	for i := range words {
		words[i] = binary.LittleEndian.Uint64([]byte(xxph3Secret[i : i+8]))
	}
	return words
}()

const (
	xxPrime1 = 0x9e3779b185ebca87
	xxPrime2 = 0xc2b2ae3d27d4eb4f
	xxPrime3 = 0x165667b19e3779f9
	xxPrime4 = 0x85ebca77c2b2ae63
	xxPrime5 = 0x27d4eb2f165667c5

	xxShort1 = 2654435761
	xxShort2 = 2246822519
	xxShort3 = 3266489917
)

// xxph3 is that hash of 64 bits with the seed 0.
func xxph3(b []byte) uint64 {
	n := uint64(len(b))
	switch {
	case n == 0:
		return xxFold(xxph3Words[0], xxPrime2)
	case n <= 3:
		c := uint32(b[0]) | uint32(b[n>>1])<<8 | uint32(b[n-1])<<16 | uint32(n)<<24
		return xxAvalanche(uint64(c^uint32(xxph3Words[0])) * xxPrime1)
	case n <= 8:
		k := uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<32
		k ^= xxph3Words[0]
		m := n + (k^k>>51)*xxShort1
		return xxAvalanche((m ^ m>>47) * xxPrime2)
	case n <= 16:
		low, high := binary.LittleEndian.Uint64(b)^xxph3Words[0], binary.LittleEndian.Uint64(b[n-8:])^xxph3Words[8]
		return xxAvalanche(n + low + high + xxFold(low, high))
	case n <= 128:
		sum := n * xxPrime1
		for i := (n - 1) / 32; ; i-- { // pairs of 16 bytes, from the middle out
			sum += xxMix(b[16*i:], int(32*i)) + xxMix(b[n-16*(i+1):], int(32*i+16))
			if i == 0 {
				return xxAvalanche(sum)
			}
		}
	case n <= 240:
		sum := n * xxPrime1
		for i := range 8 {
			sum += xxMix(b[16*i:], 16*i)
		}
		sum = xxAvalanche(sum)
		for i := 8; i < int(n/16); i++ {
			sum += xxMix(b[16*i:], 16*(i-8)+3)
		}
		return xxAvalanche(sum + xxMix(b[n-16:], 119))
	}
	return xxph3Long(b)
}

// xxph3Long hashes more than 240 bytes: stripes of 64, 16 of which are a block.
func xxph3Long(b []byte) uint64 {
	acc := [8]uint64{xxShort3, xxPrime1, xxPrime2, xxPrime3, xxPrime4, xxShort2, xxPrime5, xxShort1}
	stripe := func(at, secret int) {
		for i := range acc {
			v := binary.LittleEndian.Uint64(b[at+8*i:])
			k := v ^ xxph3Words[secret+8*i]
			acc[i] += v + (k&0xffffffff)*(k>>32)
		}
	}
	n := len(b)
	for i := range n / 64 {
		stripe(64*i, i%16*8)
		if i%16 == 15 {
			for j := range acc {
				acc[j] = (acc[j] ^ acc[j]>>47 ^ xxph3Words[128+8*j]) * xxShort1
			}
		}
	}
	if n%64 != 0 {
		stripe(n-64, 121)
	}
	sum := uint64(n) * xxPrime1
	for i := range 4 {
		sum += xxFold(acc[2*i]^xxph3Words[11+16*i], acc[2*i+1]^xxph3Words[19+16*i])
	}
	return xxAvalanche(sum)
}

// xxFold is the product of 128 bits, its halves combined.
func xxFold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func xxAvalanche(h uint64) uint64 {
	h = (h ^ h>>37) * xxPrime3
	return h ^ h>>32
}

// xxMix folds 16 bytes with those of the secret from an offset on.
func xxMix(b []byte, secret int) uint64 {
	return xxFold(binary.LittleEndian.Uint64(b)^xxph3Words[secret], binary.LittleEndian.Uint64(b[8:])^xxph3Words[secret+8])
}
