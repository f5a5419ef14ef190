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

	"seen/bloom"
	"seen/internal/keyhash"
)

// keyOf returns h as packages below know it.
func keyOf(h bloom.Hash) keyhash.Hash { return keyhash.Of(h.Algorithm, h.Seed, h.Secret) }

// hashOf is the reverse of keyOf.
func hashOf(k keyhash.Hash) bloom.Hash {
	return bloom.Hash{Algorithm: bloom.Algorithm(k.Algorithm), Seed: k.Seed, Secret: k.Secret}
}

// ErrIncompatible is matched by every [*IncompatibleError].
var ErrIncompatible = errors.New("sketches are not alike")

// IncompatibleError names the first difference of two sketches that cannot be combined.
type IncompatibleError struct {
	What string // what differs, such as "width" or "key hash"
	Want any    // that of the sketch that was to take the counts
	Have any    // that of the other
}

func (e *IncompatibleError) Error() string {
	return fmt.Sprintf("%v: their %s differs: %v and %v", ErrIncompatible, e.What, e.Want, e.Have)
}

// Is makes [ErrIncompatible] match e.
func (e *IncompatibleError) Is(target error) bool { return target == ErrIncompatible }
