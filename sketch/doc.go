// Package sketch answers "how often was this key seen?" and "how many different
// keys were seen?" in memory that does not grow with the stream, within stated
// errors.
//
// [CountMin] counts each key; its counts are never too low. [HyperLogLog] and
// [FlajoletMartin] estimate the number of distinct keys; HyperLogLog needs a
// quarter of the memory for the same error and is the one to use, FlajoletMartin
// is its ancestor, simpler to read and to port. [TopK] finds the most frequent keys.
// [CountMin32] is CountMin in half the memory for one goroutine that adds and any
// number that ask. To ask whether a key was seen is for the filters of package bloom.
//
// Sketches of the same kind, size and hash can be merged, all but TopK, so that parts
// of a stream can be counted on several machines. Encoded they are files in the format
// of docs/FORMAT.md.
//
// Everything derives from one 64-bit hash of the key. Two keys with equal hashes
// are one key to a sketch, which n keys make happen about n*n/2^65 times.
//
// Any number of goroutines may read a sketch at the same time, as long as none
// changes it; CountMin32 allows more.
package sketch

import (
	"errors"
	"fmt"

	"seen/internal/keyhash"
)

// Hash is the key hash of a sketch: an algorithm with its seed or its secret.
// The zero value is XXH3 with seed 0. Two sketches can be merged only if their
// hashes are equal.
//
// Use [SecretHash] where keys come from strangers: with a known hash anybody can
// construct keys that push up the count of another key or that leave a
// cardinality unchanged.
type Hash = keyhash.Hash

// Algorithms for [Hash].
const (
	XXH3    = keyhash.XXH3    // fast, with a seed
	SipHash = keyhash.SipHash // SipHash-2-4, with a 128-bit secret
	NH      = keyhash.NH      // fast, with a random secret that is kept in the file
)

// SecretHash returns the SipHash-2-4 function keyed with secret, which must not
// be all zero.
func SecretHash(secret [keyhash.SecretSize]byte) Hash { return keyhash.Keyed(secret) }

// ErrIncompatible is matched by errors about sketches that cannot be merged
// because their sizes, their way of counting or their hashes differ. The text
// names the difference.
var ErrIncompatible = errors.New("sketches are not alike")

// differ is the error for two sketches that differ in what.
func differ(what string, a, b any) error {
	return fmt.Errorf("%w: their %s differs: %v and %v", ErrIncompatible, what, a, b)
}

func checkHash(h Hash) error {
	if err := h.Validate(); err != nil {
		return err
	}
	return nil
}
