//go:build !amd64 || noasm

package kernel

import "unsafe"

func (p *Prepared) add(words []uint64, h uint64) bool { return p.layout.addRef(words, h) }

func (p *Prepared) has(words []uint64, h uint64) bool { return p.layout.hasRef(words, h) }

func (l Layout) addBatch(words []uint64, added []bool, hs []uint64) int {
	return l.addBatchRef(words, added, hs)
}

func (l Layout) hasBatch(words []uint64, found []bool, hs []uint64) int {
	return l.hasBatchRef(words, found, hs)
}

// prefetch does nothing: Go has no prefetch, and a load would wait.
func (l Layout) prefetch(words []uint64, hs []uint64) {}

// table is for the assembly.
func (l Layout) table() *uint64 { return nil }

// Direct reports whether AddDirect and HasDirect may be used. Here they may, but
// are what Add and Has are.
func Direct() bool { return true }

// The functions below stand for the assembly: they get a pointer to the first
// field of a Prepared and one to the first word.

func addOne(prepared, words *uint64, h uint64) bool {
	p := (*Prepared)(unsafe.Pointer(prepared))
	return p.layout.addRef(unsafe.Slice(words, p.length), h)
}

func hasOne(prepared, words *uint64, h uint64) bool {
	p := (*Prepared)(unsafe.Pointer(prepared))
	return p.layout.hasRef(unsafe.Slice(words, p.length), h)
}
