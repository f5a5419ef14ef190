package kernel

import (
	"math/bits"
	"runtime"
	"unsafe"

	"seen/internal/keyhash"
)

// Prepared is an array with what follows from its layout worked out once, for calls with
// one key or hash: the compiler inlines them down to a call of assembly with three words.
// All calls of the zero value panic, as an index out of range does.
//
// It does not keep memory outside the Go heap alive. But if it is a field of the value
// that does, no runtime.KeepAlive is needed: every call gets a pointer into that value and
// uses it to the end.
type Prepared struct {
	// The assembly knows the offsets of these.
	regionLines       uint64
	words             *uint64
	table             *uint64 // of the sets of lanes, nil if all are used
	hashCode, keyCode code    // for calls with a hash, and with a key

	layout Layout
	length uint64 // of words
	hash   keyhash.Hash
	via    Hashes
}

// code chooses among the variants of the assembly; 0 means Go.
type code uint64

// Hashes is something that answers for hashes as an array does.
type Hashes interface {
	AddHash(h uint64) bool
	HasHash(h uint64) bool
}

// Prepare works out what single calls need for the array words, whose keys are
// hashed with hash. It panics, as an index out of range does, if words is too short
// or the layout not one of those that Layout describes.
func (l Layout) Prepare(words []uint64, hash keyhash.Hash) Prepared {
	_ = &words[l.length()-1]
	hashCode := l.code()
	p := Prepared{
		regionLines: l.RegionLines, words: &words[0], table: l.table(), hashCode: hashCode,
		layout: l, length: l.length(), hash: hash,
	}
	if hash == (keyhash.Hash{}) {
		p.keyCode = hashCode
	}
	return p
}

// Via returns a Prepared that asks via instead of an array.
func Via(via Hashes, hash keyhash.Hash) Prepared { return Prepared{via: via, hash: hash} }

// length is Words for arrays that can exist, and 0 for others.
func (l Layout) length() uint64 {
	_ = laneSets[l.Lanes]
	_ = [4]struct{}{}[l.Lines]
	high, n := bits.Mul64(l.RegionLines, uint64(l.Lines*LineWords))
	if high != 0 {
		return 0
	}
	return n
}

// AddHash sets the bits of h and reports whether any of them was zero before.
func (p *Prepared) AddHash(h uint64) bool { return addHash(&p.regionLines, h) }

// HasHash reports whether all bits of h are set.
func (p *Prepared) HasHash(h uint64) bool { return hasHash(&p.regionLines, h) }

// AddKey is AddHash for the hash of key.
func (p *Prepared) AddKey(key []byte) bool {
	return addKey(&p.regionLines, unsafe.SliceData(key), len(key))
}

// HasKey is HasHash for the hash of key.
func (p *Prepared) HasKey(key []byte) bool {
	return hasKey(&p.regionLines, unsafe.SliceData(key), len(key))
}

// AddString is AddKey for a string.
func (p *Prepared) AddString(key string) bool {
	return addKey(&p.regionLines, unsafe.StringData(key), len(key))
}

// HasString is HasKey for a string.
func (p *Prepared) HasString(key string) bool {
	return hasKey(&p.regionLines, unsafe.StringData(key), len(key))
}

// The functions below do what the assembly leaves to Go: it jumps to them. first is
// the first field of a Prepared.

func addHashElsewhere(first *uint64, h uint64) bool {
	p := (*Prepared)(unsafe.Pointer(first))
	if p.via != nil {
		isNew := p.via.AddHash(h)
		runtime.KeepAlive(p)
		return isNew
	}
	isNew := p.layout.addRef(unsafe.Slice(p.words, p.length), h)
	runtime.KeepAlive(p)
	return isNew
}

func hasHashElsewhere(first *uint64, h uint64) bool {
	p := (*Prepared)(unsafe.Pointer(first))
	if p.via != nil {
		has := p.via.HasHash(h)
		runtime.KeepAlive(p)
		return has
	}
	has := p.layout.hasRef(unsafe.Slice(p.words, p.length), h)
	runtime.KeepAlive(p)
	return has
}

func addKeyElsewhere(first *uint64, key *byte, n int) bool {
	p := (*Prepared)(unsafe.Pointer(first))
	return p.AddHash(p.hash.Sum(unsafe.Slice(key, n)))
}

func hasKeyElsewhere(first *uint64, key *byte, n int) bool {
	p := (*Prepared)(unsafe.Pointer(first))
	return p.HasHash(p.hash.Sum(unsafe.Slice(key, n)))
}
