// Package keyhash turns keys into the 64-bit hashes that every filter and sketch of this
// module works on. Users know its Hash as that of package bloom.
//
// A filter has one hash function and calls it once for each key; lines, lanes, probe
// positions and registers follow from the hash. There are four algorithms:
//
//   - XXH3 with a seed, for filters that are made on several machines and merged.
//   - SipHash-2-4 with a 128-bit secret, for the same where strangers choose the keys.
//   - NH with a random key, nearly as fast as XXH3, for sets that one process makes for
//     itself.
//   - MurmurHash64A, for layouts of other systems.
//
// A Hash is a plain value. All its methods are safe for concurrent use.
package keyhash

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/dchest/siphash"
	"github.com/zeebo/xxh3"
)

// Algorithm names a key hash function. Its number is part of the file format.
type Algorithm uint8

const (
	// XXH3 is XXH3-64 with a 64-bit seed, as specified by xxHash 0.8. It is fast and not
	// secret: everyone who knows the seed can construct collisions.
	XXH3 Algorithm = 0
	// SipHash is SipHash-2-4 keyed with a 128-bit secret. Without the secret no one can
	// construct colliding keys.
	SipHash Algorithm = 1
	// Murmur64A is MurmurHash64A with a 64-bit seed, for layouts of other systems only: it
	// is slower than XXH3, and keys that collide for all seeds are easy to construct.
	Murmur64A Algorithm = 2
	// NH adds up products of words of the key and of a secret, as UMAC does. Two keys
	// collide only for a tiny share of all secrets, and a hash takes little longer than with
	// XXH3. Files contain the secret; see Random.
	NH Algorithm = 3
)

// String returns the name in reports.
func (a Algorithm) String() string {
	switch a {
	case XXH3:
		return "xxh3"
	case SipHash:
		return "siphash"
	case Murmur64A:
		return "murmur64a"
	case NH:
		return "nh"
	}
	return fmt.Sprintf("algorithm %d", uint8(a))
}

// SecretSize is the length of a secret of SipHash and of NH in bytes.
const SecretSize = 16

// Hash is a key hash function: an algorithm with its seed or its secret.
// The zero value is XXH3 with seed 0. Hashes are comparable with ==.
type Hash struct {
	Algorithm Algorithm
	// Seed selects one of 2^64 XXH3 or Murmur64A functions. It must be 0 for the others.
	Seed uint64
	// Secret is the key of SipHash and of NH. It must be zero for the others.
	Secret [SecretSize]byte `json:"-"`
}

// Of returns the hash with the fields of one of package bloom.
func Of[A ~uint8](algorithm A, seed uint64, secret [SecretSize]byte) Hash {
	return Hash{Algorithm: Algorithm(algorithm), Seed: seed, Secret: secret}
}

// Random returns an NH function with a new random secret. Filters with different secrets
// cannot be merged.
func Random() Hash {
	h := Hash{Algorithm: NH}
	rand.Read(h.Secret[:]) // never fails
	return h
}

// HasSecret reports whether a is keyed with a secret instead of a seed.
func (a Algorithm) HasSecret() bool { return a == SipHash || a == NH }

// Validate reports whether the fields of h belong together.
func (h Hash) Validate() error {
	switch h.Algorithm {
	case XXH3, Murmur64A:
		if h.Secret != [SecretSize]byte{} {
			return fmt.Errorf("a secret was given for %v, which has none; use siphash or nh or leave the secret empty", h.Algorithm)
		}
	case SipHash, NH:
		if h.Seed != 0 {
			return fmt.Errorf("seed %d was given for %v, which takes a secret instead of a seed", h.Seed, h.Algorithm)
		}
		if h.Secret == [SecretSize]byte{} {
			return fmt.Errorf("%v needs a secret of 16 bytes that are not all zero", h.Algorithm)
		}
	default:
		return fmt.Errorf("unknown hash algorithm %d; known are 0 (xxh3), 1 (siphash), 2 (murmur64a) and 3 (nh)", uint8(h.Algorithm))
	}
	return nil
}

// Sum returns the hash of key. It does not allocate and does not keep key.
func (h *Hash) Sum(key []byte) uint64 {
	if h.Algorithm != XXH3 {
		return h.other(key)
	}
	if h.Seed == 0 {
		return xxh3.Hash(key) // less work than with a seed of 0
	}
	return xxh3.HashSeed(key, h.Seed)
}

// SumString is Sum for a string, without a copy.
func (h *Hash) SumString(key string) uint64 {
	return h.Sum(unsafe.Slice(unsafe.StringData(key), len(key)))
}

func (h *Hash) other(key []byte) uint64 {
	switch h.Algorithm {
	case NH:
		return scheduleOf(&h.Secret).sum(key)
	case Murmur64A:
		return SumMurmur64A(key, h.Seed)
	}
	k0 := binary.LittleEndian.Uint64(h.Secret[:8])
	k1 := binary.LittleEndian.Uint64(h.Secret[8:])
	return siphash.Hash(k0, k1, key)
}

// KeyID identifies a secret without revealing it, so that files can say which secret they
// need. For SipHash and NH it is the first eight bytes, little-endian, of the SHA-256 of the
// text "seen key id" and the secret; for the others it is 0.
func (h Hash) KeyID() uint64 {
	if !h.Algorithm.HasSecret() {
		return 0
	}
	d := sha256.Sum256(append([]byte("seen key id"), h.Secret[:]...))
	return binary.LittleEndian.Uint64(d[:8])
}

// String describes h for people: the algorithm with its seed or the id of its
// secret, never the secret itself.
func (h Hash) String() string {
	if !h.Algorithm.HasSecret() {
		return fmt.Sprintf("%v, seed %d", h.Algorithm, h.Seed)
	}
	return fmt.Sprintf("%v, key id %016x", h.Algorithm, h.KeyID())
}

// GoString hides the secret from %#v.
func (h Hash) GoString() string { return "keyhash.Hash{" + h.String() + "}" }
