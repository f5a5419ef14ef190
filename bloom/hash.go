package bloom

import (
	"fmt"

	"seen/internal/keyhash"
)

// Algorithm names a key hash function. Its number is part of the file format.
type Algorithm uint8

const (
	XXH3      Algorithm = 0 // XXH3-64 with a 64-bit seed: fast, and not secret
	SipHash   Algorithm = 1 // SipHash-2-4 with a 128-bit secret, which files do not contain
	Murmur64A Algorithm = 2 // MurmurHash64A with a seed, for layouts of other systems only
	NH        Algorithm = 3 // fast, with a random 128-bit secret, which files contain
)

// String returns the name in reports: "xxh3", "siphash", "murmur64a" or "nh".
func (a Algorithm) String() string { return keyhash.Algorithm(a).String() }

// HasSecret reports whether a takes a secret instead of a seed.
func (a Algorithm) HasSecret() bool { return keyhash.Algorithm(a).HasSecret() }

// Hash is a key hash function: an algorithm with its seed or its secret. The zero
// value is XXH3 with seed 0. Two filters can be merged or compared only if their
// hashes are equal. All methods are safe for concurrent use.
//
// Everybody can construct keys that collide under a hash that is known. Where keys
// come from strangers use [RandomHash], or [SecretHash] for filters that several
// processes make and merge.
type Hash struct {
	Algorithm Algorithm
	// Seed selects one of 2^64 functions of XXH3 or Murmur64A. It is 0 for the others.
	Seed uint64
	// Secret is the key of SipHash or NH. It is zero for the others.
	Secret [16]byte `json:"-"`
}

// SecretHash returns the SipHash-2-4 function keyed with secret, which must not be
// all zero.
func SecretHash(secret [16]byte) Hash { return Hash{Algorithm: SipHash, Secret: secret} }

// RandomHash returns an NH function with a new random secret. It is nearly as fast as
// XXH3. Two keys that were chosen without knowing the secret collide for one secret in
// 2^60, or in 2^60 divided by their length in KiB. Filters with different secrets
// cannot be merged. Files contain the secret: keep them from the people who send keys.
func RandomHash() Hash { return hashOf(keyhash.Random()) }

// Sum returns the hash of key, which calls such as AddHash and HasHash take. It does
// not allocate.
func (h Hash) Sum(key []byte) uint64 {
	k := h.key()
	return k.Sum(key)
}

// SumString is Sum for a string, without a copy.
func (h Hash) SumString(key string) uint64 {
	k := h.key()
	return k.SumString(key)
}

// SumKeys stores the hash of each key in hs, which must be at least as long as keys.
// It takes less time than Sum for each.
func (h Hash) SumKeys(hs []uint64, keys [][]byte) {
	k := h.key()
	k.SumKeys(hs, keys)
}

// SumStrings is SumKeys for strings.
func (h Hash) SumStrings(hs []uint64, keys []string) {
	k := h.key()
	k.SumStrings(hs, keys)
}

// Validate reports whether the fields of h belong together.
func (h Hash) Validate() error {
	k := h.key()
	return k.Validate()
}

// KeyID identifies the secret of h without revealing it, so that files can say which
// secret they need. It is 0 for a hash without a secret.
func (h Hash) KeyID() uint64 {
	k := h.key()
	return k.KeyID()
}

// String describes h for people: the algorithm with its seed or the id of its secret,
// never the secret.
func (h Hash) String() string {
	k := h.key()
	return k.String()
}

// GoString hides the secret from %#v.
func (h Hash) GoString() string { return fmt.Sprintf("bloom.Hash{%v}", h) }

// key returns h as packages below know it.
func (h Hash) key() keyhash.Hash {
	return keyhash.Of(h.Algorithm, h.Seed, h.Secret)
}

func hashOf(k keyhash.Hash) Hash {
	return Hash{Algorithm: Algorithm(k.Algorithm), Seed: k.Seed, Secret: k.Secret}
}
