package kernel

import (
	"unsafe"

	"seen/internal/keyhash"
)

// Guarded adds single keys to an array under locks, in one call of assembly. The
// locks are stripes of lines: bit 0 of the first word of each Slots says that it is
// locked; in stripes of the first region the bits above count the keys that were new.
// Line number i of region j belongs to stripe i % perRegion of the region, and the
// stripes of the regions follow one another.
//
// The zero value is always Busy; Layout.Guard makes another.
type Guarded struct {
	// The assembly knows the offsets of these; the first are those of a Prepared.
	regionLines       uint64
	words             *uint64
	table             *uint64
	hashCode, keyCode code
	stripes           *Slots
	mask              uint64 // of the distance of a stripe from the first of its region
	taken             *uint32
}

// Outcome is the result for a key.
type Outcome uint8

// The outcomes. Busy means that nothing was done: one of the locks, or all of them, are
// taken, or there is no assembly for the array or the key.
const (
	Present Outcome = iota
	New
	Busy
)

// Guard works out what additions to the array words need. There must be perRegion
// stripes for each region, a power of two; taken is not 0 while all of them are locked. It
// panics, as an index out of range does, if words or stripes are too few.
func (l Layout) Guard(words []uint64, hash keyhash.Hash, stripes []Slots, perRegion int, taken *uint32) Guarded {
	_ = stripes[l.Lines*perRegion-1]
	p := l.Prepare(words, hash)
	return Guarded{
		regionLines: p.regionLines, words: p.words, table: p.table, hashCode: p.hashCode, keyCode: p.keyCode,
		stripes: &stripes[0], mask: uint64(perRegion-1) * uint64(unsafe.Sizeof(stripes[0])), taken: taken,
	}
}

// AddHash adds h unless it is there.
func (g *Guarded) AddHash(h uint64) Outcome { return Outcome(addGuardedHash(&g.regionLines, h)) }

// AddKey adds key unless it is there.
func (g *Guarded) AddKey(key []byte) Outcome {
	return Outcome(addGuardedKey(&g.regionLines, unsafe.SliceData(key), len(key)))
}

// AddString is AddKey for a string.
func (g *Guarded) AddString(key string) Outcome {
	return Outcome(addGuardedKey(&g.regionLines, unsafe.StringData(key), len(key)))
}
