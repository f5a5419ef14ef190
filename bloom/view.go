package bloom

import (
	"encoding"
	"io"

	"seen/sizing"
)

// View is the read side that every filter of this package has.
//
// HasHash takes a key's hash instead of the key, so that a key is hashed once
// and many filters asked. Hashes must be well mixed: those of a filter's own
// Hash are, sequential integers are not. HasHashes stores its answers in found,
// which must be nil or as long as hs, and returns the number of trues.
type View interface {
	HasHash(h uint64) bool
	HasHashes(found []bool, hs []uint64) int
	Hash() Hash
	Stats() Stats
	encoding.BinaryAppender
	io.WriterTo
}

// Set is a View to which keys can be added.
//
// AddHash reports whether the key was certainly not there before. AddHashes does
// the same for each of hs in order, stores the answers in added, which must be
// nil or as long as hs, and returns the number of trues.
type Set interface {
	View
	AddHash(h uint64) bool
	AddHashes(added []bool, hs []uint64) int
	Clear()
}

// Stats describes the state of a filter. Taking it reads the whole array.
type Stats struct {
	// Type is the filter's type in lower case: "classic", "blocked", ...
	Type string
	// Params is the layout of a filter that is one array; it is zero otherwise.
	Params sizing.Params
	// Bits is m: the number of bits, or of counters or fingerprint slots, in all
	// layers. Probes is k: the bits touched per key, in the layer in use.
	Bits   uint64
	Probes int
	// Layers is the number of arrays.
	Layers int
	// Bytes is the memory of the arrays.
	Bytes uint64
	// Capacity is the number of distinct keys the arrays are sized for.
	Capacity uint64
	// Added is the number of calls of Add that returned true.
	Added uint64
	// Ones is the number of one bits (of counters that are not zero), Fill the
	// share of them.
	Ones uint64
	Fill float64
	// Cardinality estimates the number of distinct keys that were added, with its
	// standard error; +Inf when a filter is full. It follows from Ones, by
	// [sizing.Params.Cardinality] and, for a filter that grew, [sizing.Layered]. So it
	// counts the keys that were taken for seen by mistake, which Added does not, and is
	// right after a union, where Added is itself an estimate. For a filter that holds
	// something for each key (an exact Adaptive, a Static, a Cuckoo) it is exact; a
	// Cuckoo counts a key as often as it was added and not removed.
	Cardinality sizing.Estimate
	// AskedErrorRate is the rate the filter was made for, 0 if it was made from
	// explicit parameters without one. ErrorRate is the rate now, by the formula
	// for the estimated cardinality; ErrorRateAtCapacity the one at capacity.
	AskedErrorRate      float64
	ErrorRate           float64
	ErrorRateAtCapacity float64
	// Stuck counts the saturated counters of a counting filter, which no Remove
	// can bring down again.
	Stuck uint64
	// Exact says that the filter holds fingerprints of 64 bits, and
	// ExpectedCollisions how many wrong answers they make it expect so far.
	Exact              bool
	ExpectedCollisions float64
}
