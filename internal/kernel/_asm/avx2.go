package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx2 holds a line in two registers of four lanes.
type avx2 struct {
	shifts     [2]reg.VecVirtual // where the six bits of each lane begin in g
	low6, ones reg.VecVirtual
}

func (*avx2) name() string { return "AVX2" }

func (a *avx2) constants(_ operation, full bool) {
	for i := range a.shifts {
		a.shifts[i] = YMM()
		VMOVDQU(shifts().Offset(32*i), a.shifts[i])
	}
	a.low6 = YMM()
	VPBROADCASTQ(constant("low6", 63), a.low6)
	if full {
		a.ones = YMM()
		VPBROADCASTQ(constant("one", 1), a.ones)
	}
}

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

func (a *avx2) testZero(missing reg.Register) { VPTEST(missing, missing) }
