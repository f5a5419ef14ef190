package bloom

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync/atomic"

	"seen/internal/pages"
)

// cuckooTable is a sub-filter: buckets of fingerprints of one byte, 0 for a free slot. Slot
// i of the table is byte i. Slots change one at a time, each by one atomic store of its
// word.
//
// A reader that looks into the two buckets of a key one after the other can miss a
// fingerprint that moves meanwhile from the second to the first. So every bucket has a
// version (some share one). It changes after the fingerprint is in its new place and before
// it leaves the old one. A reader that finds nothing, and finds both versions unchanged,
// has seen the truth: a move would have changed the version of the old bucket. Otherwise
// it looks again.
//
// A version is odd while a fingerprint is in two places; Count waits for that.
type cuckooTable struct {
	words       []uint64
	mem         *pages.Array // what words is a part of; nil if that is a slice
	mask        uint64       // buckets - 1, a power of two less one
	bucketSize  uint64
	size        uint64 // slots
	memory      uint64
	versions    []atomic.Uint64
	versionMask uint64
}

const (
	// maxVersions bounds the versions of a table: a reader looks again because of a move in
	// another bucket in about one of a thousand moves.
	maxVersions = 1 << 10
	// cuckooOverhead is the memory of a filter, and of each of its tables, without the
	// arrays.
	cuckooOverhead = 256
)

// fingerprint returns the byte that stands for a key, which is not 0.
func fingerprint(h uint64) byte { return byte(h%255) + 1 }

// otherBucket returns the XOR of the two buckets of a fingerprint; bits beyond the table do
// not count.
func otherBucket(fp byte) uint64 { return uint64(fp) * 0x5bd1e995 }

// tableMemory returns the memory of a table.
func (f *Cuckoo) tableMemory(buckets uint64) (uint64, error) {
	if hi, lo := bits.Mul64(buckets, f.bucketSize); hi != 0 || lo/8 >= maxWords {
		return 0, fmt.Errorf("a cuckoo filter of %d buckets of %d bytes is larger than the limit of %d bytes", buckets, f.bucketSize, uint64(maxWords)*8)
	}
	return (buckets*f.bucketSize+7)/8*8 + min(buckets, maxVersions)*8 + cuckooOverhead, nil
}

// newCuckooTable makes an empty table; its size was checked by tableMemory.
func newCuckooTable(buckets, bucketSize uint64) (*cuckooTable, error) {
	mem, err := pages.New((buckets*bucketSize + 7) / 8)
	if err != nil {
		return nil, fmt.Errorf("%w; lower the capacity of the cuckoo filter", err)
	}
	return asCuckooTable(buckets, bucketSize, mem.Words(), mem), nil
}

func asCuckooTable(buckets, bucketSize uint64, words []uint64, mem *pages.Array) *cuckooTable {
	n := min(buckets, maxVersions)
	return &cuckooTable{
		words: words, mem: mem, mask: buckets - 1, bucketSize: bucketSize, size: buckets * bucketSize,
		memory:   uint64(len(words))*8 + n*8 + cuckooOverhead,
		versions: make([]atomic.Uint64, n), versionMask: n - 1,
	}
}

func (t *cuckooTable) buckets() uint64 { return t.mask + 1 }

// pair returns the two buckets of a key; they may be the same.
func (t *cuckooTable) pair(h uint64) (first, second uint64) {
	return h & t.mask, (h ^ otherBucket(fingerprint(h))) & t.mask
}

// alternate returns the other bucket of a fingerprint that is in one.
func (t *cuckooTable) alternate(bucket uint64, fp byte) uint64 {
	return (bucket ^ otherBucket(fp)) & t.mask
}

func (t *cuckooTable) version(bucket uint64) *atomic.Uint64 { return &t.versions[bucket&t.versionMask] }

// get returns the fingerprint in a slot.
func (t *cuckooTable) get(slot uint64) byte {
	return byte(atomic.LoadUint64(&t.words[slot/8]) >> (slot % 8 * 8))
}

// put stores a fingerprint in a slot.
func (t *cuckooTable) put(slot uint64, fp byte) {
	w := &t.words[slot/8]
	shift := slot % 8 * 8
	atomic.StoreUint64(w, atomic.LoadUint64(w)&^(0xff<<shift)|uint64(fp)<<shift)
}

const lowBits = 0x7f7f7f7f7f7f7f7f

// matches returns the bytes of word i that are fp and in slots from to end, as their
// highest bits.
func (t *cuckooTable) matches(i uint64, fp byte, from, end uint64) uint64 {
	x := atomic.LoadUint64(&t.words[i]) ^ uint64(fp)*0x0101010101010101
	equal := ^(x&lowBits + lowBits | x | lowBits) // the bytes of x that are 0; no carry leaves a byte
	if at := i * 8; from > at {
		equal &= ^uint64(0) << ((from - at) * 8)
	}
	if last := i*8 + 8; end < last {
		equal &= ^uint64(0) >> ((last - end) * 8)
	}
	return equal
}

// in returns the first slot of a bucket that holds fp.
func (t *cuckooTable) in(bucket uint64, fp byte) (slot uint64, ok bool) {
	from := bucket * t.bucketSize
	end := from + t.bucketSize
	for i := from / 8; i*8 < end; i++ {
		if m := t.matches(i, fp, from, end); m != 0 {
			return i*8 + uint64(bits.TrailingZeros64(m))/8, true
		}
	}
	return 0, false
}

// find returns the first slot in the buckets of a key that holds fp, its fingerprint
// or 0 for a free slot. It is for the writer.
func (t *cuckooTable) find(h uint64, fp byte) (slot uint64, ok bool) {
	first, second := t.pair(h)
	if slot, ok = t.in(first, fp); !ok && second != first {
		slot, ok = t.in(second, fp)
	}
	return slot, ok
}

// has reports whether the fingerprint of a key is in one of its buckets.
func (t *cuckooTable) has(h uint64) bool {
	fp := fingerprint(h)
	first, second := t.pair(h)
	for {
		before := t.changes(first, second)
		if _, ok := t.in(first, fp); ok {
			return true
		}
		if _, ok := t.in(second, fp); ok {
			return true
		}
		if t.changes(first, second) == before {
			return false
		}
	}
}

// changes returns the sum of the versions of two buckets. It changes with each of them,
// since versions only rise.
func (t *cuckooTable) changes(first, second uint64) uint64 {
	return t.version(first).Load() + t.version(second).Load()
}

// count returns the number of fingerprints of a key in its buckets.
func (t *cuckooTable) count(h uint64) uint64 {
	fp := fingerprint(h)
	first, second := t.pair(h)
	n := t.countIn(first, fp)
	if second != first {
		n += t.countIn(second, fp)
	}
	return n
}

func (t *cuckooTable) countIn(bucket uint64, fp byte) (n uint64) {
	from := bucket * t.bucketSize
	end := from + t.bucketSize
	for i := from / 8; i*8 < end; i++ {
		n += uint64(bits.OnesCount64(t.matches(i, fp, from, end)))
	}
	return n
}

// cuckooMoves returns a number that changes when fingerprints of a key may have moved,
// and whether one may be in two places now.
func cuckooMoves(tables []*cuckooTable, h uint64) (sum uint64, moving bool) {
	for _, t := range tables {
		first, second := t.pair(h)
		v, w := t.version(first).Load(), t.version(second).Load()
		sum += v + w
		moving = moving || v&1 != 0 || w&1 != 0
	}
	return sum, moving
}

// move moves the fingerprint of a slot to a free slot of another table, or the same.
// The free slot is in one of the buckets of the fingerprint.
func (t *cuckooTable) move(slot uint64, to *cuckooTable, free uint64) {
	v := t.version(slot / t.bucketSize)
	v.Add(1)
	to.put(free, t.get(slot))
	v.Add(2)
	t.put(slot, 0)
	v.Add(1)
}

// remove frees a slot. The version changes for readers of a fingerprint with two copies:
// a reader may pass the place of one before it is added, and reach the place of the other
// after it is gone.
func (t *cuckooTable) remove(slot uint64) {
	t.version(slot / t.bucketSize).Add(2)
	t.put(slot, 0)
}

// touch loads the words of the buckets of some hashes, which brings all of them into the
// cache at once.
//
//go:noinline
func (t *cuckooTable) touch(hs []uint64) (sum uint64) {
	for _, h := range hs {
		first, second := t.pair(h)
		sum += atomic.LoadUint64(&t.words[first*t.bucketSize/8]) + atomic.LoadUint64(&t.words[second*t.bucketSize/8])
	}
	return sum
}

// occupied returns the number of fingerprints in the table.
func (t *cuckooTable) occupied() uint64 {
	n := occupied(t.words)
	runtime.KeepAlive(t)
	return n
}

// occupied returns the number of bytes that are not zero.
func occupied(words []uint64) uint64 {
	n := uint64(0)
	for i := range words {
		x := atomic.LoadUint64(&words[i])
		n += uint64(bits.OnesCount64((x&lowBits + lowBits | x) &^ lowBits))
	}
	return n
}
