package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// prefetch emits the request for the lines of many hashes.
func prefetch() {
	TEXT("prefetch", NOSPLIT, "func(words *uint64, regionLines uint64, lines int, hs *uint64, n int)")
	Doc("prefetch asks for all lines of n hashes, which must be at least one.")
	Pragma("noescape")
	byLines("with", argument("lines"), func(name string, lines int) {
		a := loadArray(variant{lines: lines})
		hs, n := GP64(), GP64()
		Load(Param("hs"), hs)
		Load(Param("n"), n)
		Label(name + "loop")
		a.prefetch(operand.Mem{Base: hs})
		ADDQ(operand.Imm(8), hs)
		DECQ(n)
		JNZ(operand.LabelRef(name + "loop"))
		RET()
	})
}

// loadArray reads what the arguments say of the array.
func loadArray(v variant) *array {
	a := &array{variant: v, regionLines: GP64()}
	a.base[0] = GP64()
	Load(Param("regionLines"), a.regionLines.(reg.Register))
	Load(Param("words"), a.base[0])
	a.regions()
	return a
}

// prefetch asks for the lines of the hash at h.
func (a *array) prefetch(h operand.Mem) {
	MOVQ(h, reg.RDX)
	for j := range a.lines {
		if j > 0 {
			next()
		}
		PREFETCHT0(a.lineOf(j))
	}
}

// batch emits the operation for many hashes.
func batch(set instructions, op operation) {
	TEXT(string(op)+"Batch"+set.name(), NOSPLIT, "func(words *uint64, regionLines uint64, lines int, table *uint64, answers *bool, step int, hs *uint64, n int, ahead int) int")
	Doc(fmt.Sprintf("%sBatch%s does the operation for each of n hashes, and asks for the lines of", op, set.name()),
		"the one that stands ahead places further on. Answer i goes to answers + i * step.")
	Pragma("noescape")

	CMPQ(argument("table"), operand.Imm(0))
	JNE(operand.LabelRef("some"))
	byLines("all", argument("lines"), func(name string, lines int) { batchLoop(op, name, variant{set, lines, true}) })
	Label("some")
	byLines("some", argument("lines"), func(name string, lines int) { batchLoop(op, name, variant{set, lines, false}) })
}

// byLines emits code for each number of lines and the jumps to it. emit gets a name
// that is different each time.
func byLines(prefix string, lines operand.Mem, emit func(name string, lines int)) {
	name := func(t int) string { return fmt.Sprintf("%s%d", prefix, t) }
	for t := 2; t <= maxLines; t++ {
		CMPQ(lines, operand.Imm(uint64(t)))
		JE(operand.LabelRef(name(t)))
	}
	for t := 1; t <= maxLines; t++ {
		if t > 1 {
			Label(name(t))
		}
		emit(name(t), t)
	}
}

func batchLoop(op operation, label string, v variant) {
	a := loadArray(v)
	a.table = argument("table")
	hs, answers, there, left, ahead := GP64(), GP64(), GP64(), GP64(), GP64()
	Load(Param("hs"), hs)
	Load(Param("answers"), answers)
	Load(Param("n"), left)
	Load(Param("ahead"), ahead)
	XORQ(there, there)
	v.constants(op, v.full)
	one := func() {
		MOVQ(operand.Mem{Base: hs}, reg.RDX)
		a.probe(op)
		setAnswer(op, operand.Mem{Base: answers})
		ADCQ(operand.Imm(0), there)
		ADDQ(argument("step"), answers)
		ADDQ(operand.Imm(8), hs)
	}

	Comment("The first n - ahead hashes prefetch for others.")
	SUBQ(ahead, left)
	JBE(operand.LabelRef(label + "rest"))
	Label(label + "loop")
	a.prefetch(operand.Mem{Base: hs, Index: ahead, Scale: 8})
	one()
	DECQ(left)
	JNZ(operand.LabelRef(label + "loop"))

	Comment("The lines of the last ahead hashes are on their way.")
	Label(label + "rest")
	ADDQ(ahead, left)
	Label(label + "last")
	one()
	DECQ(left)
	JNZ(operand.LabelRef(label + "last"))
	v.end()
	if op == has {
		Store(there, ReturnIndex(0))
	} else {
		added := GP64()
		Load(Param("n"), added)
		SUBQ(there, added)
		Store(added, ReturnIndex(0))
	}
	RET()
}
