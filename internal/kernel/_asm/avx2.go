package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx2 holds a line in two registers of four lanes. Its constants have registers of
// their own, so that the loops of a function can share code that keeps them.
type avx2 struct{}

var (
	y2Shifts = [2]reg.VecPhysical{reg.Y11, reg.Y12} // where the six bits of each lane begin in g
	y2Low6   = reg.Y13
	y2Ones   = reg.Y14
	y2Zero   = reg.Y15
)

func (avx2) name() string { return "AVX2" }

func (avx2) constants(_ operation, full bool) {
	for i, shift := range y2Shifts {
		VMOVDQU(shifts().Offset(32*i), shift)
	}
	VPBROADCASTQ(constant("low6", 63), y2Low6)
	VPXOR(y2Zero, y2Zero, y2Zero)
	if full {
		VPBROADCASTQ(constant("one", 1), y2Ones)
	}
}

// line returns the bits that are missing.
func (avx2) line(op operation, line operand.Mem, g operand.Op, row *operand.Mem, missing reg.Register) reg.Register {
	all := YMM()
	if inMemory(g) {
		VPBROADCASTQ(g, all)
	} else {
		VMOVQ(g, all.AsX())
		VPBROADCASTQ(all.AsX(), all)
	}
	for i, shift := range y2Shifts {
		at := line.Offset(32 * i)
		bit, words, zero := YMM(), YMM(), YMM()
		VPSRLVQ(shift, all, bit)
		VPAND(y2Low6, bit, bit)
		ones := reg.Register(y2Ones)
		if row != nil {
			ones = YMM()
			VPMOVZXBQ(row.Offset(4*i), ones)
		}
		VPSLLVQ(bit, ones, bit)
		VMOVDQU(at, words)
		VPANDN(bit, words, zero)
		if op == add {
			VPOR(bit, words, words)
			VMOVDQU(words, at)
		}
		if missing != nil {
			VPOR(missing, zero, zero)
		}
		missing = zero
	}
	return missing
}

// answer has carry where the missing bits without those of zero are none.
func (avx2) answer(missing reg.Register, _ bool) { VPTEST(missing, y2Zero) }

func (avx2) end() { VZEROUPPER() }

// shifts returns the place of a table of where the six bits of each lane begin in g.
func shifts() operand.Mem {
	return data("shifts", func() {
		for i := range 8 {
			DATA(8*i, operand.U64(16+6*i))
		}
	})
}
