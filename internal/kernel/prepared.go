package kernel

import "math/bits"

// Prepared is a layout with what follows from it worked out once, for single calls
// on an array. The zero value is not usable; Layout.Prepare makes one.
type Prepared struct {
	layout Layout
	table  *uint64 // of the sets of lanes, for the assembly
	length uint64  // words in the array
}

// Prepare works out what single calls need. It panics, as an index out of range
// does, if the layout is not one of those that Layout describes.
func (l Layout) Prepare() Prepared {
	return Prepared{l, l.table(), l.length()}
}

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

// Add does Layout.Add.
func (p *Prepared) Add(words []uint64, h uint64) bool { return p.add(words, h) }

// Has does Layout.Has.
func (p *Prepared) Has(words []uint64, h uint64) bool { return p.has(words, h) }

// AddDirect is Add where Direct returns true: the compiler inlines it, so that
// there is no other call between the caller and the assembly.
func (p *Prepared) AddDirect(words []uint64, h uint64) bool {
	_ = words[p.length-1]
	return addOne(&p.layout.RegionLines, &words[0], h)
}

// HasDirect is to Has what AddDirect is to Add.
func (p *Prepared) HasDirect(words []uint64, h uint64) bool {
	_ = words[p.length-1]
	return hasOne(&p.layout.RegionLines, &words[0], h)
}
