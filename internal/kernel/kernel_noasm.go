//go:build !amd64 || noasm

package kernel

import "sync/atomic"

// implementation names a way to do the operations, of which there is one here.
type implementation uint8

const chosen implementation = 0

func (l Layout) batchBy(_ implementation, adding bool, words []uint64, answers []bool, hs []uint64) int {
	return l.batchRef(adding, words, answers, hs)
}

// someKeys is for the assembly.
func someKeys[T []byte | string](_ implementation, _ bool, _ Layout, _ []uint64, _ []bool, _ []T) (count, done int) {
	return 0, 0
}

// table is for the assembly.
func (l Layout) table() *uint64 { return nil }

// code is for the assembly.
func (l Layout) code() code { return 0 }

// The functions below stand for the assembly, which would leave everything to Go.

func addHash(first *uint64, h uint64) bool { return addHashElsewhere(first, h) }

func hasHash(first *uint64, h uint64) bool { return hasHashElsewhere(first, h) }

func addKey(first *uint64, key *byte, n int) bool { return addKeyElsewhere(first, key, n) }

func hasKey(first *uint64, key *byte, n int) bool { return hasKeyElsewhere(first, key, n) }

// Assembly reports whether the operations run in assembly. It does not change.
func Assembly() bool { return false }

// Release stores v in *p after everything that was written before, as the owner of
// a lock does who gives it up.
func Release(p *uint64, v uint64) { atomic.StoreUint64(p, v) }

// The functions below stand for the assembly, which would leave everything to others.

func addGuardedHash(guarded *uint64, h uint64) uint8 { return uint8(Busy) }

func addGuardedKey(guarded *uint64, key *byte, n int) uint8 { return uint8(Busy) }

func search(found []bool, lines []*Slots, words []uint64) { searchRef(found, lines, words) }

func fetch(lines []*Slots) { fetchRef(lines) }

func fetchNext(lines []*Slots) {}
