package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// avx512 holds a line in one register. It uses only the upper sixteen of them,
// which leave nothing behind that slows down other code, so that no cleanup is needed.
type avx512 struct{}

const (
	z512Fields = iota
	z512Ones
	z512Places
	z512Words
)

// z returns one of the upper registers.
func z(i int) reg.VecPhysical {
	return [...]reg.VecPhysical{reg.Z16, reg.Z17, reg.Z18, reg.Z19}[i]
}

func (avx512) name() string { return "AVX512" }

func (avx512) constants(op operation, full bool) {
	VMOVDQU64(fields(), z(z512Fields))
	if op == add && full {
		VPBROADCASTQ(constant("one", 1), z(z512Ones))
	}
}

// line returns a mask register of the bits that are there where all lanes are
// used, and a general one of those that are missing otherwise.
func (avx512) line(op operation, line operand.Mem, g operand.Op, row *operand.Mem, before reg.Register) reg.Register {
	places, words, there := z(z512Places), z(z512Words), K()
	if inMemory(g) {
		VPMULTISHIFTQB_BCST(g, z(z512Fields), places)
	} else {
		VPBROADCASTQ(g, places)
		VPMULTISHIFTQB(places, z(z512Fields), places)
	}
	VMOVDQU64(line, words)
	// All eight bytes of a lane of places are the same, and so are the eight bits of
	// the mask: the bit of that lane whose number is in their low six bits.
	VPSHUFBITQMB(places, words, there)
	if op == add {
		ones := z(z512Ones)
		if row != nil {
			VPMOVZXBQ(*row, ones)
		}
		// The rotation takes its counts modulo 64.
		VPROLVQ(places, ones, places)
		VPORQ(places, words, words)
		VMOVDQU64(words, line)
	}
	if row == nil {
		if before != nil {
			KANDQ(before, there, there)
		}
		return there
	}
	missing := GP64()
	KMOVQ(there, missing)
	ANDNQ(*row, missing, missing)
	if before != nil {
		ORQ(before, missing)
	}
	return missing
}

func (avx512) answer(result reg.Register, full bool) {
	if full {
		KORTESTQ(result, result) // carry if there is no zero
		return
	}
	CMPQ(result, operand.Imm(1))
}

func (avx512) end() {}

// fields returns the place of a table of where the six bits of each lane begin in g,
// eight times each.
func fields() operand.Mem {
	return data("fields", func() {
		for i := range 8 {
			DATA(8*i, operand.U64(0x0101010101010101*uint64(16+6*i)))
		}
	})
}
