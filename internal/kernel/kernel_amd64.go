//go:build !noasm

package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run -C _asm . -of kernel -out ../kernel_amd64.s -stubs ../stubs_amd64.go -pkg kernel

// implementation names a way to do the operations. Each is tested equal to the
// others.
type implementation uint8

const (
	reference implementation = iota
	avx2
	avx512
)

// chosen is the implementation in use.
var chosen = best(hasAVX2, hasAVX512)

var (
	hasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2
	// BITALG, and VBMI before it, came years after the first AVX-512 and with processors that do not
	// slow down for it.
	hasAVX512 = hasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512BITALG
)

// best returns the fastest implementation that a processor has.
func best(hasAVX2, hasAVX512 bool) implementation {
	switch {
	case hasAVX512:
		return avx512
	case hasAVX2:
		return avx2
	}
	return reference
}

// code returns what makes single calls run the chosen implementation.
func (l Layout) code() code { return l.codeBy(chosen) }

// codeBy returns the number that the generator has given the code for the layout.
func (l Layout) codeBy(by implementation) code {
	if by == reference {
		return 0
	}
	c := code(l.Lines)
	if l.Lanes < LineWords {
		c += 4
	}
	if by == avx512 {
		c += 8
	}
	return c
}

// batchBy is AddBatch or HasBatch by one of the implementations.
func (l Layout) batchBy(by implementation, adding bool, words []uint64, answers []bool, hs []uint64) int {
	if by == reference {
		return l.batchRef(adding, words, answers, hs)
	}
	total := 0
	for len(hs) > 0 {
		_ = &words[l.length()-1]
		var ignored ignoredAnswers
		to, n := ignored.or(answers, len(hs))
		switch {
		case adding && by == avx512:
			total += addHashesAVX512(&words[0], l.RegionLines, l.Lines, l.table(), to, &hs[0], n)
		case adding:
			total += addHashesAVX2(&words[0], l.RegionLines, l.Lines, l.table(), to, &hs[0], n)
		case by == avx512:
			total += hasHashesAVX512(&words[0], l.RegionLines, l.Lines, l.table(), to, &hs[0], n)
		default:
			total += hasHashesAVX2(&words[0], l.RegionLines, l.Lines, l.table(), to, &hs[0], n)
		}
		hs = hs[n:]
	}
	return total
}

// someKeys does the operation for the first keys, at least one, and returns the
// number of trues and of keys; the key after those may not be for the assembly.
func someKeys[T []byte | string](by implementation, adding bool, l Layout, words []uint64, answers []bool, keys []T) (count, done int) {
	_ = &words[l.length()-1]
	var ignored ignoredAnswers
	to, n := ignored.or(answers, len(keys))
	header, stride := (*byte)(unsafe.Pointer(&keys[0])), int(unsafe.Sizeof(keys[0]))
	switch {
	case adding && by == avx512:
		return addKeysAVX512(&words[0], l.RegionLines, l.Lines, l.table(), to, header, stride, n)
	case adding && by == avx2:
		return addKeysAVX2(&words[0], l.RegionLines, l.Lines, l.table(), to, header, stride, n)
	case by == avx512:
		return hasKeysAVX512(&words[0], l.RegionLines, l.Lines, l.table(), to, header, stride, n)
	case by == avx2:
		return hasKeysAVX2(&words[0], l.RegionLines, l.Lines, l.table(), to, header, stride, n)
	}
	return 0, 0
}

// ignoredAnswers receives answers that the caller does not want. It makes batches without
// answers smaller.
type ignoredAnswers [256]bool

// or returns where up to n answers go, and how many: to answers unless it is nil.
func (i *ignoredAnswers) or(answers []bool, n int) (first *bool, atMost int) {
	if answers == nil {
		return &i[0], min(n, len(i))
	}
	return &answers[:n][0], n
}

// laneTable is what the assembly knows of the sets of n lanes: their number,
// then a row for each, with a byte for each lane that is 1 if the set has it.
// Where the key of a full line shifts a one to its place in the lane, the key of
// another shifts that byte.
type laneTable [1 + 70]uint64

var laneTables = func() (tables [LineWords + 1]laneTable) {
	for n := range tables {
		tables[n][0] = uint64(len(laneSets[n]))
		for s, set := range laneSets[n] {
			for i := range LineWords {
				tables[n][1+s] |= uint64(set>>i&1) << (8 * i)
			}
		}
	}
	return tables
}()

// table returns the lane table, or nil where all lanes are used.
func (l Layout) table() *uint64 {
	if l.Lanes == LineWords {
		return nil
	}
	return &laneTables[l.Lanes][0]
}

// Assembly reports whether the operations run in assembly. It does not change.
func Assembly() bool { return chosen != reference }

// Release stores v in *p after everything that was written before, as the owner of
// a lock does who gives it up. It costs a fraction of an atomic store, which also
// waits until others see it.
func Release(p *uint64, v uint64) { release(p, v) }

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
