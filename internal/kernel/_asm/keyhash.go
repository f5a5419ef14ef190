package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sumMany emits the hashes of keys that are given as headers of slices or strings.
func sumMany() {
	TEXT("sumMany", NOSPLIT, "func(hs *uint64, keys *byte, stride int, n int) int")
	Doc("sumMany stores the hashes of the first of n keys in hs, up to one of more",
		fmt.Sprintf("than %d bytes, and returns their number. keys is the first of their headers, each of", maxKey),
		"a pointer and a length. They begin stride bytes apart. n must be at least one.")
	Pragma("noescape")
	keys := GP64()
	Load(Param("keys"), keys)
	hs, left := GP64(), GP64()
	Load(Param("hs"), hs)
	Load(Param("n"), left)
	x := xxh3{key: GP64(), n: GP64()}
	x.begin()
	Label("loop")
	MOVQ(operand.Mem{Base: keys}, x.key)
	MOVQ(operand.Mem{Base: keys, Disp: 8}, x.n)
	x.usual()
	Label(hashed)
	MOVQ(reg.RDX, operand.Mem{Base: hs})
	ADDQ(argument("stride"), keys)
	ADDQ(operand.Imm(8), hs)
	DECQ(left)
	JNZ(operand.LabelRef("loop"))
	Label("stop")
	done := GP64()
	Load(Param("n"), done)
	SUBQ(left, done)
	Store(done, ReturnIndex(0))
	RET()
	x.rest("stop")
}
