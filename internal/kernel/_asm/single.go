package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Where the fields of a Prepared stand.
const (
	preparedRegionLines = 8 * iota
	preparedWords
	preparedTable
	preparedHashCode
	preparedKeyCode
)

// variants lists the code there is, the likeliest first. The constants of package
// kernel number it in another way; see code.
func variants() []variant {
	var all []variant
	for _, set := range []instructions{avx512{}, avx2{}} {
		for lines := 1; lines <= maxLines; lines++ {
			all = append(all, variant{set, lines, true}, variant{set, lines, false})
		}
	}
	return all
}

// code returns the code of v in a Prepared, which is never 0: that is for arrays which are
// not probed in assembly.
func (v variant) code() uint64 {
	code := uint64(v.lines)
	if !v.full {
		code += 4
	}
	if v.name() == "AVX512" {
		code += 8
	}
	return code
}

// single is the two functions for one hash and for one key.
type single struct {
	name string // what their names begin with
	doc  string // what they do, with %s for the hash or the key
	// The name of their first argument, and their result.
	first, result string
	// do emits the operation for the hash in RDX for a variant, and returns. Its labels
	// begin with label.
	do func(p prepared, v variant, label string)
	// elsewhere emits what is done where there is no code for the array or the key.
	elsewhere func(name string)
}

// singleOf is the operation for one key.
func singleOf(op operation) single {
	return single{
		name: string(op), doc: "does the operation for %s. prepared is the first field of a Prepared.",
		first: "prepared", result: "bool",
		do:        func(p prepared, v variant, _ string) { p.probe(op, v) },
		elsewhere: func(name string) { jump(name + "Elsewhere") },
	}
}

// emit emits both functions.
func (s single) emit() {
	p := s.begin("Hash", "h uint64", "one hash")
	Load(Param("h"), reg.RDX)
	s.variants(p, p.code(preparedHashCode))
	Label("elsewhere")
	s.elsewhere(s.name + "Hash")

	p = s.begin("Key", "key *byte, n int", "a key of n bytes")
	x := xxh3{key: GP64(), n: GP64()}
	Load(Param("key"), x.key)
	Load(Param("n"), x.n)
	code := p.code(preparedKeyCode)
	x.usual()
	Label(hashed)
	s.variants(p, code)
	x.rest("elsewhere")
	Label("elsewhere")
	s.elsewhere(s.name + "Key")
}

// begin begins one of the functions.
func (s single) begin(of, arguments, what string) prepared {
	TEXT(s.name+of, NOSPLIT, fmt.Sprintf("func(%s *uint64, %s) %s", s.first, arguments, s.result))
	Doc(s.name + of + " " + fmt.Sprintf(s.doc, what))
	Pragma("noescape")
	p := prepared{GP64()}
	Load(Param(s.first), p.at)
	return p
}

// variants emits the operation for all variants, of which code chooses one.
func (s single) variants(p prepared, code reg.GPVirtual) {
	all := variants()
	for i, v := range all {
		other := fmt.Sprintf("variant%d", i+1)
		if i+1 < len(all) {
			CMPQ(code, operand.Imm(v.code()))
			JNE(operand.LabelRef(other))
		}
		s.do(p, v, fmt.Sprintf("variant%d", i))
		if i+1 < len(all) {
			Label(other)
		}
	}
}

// prepared is where a Prepared stands.
type prepared struct{ at reg.GPVirtual }

func (p prepared) field(offset int) operand.Mem { return operand.Mem{Base: p.at, Disp: offset} }

// code loads one of the codes, and leaves if it is 0.
func (p prepared) code(offset int) reg.GPVirtual {
	code := GP64()
	MOVQ(p.field(offset), code)
	TESTQ(code, code)
	JZ(operand.LabelRef("elsewhere"))
	return code
}

// array loads what is known of the array.
func (p prepared) array(v variant) *array {
	a := &array{variant: v, regionLines: p.field(preparedRegionLines), table: p.field(preparedTable)}
	a.base[0] = GP64()
	MOVQ(p.field(preparedWords), a.base[0])
	a.regions()
	return a
}

// probe emits the operation for the hash in RDX, and returns.
func (p prepared) probe(op operation, v variant) {
	a := p.array(v)
	v.constants(op, v.full)
	var missing reg.Register
	for j := range v.lines {
		if j > 0 {
			next()
		}
		missing = a.probe(op, a.lineOf(j), laneBits(), missing)
	}
	v.answer(missing, v.full)
	setAnswer(op, result())
	v.end()
	RET()
}

// jump leaves for a function of the package with the same arguments.
func jump(name string) {
	to := fmt.Sprintf("·%s(SB)", name)
	Instruction(&ir.Instruction{Opcode: "JMP", Operands: []operand.Op{operand.LabelRef(to)}, IsTerminal: true})
}
