package main

import (
	"fmt"
	"math/bits"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ahead is the number of keys between the request for the lines of one and the
// probe: as many as memory can be asked for at a time, and few enough that the
// lines stay in the first-level cache.
const ahead = 64

// byLines emits code for each number of lines and the jumps to it. emit gets a name
// that is different each time.
func byLines(prefix string, emit func(name string, lines int)) {
	name := func(t int) string { return fmt.Sprintf("%s%d", prefix, t) }
	for t := 2; t <= maxLines; t++ {
		CMPQ(argument("lines"), operand.Imm(uint64(t)))
		JE(operand.LabelRef(name(t)))
	}
	for t := 1; t <= maxLines; t++ {
		if t > 1 {
			Label(name(t))
		}
		emit(name(t), t)
	}
}

// batchHashes emits the operation for many hashes.
func batchHashes(set instructions, op operation) {
	name := string(op) + "Hashes" + set.name()
	TEXT(name, 0, "func(words *uint64, regionLines uint64, lines int, table *uint64, answers *bool, hs *uint64, n int) int")
	Doc(fmt.Sprintf("%s does the operation for each of n hashes, which must be at least one, and", name),
		"returns the number of trues.")
	Pragma("noescape")
	b := newBatch(op)
	hs := GP64()
	Load(Param("hs"), hs)
	b.hash = func(string) {
		MOVQ(operand.Mem{Base: hs}, reg.RDX)
		ADDQ(operand.Imm(8), hs)
	}
	b.variants(set)
}

// batchKeys emits the operation for many keys.
func batchKeys(set instructions, op operation) {
	name := string(op) + "Keys" + set.name()
	TEXT(name, 0, "func(words *uint64, regionLines uint64, lines int, table *uint64, answers *bool, keys *byte, stride int, n int) (count int, done int)")
	Doc(fmt.Sprintf("%s does the operation for the first of n keys, up to one of more than %d bytes, and", name, maxKey),
		"returns the number of trues and of keys. keys is the first of their headers, each of a",
		"pointer and a length. They begin stride bytes apart. n must be at least one.")
	Pragma("noescape")
	b := newBatch(op)
	keys := GP64()
	Load(Param("keys"), keys)
	x := xxh3{key: GP64(), n: GP64()}
	x.begin()
	b.hash = func(loop string) {
		MOVQ(operand.Mem{Base: keys}, x.key)
		MOVQ(operand.Mem{Base: keys, Disp: 8}, x.n)
		x.usual()
		Label(loop + hashed)
		ADDQ(argument("stride"), keys)
	}
	b.where = AllocLocal(8)
	b.variants(set)

	x.rest("long")
	// Back to the loop that the key came from.
	for _, to := range []string{hashed, "long"} {
		Label(to)
		for i, loop := range b.loops[1:] {
			CMPQ(b.where, operand.Imm(uint64(i+1)))
			JE(operand.LabelRef(loop + to))
		}
		JMP(operand.LabelRef(b.loops[0] + to))
	}
}

// batch emits the loops over many keys or hashes. Each key takes two steps: it is
// hashed, its lines are asked for, and what the probe needs is noted; and, ahead
// keys later, its lines are probed. So there is a loop for the first keys, which
// only notes, one that does both, and one for the last keys, which only probes.
type batch struct {
	op   operation
	hash func(loop string) // leaves the hash of the next key in RDX
	// Where keys can be too long: the number of the loop that runs, and their names.
	where operand.Mem
	loops []string

	notes    operand.Mem // a ring: offset of the line, and lane bits, for each line of ahead keys
	regions  operand.Mem // where those after the first begin
	base     reg.GPVirtual
	left     reg.GPVirtual // how many keys are not hashed yet, negated
	note     reg.GPVirtual // the next offset in the ring
	answered reg.GPVirtual // where the answer would go to if none were left
	there    reg.GPVirtual // how many had all bits
}

func newBatch(op operation) *batch {
	b := &batch{op: op, notes: AllocLocal(ahead * 64), regions: AllocLocal(8 * maxLines)}
	b.base, b.left, b.note, b.answered, b.there = GP64(), GP64(), GP64(), GP64(), GP64()
	Load(Param("words"), b.base)
	Load(Param("n"), b.left)
	Load(Param("answers"), b.answered)
	LEAQ(operand.Mem{Base: b.answered, Index: b.left, Scale: 1, Disp: -ahead}, b.answered)
	NEGQ(b.left)
	XORQ(b.there, b.there)
	XORQ(b.note, b.note)
	return b
}

// variants emits the loops for all layouts.
func (b *batch) variants(set instructions) {
	CMPQ(argument("table"), operand.Imm(0))
	JNE(operand.LabelRef("some"))
	byLines("all", func(name string, lines int) { b.emit(name, variant{set, lines, true}) })
	Label("some")
	byLines("some", func(name string, lines int) { b.emit(name, variant{set, lines, false}) })
}

// begin puts the label of a loop.
func (b *batch) begin(loop string) {
	if b.where.Base != nil {
		MOVQ(operand.U32(len(b.loops)), b.where)
		b.loops = append(b.loops, loop)
	}
	Label(loop)
}

func (b *batch) emit(name string, v variant) {
	a := array{variant: v, regionLines: argument("regionLines"), table: argument("table")}
	noteSize := 16
	for noteSize < 16*v.lines {
		noteSize *= 2
	}
	nextNote := func() {
		ADDQ(operand.Imm(uint64(noteSize)), b.note)
		ANDQ(operand.U32(uint32(ahead*noteSize-1)), b.note)
	}
	if v.lines > 1 {
		size, region := GP64(), GP64()
		MOVQ(a.regionLines, size)
		SHLQ(operand.Imm(lineShift), size)
		MOVQ(size, region)
		for j := 1; j < v.lines; j++ {
			MOVQ(region, b.regions.Offset(8*j))
			ADDQ(size, region)
		}
	}
	v.constants(b.op, v.full)
	first, both, last := name+"first", name+"both", name+"last"
	to := func(label string) operand.LabelRef { return operand.LabelRef(label) }

	b.begin(first)
	b.ask(&a, first)
	ADDQ(operand.Imm(uint64(noteSize)), b.note)
	INCQ(b.left)
	JZ(to(name + "asked"))
	CMPQ(b.note, operand.U32(uint32(ahead*noteSize)))
	JB(to(first))
	XORQ(b.note, b.note)

	b.begin(both)
	b.probe(&a, operand.Mem{Base: b.answered, Index: b.left, Scale: 1})
	b.ask(&a, both)
	nextNote()
	INCQ(b.left)
	JNZ(to(both))
	remaining := GP64()
	MOVQ(operand.U64(ahead), remaining)

	Comment("The answers that remain are those before the keys that are left.")
	Label(name + "rest")
	answer := GP64()
	LEAQ(operand.Mem{Base: b.answered, Index: b.left, Scale: 1, Disp: ahead}, answer)
	SUBQ(remaining, answer)
	Label(last)
	b.probe(&a, operand.Mem{Base: answer})
	INCQ(answer)
	nextNote()
	DECQ(remaining)
	JNZ(to(last))
	Label(name + "done")
	v.end()
	done := GP64()
	Load(Param("n"), done)
	ADDQ(b.left, done)
	if b.where.Base != nil {
		Store(done, Return("done"))
	}
	if b.op == has {
		Store(b.there, ReturnIndex(0))
	} else {
		SUBQ(b.there, done)
		Store(done, ReturnIndex(0))
	}
	RET()

	if b.where.Base != nil {
		Label(both + "long")
		nextNote()
		MOVQ(operand.U64(ahead-1), remaining)
		JMP(to(name + "rest"))
		Label(first + "long")
	}
	Label(name + "asked")
	MOVQ(b.note, remaining)
	XORQ(b.note, b.note)
	SHRQ(operand.Imm(uint64(bits.TrailingZeros(uint(noteSize)))), remaining)
	JNZ(to(name + "rest"))
	JMP(to(name + "done"))
}

// ask hashes the next key, asks for its lines and notes where they are.
func (b *batch) ask(a *array, loop string) {
	b.hash(loop)
	for j := range a.lines {
		if j > 0 {
			next()
		}
		low, line := GP64(), GP64()
		MULXQ(a.regionLines, low, line)
		SHLQ(operand.Imm(lineShift), line)
		if j > 0 {
			ADDQ(b.regions.Offset(8*j), line)
		}
		PREFETCHT0(operand.Mem{Base: b.base, Index: line, Scale: 1})
		at := b.notes.Offset(16*j).Idx(b.note, 1)
		MOVQ(line, at)
		MOVQ(laneBits(), at.Offset(8))
	}
}

// probe does the operation for the key whose notes come next.
func (b *batch) probe(a *array, answer operand.Mem) {
	var missing reg.Register
	for j := range a.lines {
		at := b.notes.Offset(16*j).Idx(b.note, 1)
		line := GP64()
		MOVQ(at, line)
		missing = a.probe(b.op, operand.Mem{Base: b.base, Index: line, Scale: 1}, at.Offset(8), missing)
	}
	a.answer(missing, a.full)
	setAnswer(b.op, answer)
	ADCQ(operand.Imm(0), b.there)
}
