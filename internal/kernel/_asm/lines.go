package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	laneMul = 0x9e3779b97f4a7c15
	nextMul = 0xd1342543de82ef95

	maxLines  = 3
	lineShift = 6 // log2 of the bytes in a line
)

// operation is what is done with the bits of a key in its lines.
type operation string

const (
	has operation = "has" // test them
	add operation = "add" // set them
)

// instructions is the part of a kernel that depends on the vector instructions.
type instructions interface {
	name() string
	// constants loads what is the same for all hashes into registers.
	constants(op operation, full bool)
	// line tests the bits of a key in a line, or sets them, and returns what came
	// out, together with what came out of the lines before, which is nil for the
	// first. g holds the lane bits, in a register or in memory; row is the entry of the lane table, nil where
	// all lanes are used.
	line(op operation, line operand.Mem, g operand.Op, row *operand.Mem, before reg.Register) reg.Register
	// answer sets the carry flag if all bits were there, and clears it otherwise.
	answer(result reg.Register, full bool)
	// end leaves the vector registers as other code wants them.
	end()
}

// variant is what the code for an array depends on.
type variant struct {
	instructions
	lines int
	full  bool // all lanes are used
}

// array holds what is known of an array.
type array struct {
	variant
	regionLines operand.Op // register or memory
	base        [maxLines]reg.GPVirtual
	table       operand.Mem // where the address of the lane table stands
}

// regions finds the regions after the first.
func (a *array) regions() {
	if a.lines == 1 {
		return
	}
	region := GP64()
	MOVQ(a.regionLines, region)
	SHLQ(operand.U8(lineShift), region)
	for j := 1; j < a.lines; j++ {
		a.base[j] = GP64()
		LEAQ(operand.Mem{Base: a.base[j-1], Index: region, Scale: 1}, a.base[j])
	}
}

// lineOf returns the line of the hash in RDX in region j.
func (a *array) lineOf(j int) operand.Mem {
	low, line := GP64(), GP64()
	MULXQ(a.regionLines, low, line)
	SHLQ(operand.U8(lineShift), line)
	return operand.Mem{Base: a.base[j], Index: line, Scale: 1}
}

// next turns the hash in RDX into the one for the next region.
func next() {
	multiply(nextMul)
	shiftXor(32)
}

// probe does the operation on a line of a key with lane bits g.
func (a *array) probe(op operation, at operand.Mem, g operand.Op, before reg.Register) reg.Register {
	if a.full {
		return a.line(op, at, g, nil, before)
	}
	row := a.laneRow(g)
	return a.line(op, at, g, &row, before)
}

// laneBits returns the lane bits of the hash in RDX.
func laneBits() reg.GPVirtual {
	g := GP64()
	MOVQ(operand.U64(laneMul), g)
	IMULQ(reg.RDX, g)
	return g
}

// setAnswer stores the answer that the carry flag gives: of has, that all bits were
// there, of add, that one was not.
func setAnswer(op operation, to operand.Mem) {
	if op == has {
		SETCS(to)
	} else {
		SETCC(to)
	}
}

// laneRow finds the row of the lane table, an array after its length, for the
// lane bits g.
func (a *array) laneRow(g operand.Op) operand.Mem {
	table, s := GP64(), GP64()
	MOVQ(a.table, table)
	if r, ok := g.(reg.GPVirtual); ok {
		g = r.As16()
	}
	MOVWLZX(g, s.As32())
	IMULQ(operand.Mem{Base: table}, s)
	SHRQ(operand.U8(16), s)
	return operand.Mem{Base: table, Index: s, Scale: 8, Disp: 8}
}

func inMemory(op operand.Op) bool {
	_, is := op.(operand.Mem)
	return is
}
