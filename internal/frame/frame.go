// Package frame is the byte codec of the one file format of this module: a
// header, the arrays of a filter or sketch at page-aligned offsets, and a
// checksum for each 64 KiB of them. docs/FORMAT.md describes the same bytes for
// writers of other readers.
//
// It is for the packages that define a type (bloom, sketch), which turn their
// arrays into parts and back, and for bloomfile, which maps frames. It opens no
// files and does not interpret the bits: it checks that an array has the length
// that its parameters ask for, not that its contents make sense.
//
// Decoding expects hostile input: a call returns a value or an error, never
// panics, and allocates at most a small multiple of the bytes that are present.
// All functions are safe for concurrent use on distinct values.
//
// # Layout
//
// All numbers are little-endian; rates are IEEE 754 doubles.
//
//	0    8   magic: 89 53 45 45 4e 0d 0a 1a
//	8    4   format version, 1 or 2
//	12   4   H, length of the header, a multiple of 4096
//	16   2   type
//	18   1   hash algorithm
//	19   5   zero
//	24   8   hash seed
//	32   8   id of the hash secret
//	40   8   capacity
//	48   8   error rate
//	56   128 16 fields whose meaning depends on the type
//	184  4   number of parts
//	188  4   chunk size of the checksums, 65536
//	192  8   length of the whole frame
//	200  8   B, end of the body and offset of the checksum table
//	208  16  secret of the hash, or zero
//	224  4   version 2: R, length of the rules of keys, at most 2048; else zero
//	228  28  zero
//	256  64  state area (see State)
//	320  192 zero
//	512  96* part table
//	...  R   rules of keys (see CanonicalRules)
//	...      zero
//	H-4  4   CRC-32 of the bytes 0 to H-4, the state area taken as zeros
//	H        body: each part at a multiple of 4096, padded with zeros to one
//	B    4*  CRC-32 of each 65536 bytes of the body, the last may be shorter
//	...  4   CRC-32 of the table before it
//
// A record of the part table:
//
//	0    2   kind
//	2    1   lines
//	3    1   lanes
//	4    1   counter bits
//	5    3   zero
//	8    4   k, probes
//	12   4   zero
//	16   8   m, bits or counters
//	24   8   added
//	32   8   capacity
//	40   8   error rate
//	48   32  4 fields whose meaning depends on the type
//	80   8   offset of the part in the frame
//	88   8   length of the part in bytes, without padding
package frame

import (
	"fmt"

	"seen/internal/keyhash"
)

// Sizes and limits of the format.
const (
	// Version is the newest format version that this package reads and writes. A frame is
	// written in the oldest version that can hold it.
	Version = 2
	// PageSize is what the header's length and every part's offset are multiples of.
	PageSize = 4096
	// ChunkSize is the number of body bytes one checksum covers.
	ChunkSize = 64 << 10
	// MaxParts is the largest number of parts of one frame.
	MaxParts = 4096
	// MaxProbes is the largest k of a part. With a 64-bit hash, more than 64 are
	// useless; without a limit, a hostile header could make one look-up take hours.
	MaxProbes = 1024

	magic       = "\x89SEEN\r\n\x1a"
	partsOffset = 512
	partSize    = 96
	crcSize     = 4
	// maxHeader is the length of a header with MaxParts parts and MaxRules.
	maxHeader = (partsOffset + MaxParts*partSize + MaxRules + crcSize + PageSize - 1) / PageSize * PageSize
	// maxTotal keeps every offset within an int64 and sums of two from overflowing.
	maxTotal = 1 << 62
)

// Magic returns the eight bytes that every frame begins with. As in PNG, the first is
// not ASCII, and the line ends after the name show damage by a transfer as text.
func Magic() []byte { return []byte(magic) }

// Type says what a frame holds. Its numbers are part of the format.
type Type uint16

// The types. The names follow the types of packages bloom and sketch.
const (
	TypeFilter         Type = 1
	TypeBlocked        Type = 2
	TypePartitioned    Type = 3
	TypeCounting       Type = 4
	TypeScalable       Type = 5
	TypeWindow         Type = 6
	TypeCascade        Type = 7
	TypeAdaptive       Type = 8
	TypeStatic         Type = 9
	TypeCountMin       Type = 10
	TypeHyperLogLog    Type = 11
	TypeFlajoletMartin Type = 12
	TypeCuckoo         Type = 13
	TypeCountMin32     Type = 14
	TypeTopK           Type = 15
)

var typeNames = [...]string{
	TypeFilter:         "classic",
	TypeBlocked:        "blocked",
	TypePartitioned:    "partitioned",
	TypeCounting:       "counting",
	TypeScalable:       "scalable",
	TypeWindow:         "window",
	TypeCascade:        "cascade",
	TypeAdaptive:       "adaptive",
	TypeStatic:         "static",
	TypeCountMin:       "count-min",
	TypeHyperLogLog:    "hyperloglog",
	TypeFlajoletMartin: "flajolet-martin",
	TypeCuckoo:         "cuckoo",
	TypeCountMin32:     "count-min-32",
	TypeTopK:           "top-k",
}

// String returns the name used in reports, such as "blocked".
func (t Type) String() string {
	if t.known() {
		return typeNames[t]
	}
	return fmt.Sprintf("type %d", uint16(t))
}

// Sketch reports whether t is a type of package sketch, not a filter.
func (t Type) Sketch() bool {
	return t >= TypeCountMin && t <= TypeFlajoletMartin || t == TypeCountMin32 || t == TypeTopK
}

func (t Type) known() bool { return t >= TypeFilter && int(t) < len(typeNames) }

// Kind says how the bytes of one part are laid out. Its numbers are part of the format.
type Kind uint16

// The kinds of parts.
const (
	KindClassic      Kind = 1 // M bits, K probes anywhere
	KindBlocked      Kind = 2 // Lines regions of 512-bit lines, Lanes bits in a line of each
	KindPartitioned  Kind = 3 // K slices of M/K bits
	KindCounters     Kind = 4 // M counters of CounterBits bits
	KindFuse         Kind = 5 // a binary fuse filter
	KindFingerprints Kind = 6 // 64-bit hashes
	KindRegisters    Kind = 7 // registers of a cardinality sketch
	KindBytes        Kind = 8 // bytes whose format a library defines
	KindBuckets      Kind = 9 // M fingerprints of one byte, in buckets
)

var kindNames = [...]string{
	KindClassic:      "classic bits",
	KindBlocked:      "blocked bits",
	KindPartitioned:  "partitioned bits",
	KindCounters:     "counters",
	KindFuse:         "binary fuse",
	KindFingerprints: "fingerprints",
	KindRegisters:    "registers",
	KindBytes:        "bytes",
	KindBuckets:      "buckets",
}

// String returns a name for messages, such as "blocked bits".
func (k Kind) String() string {
	if k.known() {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint16(k))
}

func (k Kind) known() bool { return k >= KindClassic && int(k) < len(kindNames) }

// Part describes one array of a frame.
type Part struct {
	Kind        Kind
	Lines       uint8  // lines per key, for KindBlocked 1 to 3
	Lanes       uint8  // lanes per line, for KindBlocked 1 to 8
	CounterBits uint8  // width of a counter, for KindCounters 4, 8, 16, 32 or 64
	K           uint32 // probes, for bits and counters 1 to MaxProbes
	M           uint64 // bits or counters
	Added       uint64 // calls to Add that returned true; see State
	Capacity    uint64
	ErrorRate   float64 // 0 to 1; 0 where none was asked for
	Fields      [4]uint64
	// Length is the number of bytes. For bits and counters it follows from M
	// (whole 64-bit words, see WordBytes) and anything else is refused.
	Length uint64
}

// Header is what a frame has before its arrays.
type Header struct {
	// Version is the format version that was read. 0 means the oldest that can hold
	// the frame.
	Version       uint32
	Type          Type
	HashAlgorithm uint8                    // a keyhash.Algorithm
	HashSeed      uint64                   // 0 for SipHash and NH
	HashKeyID     uint64                   // identifies the secret; 0 if the hash has none
	HashSecret    [keyhash.SecretSize]byte // that of NH, else zero
	Capacity      uint64
	ErrorRate     float64 // 0 to 1; 0 where none was asked for
	Fields        [16]uint64
	Rules         string // what was done to keys before they were hashed; see CanonicalRules
	Parts         []Part
}
