// Command _asm writes kernel_amd64.s and its declarations, kernel_amd64.go, of
// package kernel. Run it with go generate in the folder above.
package main

import (
	"flag"
	"fmt"
	"log"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	laneMul = 0x9e3779b97f4a7c15
	nextMul = 0xd1342543de82ef95

	maxLines  = 3
	lineShift = 6 // log2 of the bytes in a line
)

func main() {
	of := flag.String("of", "kernel", "package to write: kernel or keyhash")
	flag.Parse()
	ConstraintExpr("amd64,!noasm")
	switch *of {
	case "kernel":
		kernels()
	case "keyhash":
		sumMany()
		sumFlat()
	default:
		log.Fatalf("-of %q: there is kernel and keyhash", *of)
	}
	Generate()
}

// kernels emits the operations on lines.
func kernels() {
	prefetch()
	for _, set := range []instructions{&avx2{}, &avx512{}} {
		batch(set, has)
		batch(set, add)
		single(set, has)
		single(set, add)
	}
	direct(has)
	direct(add)
}

// operation is what is done with the bits of a key in its lines.
type operation string

const (
	has operation = "has" // test them
	add operation = "add" // set them
)

// instructions is the part of a kernel that depends on the vector instructions.
type instructions interface {
	name() string
	// constants loads what the loop needs into registers.
	constants(op operation, full bool)
	// line tests the bits of a key in a line, or sets them, and returns those
	// that were missing besides the ones in missing, which is nil for the first
	// line. g holds the lane bits; row is the entry of the lane table, nil where
	// all lanes are used.
	line(op operation, line operand.Mem, g reg.GPVirtual, row *operand.Mem, missing reg.Register) reg.Register
	// testZero sets the zero flag if none is missing.
	testZero(missing reg.Register)
}

// loop holds the registers of a batch.
type loop struct {
	regionLines reg.GPVirtual
	base        [maxLines]reg.GPVirtual
	table       operand.Mem // where the address of the lane table stands
	hs          reg.GPVirtual
}

// loadArguments reads what all functions of hashes know of the array.
func (l *loop) loadArguments(lines int) {
	l.regionLines, l.base[0] = GP64(), GP64()
	Load(Param("regionLines"), l.regionLines)
	Load(Param("words"), l.base[0])
	l.regions(lines)
	l.hs = GP64()
	Load(Param("hs"), l.hs)
}

// regions finds the regions after the first.
func (l *loop) regions(lines int) {
	if lines == 1 {
		return
	}
	region := GP64()
	MOVQ(l.regionLines, region)
	SHLQ(operand.U8(lineShift), region)
	for j := 1; j < lines; j++ {
		l.base[j] = GP64()
		LEAQ(operand.Mem{Base: l.base[j-1], Index: region, Scale: 1}, l.base[j])
	}
}

// lineOf returns the line of the hash in RDX in region j.
func (l *loop) lineOf(j int) operand.Mem {
	low, line := GP64(), GP64()
	MULXQ(l.regionLines, low, line)
	SHLQ(operand.U8(lineShift), line)
	return operand.Mem{Base: l.base[j], Index: line, Scale: 1}
}

// next turns the hash in RDX into the one for the next region.
func next() {
	x := GP64()
	IMULQ(constant("nextMul", nextMul), reg.RDX)
	MOVQ(reg.RDX, x)
	SHRQ(operand.U8(32), x)
	XORQ(x, reg.RDX)
}

// prefetchLines asks for the lines of the hash at h.
func (l *loop) prefetchLines(lines int, h operand.Mem) {
	MOVQ(h, reg.RDX)
	for j := range lines {
		if j > 0 {
			next()
		}
		PREFETCHT0(l.lineOf(j))
	}
}

func prefetch() {
	TEXT("prefetch", NOSPLIT, "func(words *uint64, regionLines uint64, lines int, hs *uint64, n int)")
	Doc("prefetch asks for all lines of n hashes, which must be at least one.")
	Pragma("noescape")
	byLines("with", argument("lines"), func(name string, lines int) {
		var l loop
		l.loadArguments(lines)
		n := GP64()
		Load(Param("n"), n)
		Label(name + "loop")
		l.prefetchLines(lines, operand.Mem{Base: l.hs})
		ADDQ(operand.Imm(8), l.hs)
		DECQ(n)
		JNZ(operand.LabelRef(name + "loop"))
		RET()
	})
}

func batch(set instructions, op operation) {
	TEXT(string(op)+"Batch"+set.name(), NOSPLIT, "func(words *uint64, regionLines uint64, lines int, table *uint64, answers *bool, step int, hs *uint64, n int, ahead int) int")
	Doc(fmt.Sprintf("%sBatch%s does the operation for each of n hashes, and asks for the lines of", op, set.name()),
		"the one that stands ahead places further on. Answer i goes to answers + i * step.")
	Pragma("noescape")

	byLayout(argument("lines"), argument("table"), func(name string, lines int, full bool) { batchLoop(set, op, name, lines, full) })
}

// byLayout emits code for each number of lines with all lanes or some, and the
// jumps to it. emit gets a name that is different each time.
func byLayout(lines, table operand.Mem, emit func(name string, lines int, full bool)) {
	CMPQ(table, operand.Imm(0))
	JNE(operand.LabelRef("some"))
	byLines("all", lines, func(name string, lines int) { emit(name, lines, true) })
	Label("some")
	byLines("some", lines, func(name string, lines int) { emit(name, lines, false) })
}

// byLines emits code for each number of lines and the jumps to it.
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

func batchLoop(set instructions, op operation, label string, lines int, full bool) {
	l := loop{table: argument("table")}
	l.loadArguments(lines)
	answers, count, left, ahead := GP64(), GP64(), GP64(), GP64()
	Load(Param("answers"), answers)
	Load(Param("n"), left)
	Load(Param("ahead"), ahead)
	XORQ(count, count)
	set.constants(op, full)

	Comment("The first n - ahead hashes prefetch for others.")
	SUBQ(ahead, left)
	JBE(operand.LabelRef(label + "rest"))
	Label(label + "loop")
	l.prefetchLines(lines, operand.Mem{Base: l.hs, Index: ahead, Scale: 8})
	l.probe(set, op, lines, full, answers, count)
	DECQ(left)
	JNZ(operand.LabelRef(label + "loop"))

	Comment("The lines of the last ahead hashes are on their way.")
	Label(label + "rest")
	ADDQ(ahead, left)
	Label(label + "last")
	l.probe(set, op, lines, full, answers, count)
	DECQ(left)
	JNZ(operand.LabelRef(label + "last"))
	VZEROUPPER()
	Store(count, ReturnIndex(0))
	RET()
}

// probe does the operation for the hash at l.hs and goes on to the next.
func (l *loop) probe(set instructions, op operation, lines int, full bool, answers, count reg.GPVirtual) {
	MOVQ(operand.Mem{Base: l.hs}, reg.RDX)
	answer := l.probeOne(set, op, lines, full)
	MOVB(answer, operand.Mem{Base: answers})
	one := GP32()
	MOVBLZX(answer, one)
	ADDQ(one.As64(), count)
	step := GP64()
	Load(Param("step"), step)
	ADDQ(step, answers)
	ADDQ(operand.Imm(8), l.hs)
}

// probeOne does the operation for the hash in RDX and returns the answer.
func (l *loop) probeOne(set instructions, op operation, lines int, full bool) reg.GPVirtual {
	var missing reg.Register
	for j := range lines {
		if j > 0 {
			next()
		}
		at := l.lineOf(j)
		g := GP64()
		MOVQ(reg.RDX, g)
		IMULQ(constant("laneMul", laneMul), g)
		if full {
			missing = set.line(op, at, g, nil, missing)
			continue
		}
		row := l.laneRow(g)
		missing = set.line(op, at, g, &row, missing)
	}
	set.testZero(missing)
	answer := GP8()
	if op == has {
		SETEQ(answer)
	} else {
		SETNE(answer)
	}
	return answer
}

// Where the fields of a Prepared stand.
const (
	preparedRegionLines = 0
	preparedLines       = 8
	preparedTable       = 24
)

// single emits the operation for one hash.
func single(set instructions, op operation) {
	TEXT(string(op)+"One"+set.name(), NOSPLIT, "func(prepared *uint64, words *uint64, h uint64) bool")
	Doc(fmt.Sprintf("%sOne%s does the operation for one hash. prepared is the first field of a Prepared.", op, set.name()))
	Pragma("noescape")

	prepared := GP64()
	Load(Param("prepared"), prepared)
	field := func(offset int) operand.Mem { return operand.Mem{Base: prepared, Disp: offset} }
	byLayout(field(preparedLines), field(preparedTable), func(_ string, lines int, full bool) {
		l := loop{table: field(preparedTable)}
		l.regionLines, l.base[0] = GP64(), GP64()
		MOVQ(field(preparedRegionLines), l.regionLines)
		Load(Param("words"), l.base[0])
		l.regions(lines)
		Load(Param("h"), reg.RDX)
		set.constants(op, full)
		answer := l.probeOne(set, op, lines, full)
		VZEROUPPER()
		Store(answer, ReturnIndex(0))
		RET()
	})
}

// direct emits the jump to the chosen implementation of an operation for one hash.
func direct(op operation) {
	TEXT(string(op)+"One", NOSPLIT, "func(prepared *uint64, words *uint64, h uint64) bool")
	Doc(fmt.Sprintf("%sOne is %sOneAVX512 if that is chosen, and %sOneAVX2 otherwise.", op, op, op))
	Pragma("noescape")
	chosen := operand.NewDataAddr(operand.Symbol{Name: "·chosen"}, 0)
	CMPB(chosen, operand.Imm(avx512Chosen))
	JE(operand.LabelRef("best"))
	jump(op, &avx2{})
	Label("best")
	jump(op, &avx512{})
}

// avx512Chosen is the constant avx512 of package kernel.
const avx512Chosen = 2

// jump leaves for another function with the same arguments.
func jump(op operation, set instructions) {
	to := fmt.Sprintf("·%sOne%s(SB)", op, set.name())
	Instruction(&ir.Instruction{Opcode: "JMP", Operands: []operand.Op{operand.LabelRef(to)}, IsTerminal: true})
}

// argument returns the place of an argument.
func argument(name string) operand.Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		log.Fatal(err)
	}
	return b.Addr
}

// laneRow finds the row of the lane table, an array after its length, for the
// lane bits g.
func (l *loop) laneRow(g reg.GPVirtual) operand.Mem {
	table, s := GP64(), GP64()
	MOVQ(l.table, table)
	MOVWLZX(g.As16(), s.As32())
	IMULQ(operand.Mem{Base: table}, s)
	SHRQ(operand.U8(16), s)
	return operand.Mem{Base: table, Index: s, Scale: 8, Disp: 8}
}

// shifts returns the place in g of the six bits of each lane.
func shifts() operand.Mem {
	return data("shifts", func() {
		for i := range 8 {
			DATA(8*i, operand.U64(16+6*i))
		}
	})
}

// constant returns a read-only word.
func constant(name string, value uint64) operand.Mem {
	return data(name, func() { DATA(0, operand.U64(value)) })
}

var emitted = map[string]operand.Mem{}

// data returns read-only data, which put writes at the first use.
func data(name string, put func()) operand.Mem {
	m, ok := emitted[name]
	if !ok {
		m = GLOBL(name, RODATA|NOPTR)
		put()
		emitted[name] = m
	}
	return m
}
