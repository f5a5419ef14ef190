package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx2 holds a line in two registers of four lanes.
type avx2 struct {
	shifts           [2]reg.VecVirtual // where the six bits of each lane begin in g
	low6, ones, zero reg.VecVirtual
}

func (*avx2) name() string { return "AVX2" }

func (a *avx2) constants(_ operation, full bool) {
	for i := range a.shifts {
		a.shifts[i] = YMM()
		VMOVDQU(shifts().Offset(32*i), a.shifts[i])
	}
	a.low6, a.zero = YMM(), YMM()
	VPBROADCASTQ(constant("low6", 63), a.low6)
	VPXOR(a.zero, a.zero, a.zero)
	if full {
		a.ones = YMM()
		VPBROADCASTQ(constant("one", 1), a.ones)
	}
}

// line returns the bits that are missing.
func (a *avx2) line(op operation, line operand.Mem, g reg.GPVirtual, row *operand.Mem, missing reg.Register) reg.Register {
	all := YMM()
	VMOVQ(g, all.AsX())
	VPBROADCASTQ(all.AsX(), all)
	for i := range a.shifts {
		at := line.Offset(32 * i)
		bit, words, zero := YMM(), YMM(), YMM()
		VPSRLVQ(a.shifts[i], all, bit)
		VPAND(a.low6, bit, bit)
		ones := a.ones
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
func (a *avx2) answer(missing reg.Register, _ bool) { VPTEST(missing, a.zero) }

func (*avx2) end() { VZEROUPPER() }

// shifts returns the place of a table of where the six bits of each lane begin in g.
func shifts() operand.Mem {
	return data("shifts", func() {
		for i := range 8 {
			DATA(8*i, operand.U64(16+6*i))
		}
	})
}
