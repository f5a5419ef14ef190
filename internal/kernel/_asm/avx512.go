package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx512 holds a line in one register, and the bits that are missing in a general
// one, with a byte for each lane.
type avx512 struct {
	shifts, ones reg.VecVirtual
	used         reg.GPVirtual // one in each byte
}

func (*avx512) name() string { return "AVX512" }

func (a *avx512) constants(op operation, full bool) {
	a.shifts = ZMM()
	VMOVDQU64(shifts(), a.shifts)
	if !full {
		return
	}
	a.used = GP64()
	MOVQ(constant("allLanes", 0x0101010101010101), a.used)
	if op == add {
		a.ones = ZMM()
		VPBROADCASTQ(constant("one", 1), a.ones)
	}
}

func (a *avx512) line(op operation, line operand.Mem, g reg.GPVirtual, row *operand.Mem, missing reg.Register) reg.Register {
	places, words, k, set := ZMM(), ZMM(), K(), GP64()
	VPBROADCASTQ(g, places)
	VPSRLVQ(a.shifts, places, places)
	VMOVDQU64(line, words)
	// Bit 8i of the mask is the bit of lane i whose number stands in the low six
	// bits of byte 8i of places.
	VPSHUFBITQMB(places, words, k)
	KMOVQ(k, set)
	zero := GP64()
	if row == nil {
		ANDNQ(a.used, set, zero)
	} else {
		ANDNQ(*row, set, zero)
	}
	if op == add {
		ones := a.ones
		if row != nil {
			ones = ZMM()
			VPMOVZXBQ(*row, ones)
		}
		// The rotation takes its counts modulo 64.
		VPROLVQ(places, ones, places)
		VPORQ(places, words, words)
		VMOVDQU64(words, line)
	}
	if missing != nil {
		ORQ(missing, zero)
	}
	return zero
}

// testZero has nothing to do: the last operation on a general register was the one
// that made missing, and the vector instructions after it leave the flags alone.
func (a *avx512) testZero(reg.Register) {}
