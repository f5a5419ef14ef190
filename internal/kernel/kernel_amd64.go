//go:build !noasm

package kernel

import (
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

func (l Layout) addBatch(words []uint64, added []bool, hs []uint64) int {
	return l.addBatchBy(chosen, words, added, hs)
}

func (l Layout) hasBatch(words []uint64, found []bool, hs []uint64) int {
	return l.hasBatchBy(chosen, words, found, hs)
}

func (l Layout) addBatchBy(by implementation, words []uint64, added []bool, hs []uint64) int {
	if by == reference {
		return l.addBatchRef(words, added, hs)
	}
	if len(hs) == 0 {
		return 0
	}
	var ignored bool
	answers, step := answersFor(added, len(hs), &ignored)
	ahead := l.first(words, hs)
	if by == avx512 {
		return addBatchAVX512(&words[0], l.RegionLines, l.Lines, l.table(), answers, step, &hs[0], len(hs), ahead)
	}
	return addBatchAVX2(&words[0], l.RegionLines, l.Lines, l.table(), answers, step, &hs[0], len(hs), ahead)
}

func (l Layout) hasBatchBy(by implementation, words []uint64, found []bool, hs []uint64) int {
	if by == reference {
		return l.hasBatchRef(words, found, hs)
	}
	if len(hs) == 0 {
		return 0
	}
	var ignored bool
	answers, step := answersFor(found, len(hs), &ignored)
	ahead := l.first(words, hs)
	if by == avx512 {
		return hasBatchAVX512(&words[0], l.RegionLines, l.Lines, l.table(), answers, step, &hs[0], len(hs), ahead)
	}
	return hasBatchAVX2(&words[0], l.RegionLines, l.Lines, l.table(), answers, step, &hs[0], len(hs), ahead)
}

// answersFor returns where n answers go, and how far apart: all to one place that
// nobody reads if answers is nil.
func answersFor(answers []bool, n int, ignored *bool) (first *bool, step int) {
	if answers == nil {
		return ignored, 0
	}
	return &answers[:n][0], 1
}

// first checks words and asks for the lines of the first hashes. The loops ask
// for those of the others, as far ahead as it returns.
func (l Layout) first(words []uint64, hs []uint64) (ahead int) {
	_ = &words[l.length()-1]
	ahead = min(len(hs), batchLines)
	prefetch(&words[0], l.RegionLines, l.Lines, &hs[0], ahead)
	return ahead
}

func (l Layout) prefetch(words []uint64, hs []uint64) {
	if chosen != reference && len(hs) > 0 {
		_ = &words[l.length()-1]
		prefetch(&words[0], l.RegionLines, l.Lines, &hs[0], len(hs))
	}
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
