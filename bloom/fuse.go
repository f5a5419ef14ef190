package bloom

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/FastFilter/xorfilter"
)

// fuse is the array of a binary fuse filter (Graf and Lemire, "Binary Fuse
// Filters: Fast and Smaller Than Xor Filters", 2022) as package xorfilter builds
// it. This package reads it, so that it can be used in a mapped file.
//
// The array is cut into segments of equal length, a power of two. A hash h is
// mixed with the seed to x, and owns one slot in each of three adjacent segments:
//
//	x  = murmur64(h + seed mod 2^64)
//	i0 = high 64 bits of x * (segments - 2) * segment length
//	i1 = (i0 +     segment length) xor (x >> 18 mod segment length)
//	i2 = (i0 + 2 * segment length) xor (x       mod segment length)
//
// A hash is a member if the XOR of its three slots is equal to the low bits, as many as a
// slot has, of x xor (x >> 32).
type fuse struct {
	seed     uint64
	segment  uint64 // slots in a segment
	segments uint64 // that can hold i0: all but two
	bits     int    // in a slot: 8, 16 or 32
	slots    []byte // little-endian
}

// mostSegment is the longest segment that package xorfilter makes.
const mostSegment = 1 << 18

// mostFuse is the number of hashes whose slots package xorfilter can index with 32 bits.
// There are 9/8 slots for each hash and some segments.
func mostFuse(bits int) uint64 { return (1<<32/uint64(bits/8) - 4*mostSegment) / 9 * 8 }

// buildFuse makes the array for hashes, which must be distinct.
func buildFuse(hashes []uint64, width int) (fuse, error) {
	if most := mostFuse(width); uint64(len(hashes)) > most {
		return fuse{}, fmt.Errorf("a static filter of %d bits takes %d keys, not %d; divide the keys between several", width, most, len(hashes))
	}
	switch width {
	case 8:
		return buildSlots(hashes, 1, func(b []byte, v uint8) { b[0] = v })
	case 16:
		return buildSlots(hashes, 2, binary.LittleEndian.PutUint16)
	}
	return buildSlots(hashes, 4, binary.LittleEndian.PutUint32)
}

func buildSlots[T xorfilter.Unsigned](hashes []uint64, size int, put func([]byte, T)) (fuse, error) {
	built, err := xorfilter.NewBinaryFuse[T](hashes)
	if err != nil {
		return fuse{}, fmt.Errorf("no static filter could be built for these %d keys: %w; change the seed of the hash", len(hashes), err)
	}
	f := fuse{
		seed: built.Seed, segment: uint64(built.SegmentLength), segments: uint64(built.SegmentCount),
		bits: 8 * size, slots: make([]byte, size*len(built.Fingerprints)),
	}
	for i, v := range built.Fingerprints {
		put(f.slots[size*i:], v)
	}
	return f, nil
}

// validate returns what is wrong with a fuse from a file, or "": then the slots of all
// hashes are in range.
func (f *fuse) validate(slots uint64) string {
	switch {
	case f.bits != 8 && f.bits != 16 && f.bits != 32:
		return fmt.Sprintf("slots of %d bits", f.bits)
	case f.segment == 0 || f.segment > mostSegment || f.segment&(f.segment-1) != 0:
		return fmt.Sprintf("segments of %d slots", f.segment)
	case f.segments == 0 || f.segments > 1<<32 || (f.segments+2)*f.segment != slots:
		return fmt.Sprintf("%d + 2 segments of %d slots do not make %d slots", f.segments, f.segment, slots)
	case uint64(len(f.slots)) != slots*uint64(f.bits/8):
		return fmt.Sprintf("%d slots of %d bits in %d bytes", slots, f.bits, len(f.slots))
	}
	return ""
}

// mix returns x of the type's comment.
func (f *fuse) mix(h uint64) uint64 {
	x := h + f.seed
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// find returns the indexes of the slots of x.
func (f *fuse) find(x uint64) (i0, i1, i2 uint64) {
	i0, _ = bits.Mul64(x, f.segments*f.segment)
	i1 = (i0 + f.segment) ^ (x >> 18 & (f.segment - 1))
	i2 = (i0 + 2*f.segment) ^ (x & (f.segment - 1))
	return i0, i1, i2
}

// residue returns 0 for a member.
func (f *fuse) residue(h uint64) uint32 {
	x := f.mix(h)
	i0, i1, i2 := f.find(x)
	return f.read(x, i0, i1, i2)
}

// read returns the residue of x, whose slots have the given indexes.
func (f *fuse) read(x, i0, i1, i2 uint64) uint32 {
	want := uint32(x ^ x>>32)
	le := binary.LittleEndian
	switch f.bits {
	case 8:
		return uint32(uint8(want) ^ f.slots[i0] ^ f.slots[i1] ^ f.slots[i2])
	case 16:
		return uint32(uint16(want) ^ le.Uint16(f.slots[2*i0:]) ^ le.Uint16(f.slots[2*i1:]) ^ le.Uint16(f.slots[2*i2:]))
	}
	return want ^ le.Uint32(f.slots[4*i0:]) ^ le.Uint32(f.slots[4*i1:]) ^ le.Uint32(f.slots[4*i2:])
}

// fuseBatch is the number of hashes that are looked up together.
const fuseBatch = 32

// residues stores the residue of each of at most fuseBatch hashes. The arithmetic has its
// own loop, so that the other loop has many reads under way at once.
func (f *fuse) residues(out *[fuseBatch]uint32, hs []uint64) {
	var at [fuseBatch]struct{ x, i0, i1, i2 uint64 }
	for k, h := range hs {
		a := &at[k%fuseBatch]
		a.x = f.mix(h)
		a.i0, a.i1, a.i2 = f.find(a.x)
	}
	for k := range hs {
		a := &at[k%fuseBatch]
		out[k%fuseBatch] = f.read(a.x, a.i0, a.i1, a.i2)
	}
}
