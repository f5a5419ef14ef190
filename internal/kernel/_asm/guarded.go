package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Where the fields of a Guarded stand that a Prepared does not have.
const (
	guardedStripes = 40 + 8*iota
	guardedMask
	guardedTaken
)

// The constants of type Outcome.
const (
	outcomePresent = iota
	_
	outcomeBusy
)

// guarded is the addition of one key under locks.
func guarded() single {
	return single{
		name: "addGuarded", doc: "adds %s under locks. guarded is the first field of a Guarded.",
		first: "guarded", result: "uint8",
		do:        prepared.addGuarded,
		elsewhere: func(string) { leaveBusy() },
	}
}

// leaveBusy returns without having done anything.
func leaveBusy() {
	MOVB(operand.U8(outcomeBusy), result())
	RET()
}

// guardedLine is a line of a hash, with its lane bits and its lock.
type guardedLine struct {
	at     operand.Mem
	bits   reg.GPVirtual
	stripe operand.Mem
}

// addGuarded emits the addition of the hash in RDX, and returns.
func (p prepared) addGuarded(v variant, label string) {
	a := p.array(v)
	v.constants(add, v.full)

	Comment("Keys that are there need no lock.")
	var missing reg.Register
	lines := make([]guardedLine, v.lines)
	for j := range lines {
		if j > 0 {
			next()
		}
		lines[j] = p.guardedLine(a, j)
		missing = a.probe(has, lines[j].at, lines[j].bits, missing)
	}
	v.answer(missing, v.full)
	JCC(operand.LabelRef(label + "absent"))
	MOVB(operand.U8(outcomePresent), result())
	v.end()
	RET()

	Comment("Each of the stripes in order, unless somebody has it, or has all.")
	Label(label + "absent")
	busy := func(held int) operand.LabelRef { return operand.LabelRef(fmt.Sprintf("%sbusy%d", label, held)) }
	for j := range lines {
		lockPrefix()
		BTSQ(operand.U8(0), lines[j].stripe)
		JCS(busy(j))
		if j == 0 {
			taken := GP64()
			MOVQ(p.field(guardedTaken), taken)
			CMPL(operand.Mem{Base: taken}, operand.Imm(0))
			JNE(busy(1))
		}
	}
	isNew, word := GP64(), GP64()
	XORL(isNew.As32(), isNew.As32())
	missing = nil
	for j := range lines {
		missing = a.probe(add, lines[j].at, lines[j].bits, missing)
	}
	v.answer(missing, v.full)
	SETCC(isNew.As8())
	MOVB(isNew.As8(), result())
	for j := v.lines - 1; j > 0; j-- {
		MOVQ(operand.U32(0), lines[j].stripe)
	}
	Comment("Without the lock, and with a key more if it is new.")
	MOVQ(lines[0].stripe, word)
	LEAQ(operand.Mem{Base: word, Index: isNew, Scale: 2, Disp: -1}, word)
	MOVQ(word, lines[0].stripe)
	v.end()
	RET()

	for held := max(1, v.lines-1); held > 0; held-- {
		Label(string(busy(held)))
		if held > 1 {
			MOVQ(operand.U32(0), lines[held-1].stripe)
		} else {
			DECQ(lines[0].stripe) // only the holder changes a word that is locked
		}
	}
	Label(string(busy(0)))
	MOVB(operand.U8(outcomeBusy), result())
	v.end()
	RET()
}

// guardedLine finds the line of the hash in RDX in region j, and its stripe.
func (p prepared) guardedLine(a *array, j int) guardedLine {
	at := a.lineOf(j)
	line, stripe := GP64(), GP64()
	LEAQ(at, line)
	MOVQ(p.field(guardedMask), stripe)
	ANDQ(at.Index, stripe)
	ADDQ(p.field(guardedStripes), stripe)
	if j > 0 {
		region := GP64()
		MOVQ(p.field(guardedMask), region)
		ADDQ(operand.Imm(1<<lineShift), region)
		LEAQ(operand.Mem{Base: stripe, Index: region, Scale: uint8(j)}, stripe)
	}
	return guardedLine{operand.Mem{Base: line}, laneBits(), operand.Mem{Base: stripe}}
}

// lockPrefix makes the next instruction atomic.
func lockPrefix() { Instruction(&ir.Instruction{Opcode: "LOCK"}) }
