// Package bridge hands other packages of this module what package bloom keeps from its
// users: the way in for files that were taken apart, snapshots of filters in use, the
// arrays in them, and cuckoo filters as a server treats them. It is not for anything that a user of bloom
// could want. Bloom stores its functions here while it is initialised, and they never
// change, so any goroutine that may use the filter may call them.
//
// Bloom imports this package, which therefore cannot name the types of bloom: functions
// are stored as any, and callers assert the type in the comment.
package bridge

import (
	"errors"
	"io"
)

// FromFrame makes a filter of a frame that was taken apart already. The filter uses the
// memory of parts. Before bytes [off, off+n) of a part are read or written touch is
// called, unless it is nil; contents that cannot be checked without reading all of a
// part are then left to it. A filter that is not one array is read-only with touch.
//
//	func(h *frame.Header, parts [][]byte, o bloom.LoadOptions, touch func(part int, off, n uint64)) (bloom.View, error)
var FromFrame any

// WriteSnapshot writes a filter in the format of docs/FORMAT.md to an empty file while
// another goroutine goes on adding to it. That goroutine must hold lock whenever it
// uses the filter; WriteSnapshot takes it again and again, each time for as long as it
// takes to copy 64 KiB or, of an exact Adaptive, one of up to 256 segments, and never
// while it writes. A Window keeps the memory of generations that it drops meanwhile.
//
// Bits are only ever set, so no key is lost by this: the file has every key that was
// added before the call. Of those added during the call it has some, none, or a part of
// the bits, which other keys could have set as well. It has no keys added after
// the call. The numbers of keys in it are those at its end.
//
// When ctx ends, so does WriteSnapshot, with its error. If an exact Adaptive becomes a
// filter meanwhile the error is matched by [ErrSwitched]: begin again with another file,
// once.
//
//	func(ctx context.Context, s bloom.Set, w bridge.SnapshotFile, lock sync.Locker) error
var WriteSnapshot any

// SnapshotFile is where a snapshot goes: its start is written once more at the end.
type SnapshotFile interface {
	io.Writer
	io.WriterAt
}

// ErrSwitched says that an exact Adaptive became a filter while it was written.
var ErrSwitched = errors.New("the exact set became a filter while it was written; write it again")

// BoundExact makes an exact Adaptive full when it would take more than maxBytes, instead of
// a filter: TryAddHashes then stops before the first key that has no room, with an error
// matched by bloom.ErrFull. Calls other than TryAddHash and TryAddHashes must not add keys.
//
//	func(a *bloom.Adaptive, maxBytes uint64)
var BoundExact any

// DrainExact yields the hashes of all keys of an exact Adaptive, some at a time and in no
// particular order, and releases its memory on the way. The set is empty afterwards.
//
//	func(a *bloom.Adaptive) iter.Seq[[]uint64]
var DrainExact any

// OnlyArray returns a filter that is the one array of bits or counters which has all keys
// of v: v itself, the only layer of a filter that grows, or the last level of a cascade,
// each level of which has all keys. It is for statistics and unions: it shares the memory
// of v, and the levels of a cascade take other hashes than the cascade. It returns nil if
// there is no such array.
//
//	func(v bloom.View) bloom.View
var OnlyArray any

// ServedCuckoo returns a cuckoo filter as a server treats it.
//
//	func(f *bloom.Cuckoo) bridge.Cuckoo
var ServedCuckoo any

// CuckooFromHeader returns a filter with the sub-filters that the header of a dump
// describes, all empty; LoadChunk fills them. How many copies the filter has is counted
// then, and not taken from the header. Of c, only Hash, MaxFilters and Reserve count. A
// header can ask for any amount of memory; only Reserve keeps it from getting that.
//
//	func(header []byte, c bloom.CuckooConfig) (*bloom.Cuckoo, error)
var CuckooFromHeader any

// ErrBadDump is matched by errors about the header or a chunk of a cuckoo filter that
// cannot be what CF.SCANDUMP gave.
var ErrBadDump = errors.New("bad dump of a cuckoo filter")

// Cuckoo is what a server needs of a bloom.Cuckoo. ScanDump, AppendHeader and Sample may
// be called while another goroutine changes the filter.
type Cuckoo interface {
	// PrepareHash does of AddHash, for the same hash, all that can fail, and changes
	// nothing that can be seen: AddHash, if it is the next call that changes the filter,
	// cannot fail then.
	PrepareHash(h uint64) error
	// SetReserve replaces the function that is asked before memory is allocated.
	SetReserve(reserve func(bytes uint64) error)
	// SetMaxFilters sets the number of sub-filters from which on the filter does not
	// grow any more; 0, and any number above, mean the limit of 4096.
	SetMaxFilters(n int)
	// AppendHeader appends the header of a dump as RedisBloom has it to dst. All numbers
	// are little-endian:
	//
	//	0   8  copies in the filter
	//	8   8  buckets of the first sub-filter
	//	16  8  copies removed since the last compaction
	//	24  8  sub-filters
	//	32  2  fingerprints in a bucket
	//	34  2  the most iterations
	//	36  2  expansion
	//
	// A filter with the hash Murmur64A and seed 0 is bit by bit one of that system.
	AppendHeader(dst []byte) []byte
	// ScanDump does what CF.SCANDUMP does: for iterator 0 it appends the header to dst
	// and returns 1, then for each iterator it returned some bytes of one table, and the
	// next iterator. Of an empty filter, at the end, and for any other number it appends
	// nothing and returns 0.
	ScanDump(dst []byte, iterator int64) (int64, []byte)
	// Tables returns copies of the tables of the sub-filters, the oldest first, as ScanDump
	// gives them in pieces. No other goroutine may change the filter.
	Tables() [][]byte
	// LoadChunk puts a chunk that CF.SCANDUMP gave, other than the header, where it
	// belongs: before its iterator. The chunk must be part of one sub-filter. LoadChunk
	// fails with [ErrBadDump] and has then changed nothing.
	LoadChunk(iterator int64, data []byte) error
	// Sample returns, for each sub-filter, the oldest first, the share of slots in use in
	// at most n pieces of 64 slots, evenly spread over its table. It reads no more.
	Sample(n int) [][]float64
}
