package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// release emits a plain store. The processor makes stores visible in the order of
// the program, and a call of assembly is nothing that the compiler moves.
func release() {
	TEXT("release", NOSPLIT, "func(p *uint64, v uint64)")
	Doc("release stores v in *p after all stores that come before.")
	Pragma("noescape")
	p, v := GP64(), GP64()
	Load(Param("p"), p)
	Load(Param("v"), v)
	MOVQ(v, operand.Mem{Base: p})
	RET()
}
