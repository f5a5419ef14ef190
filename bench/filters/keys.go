package main

import "github.com/zeebo/xxh3"

// keyKind makes key i of a kind; different i give different keys.
type keyKind struct {
	name   string
	length int
	put    func(b []byte, i uint64)
}

var keyKinds = map[string]keyKind{
	"random16": {"16 random bytes", 16, func(b []byte, i uint64) {
		for at := range 2 {
			x := mix(2*i + uint64(at))
			for j := range 8 {
				b[8*at+j] = byte(x >> (8 * j))
			}
		}
	}},
	"url60": {"URLs of 60 bytes", 60, func(b []byte, i uint64) {
		const digits = "0123456789abcdef"
		n := copy(b, "https://www.example.org/archive/page/")
		for x := mix(i); n < 37+16; n++ {
			b[n] = digits[x&15]
			x >>= 4
		}
		copy(b[n:], "/p.html")
	}},
}

// mix is a bijection of 64 bits that looks random (splitmix64).
func mix(x uint64) uint64 {
	x = (x + 1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// absent is the number of the first key that is not added to any filter.
const absent = 1 << 40

// keySet is a list of keys, consecutive in memory, with their hashes for the rows that
// begin with hashes.
type keySet struct {
	keys   [][]byte
	hashes []uint64
}

// reserve makes a set with room for n keys.
func reserve(k keyKind, n int) *keySet {
	s := &keySet{make([][]byte, n), make([]uint64, n)}
	flat := make([]byte, n*k.length)
	for i := range s.keys {
		s.keys[i] = flat[i*k.length : (i+1)*k.length : (i+1)*k.length]
	}
	return s
}

// fill sets the first n keys of s to the keys with the numbers that number returns.
func (s *keySet) fill(k keyKind, n int, number func(i int) uint64) keySet {
	for i := range n {
		k.put(s.keys[i], number(i))
		s.hashes[i] = xxh3.Hash(s.keys[i])
	}
	return keySet{s.keys[:n], s.hashes[:n]}
}
