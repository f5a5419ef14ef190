//go:build !noasm

package kernel

import "unsafe"

func search(found []bool, lines []*Slots, words []uint64) { searchBy(chosen, found, lines, words) }

func searchBy(by implementation, found []bool, lines []*Slots, words []uint64) {
	switch by {
	case avx512:
		searchAVX512(&found[0], linesOf(lines), &words[0], len(words))
	case avx2:
		searchAVX2(&found[0], linesOf(lines), &words[0], len(words))
	default:
		searchRef(found, lines, words)
	}
}

// The instruction is as old as the architecture, and harmless where nothing is.

func fetch(lines []*Slots) { prefetchSlots(linesOf(lines), len(lines)) }

func fetchNext(lines []*Slots) { prefetchNext(linesOf(lines), len(lines)) }

// linesOf returns where lines begin, for the assembly, which knows no Slots.
func linesOf(lines []*Slots) **uint64 { return (**uint64)(unsafe.Pointer(&lines[0])) }
