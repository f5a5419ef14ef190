// Package sketch answers two questions about a stream, within stated errors and in memory
// that does not grow: how often was this key seen, and how many different keys were seen?
// Whether a key was seen at all is a question for the filters of package bloom.
//
//   - [CountMin] counts each key. Its counts are never too low.
//   - [CountMin32] is CountMin in half the memory, for one goroutine that adds and any
//     number that ask.
//   - [HyperLogLog] estimates the number of distinct keys.
//   - [FlajoletMartin] does so in four times the memory for the same error. It is the
//     ancestor of HyperLogLog, easier to read and to port.
//   - [TopK] finds the most frequent keys.
//
// Sketches of the same type, size and hash can be merged, except TopK, so you can count
// parts of a stream on several machines. Encoded sketches are files in the format of
// docs/FORMAT.md.
//
// A sketch hashes a key once, to 64 bits, by a [bloom.Hash]. Two keys with equal hashes are
// one key to a sketch; among n keys, about n*n/2^65 pairs have equal hashes. Everybody can
// construct keys that collide under a hash that is known: where keys come from strangers
// use [bloom.RandomHash] or [bloom.SecretHash].
//
// Any number of goroutines may read a sketch while none changes it; CountMin32 allows more.
package sketch

import (
	"errors"
	"fmt"

	"seen/bloom"
	"seen/internal/frame"
	"seen/internal/keyhash"
)

// keyOf returns h as packages below know it.
func keyOf(h bloom.Hash) keyhash.Hash { return keyhash.Of(h.Algorithm, h.Seed, h.Secret) }

// hashed is a sketch with its key hash and what is done to keys before.
type hashed struct {
	hash  keyhash.Hash
	rules string
}

// Hash returns the key hash of the sketch.
func (h *hashed) Hash() bloom.Hash { return hashOf(h.hash) }

// Rules returns what SetRules stored, "" if nothing.
func (h *hashed) Rules() string { return h.rules }

// SetRules stores what is done to keys before they are added, as SetRules of a filter of
// package bloom does. Sketches with different rules cannot be combined.
func (h *hashed) SetRules(rules string) error {
	canonical, err := frame.CanonicalRules(rules)
	if err != nil {
		return err
	}
	h.rules = canonical
	return nil
}

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

// checkAlike returns the first of an error about the sizes and one about the hashes, if
// they differ.
func (h *hashed) checkAlike(other *hashed, sizes ...IncompatibleError) error {
	for _, e := range append(sizes, IncompatibleError{"key hash", h.Hash(), other.Hash()}, IncompatibleError{"rules of keys", h.rules, other.rules}) {
		if e.Want != e.Have {
			return &e
		}
	}
	return nil
}
