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

// singleHash emits the operation for one hash.
func singleHash(op operation) {
	name := string(op) + "Hash"
	TEXT(name, NOSPLIT, "func(prepared *uint64, h uint64) bool")
	Doc(fmt.Sprintf("%s does the operation for one hash. prepared is the first field of a Prepared.", name))
	Pragma("noescape")
	p := prepared{GP64()}
	Load(Param("prepared"), p.at)
	Load(Param("h"), reg.RDX)
	code := GP64()
	MOVQ(p.field(preparedHashCode), code)
	TESTQ(code, code)
	JZ(operand.LabelRef("elsewhere"))
	p.probe(op, code)
	Label("elsewhere")
	jump(name + "Elsewhere")
}

// singleKey emits the operation for one key.
func singleKey(op operation) {
	name := string(op) + "Key"
	TEXT(name, NOSPLIT, "func(prepared *uint64, key *byte, n int) bool")
	Doc(fmt.Sprintf("%s does the operation for a key of n bytes. prepared is the first field of a Prepared.", name))
	Pragma("noescape")
	p := prepared{GP64()}
	Load(Param("prepared"), p.at)
	x := xxh3{key: GP64(), n: GP64()}
	Load(Param("key"), x.key)
	Load(Param("n"), x.n)
	code := GP64()
	MOVQ(p.field(preparedKeyCode), code)
	TESTQ(code, code)
	JZ(operand.LabelRef("elsewhere"))
	x.usual()
	Label(hashed)
	p.probe(op, code)
	x.rest("elsewhere")
	Label("elsewhere")
	jump(name + "Elsewhere")
}

// prepared is where a Prepared stands.
type prepared struct{ at reg.GPVirtual }

func (p prepared) field(offset int) operand.Mem { return operand.Mem{Base: p.at, Disp: offset} }

// probe emits the operation for the hash in RDX for all variants, of which code
// chooses one, and returns.
func (p prepared) probe(op operation, code reg.GPVirtual) {
	all := variants()
	for i, v := range all {
		other := fmt.Sprintf("variant%d", i+1)
		if i+1 < len(all) {
			CMPQ(code, operand.Imm(v.code()))
			JNE(operand.LabelRef(other))
		}
		a := array{variant: v, regionLines: p.field(preparedRegionLines), table: p.field(preparedTable)}
		a.base[0] = GP64()
		MOVQ(p.field(preparedWords), a.base[0])
		a.regions()
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
		if i+1 < len(all) {
			Label(other)
		}
	}
}

// jump leaves for a function of the package with the same arguments.
func jump(name string) {
	to := fmt.Sprintf("·%s(SB)", name)
	Instruction(&ir.Instruction{Opcode: "JMP", Operands: []operand.Op{operand.LabelRef(to)}, IsTerminal: true})
}
