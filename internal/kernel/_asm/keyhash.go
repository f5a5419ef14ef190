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
		"a pointer and a length, which stand stride bytes apart. n must be at least one.")
	Pragma("noescape")
	keys := GP64()
	Load(Param("keys"), keys)
	many(func(x *xxh3) {
		MOVQ(operand.Mem{Base: keys}, x.key)
		MOVQ(operand.Mem{Base: keys, Disp: 8}, x.n)
	}, func(*xxh3) {
		ADDQ(argument("stride"), keys)
	})
}

// sumFlat emits the hashes of keys that stand one after another.
func sumFlat() {
	TEXT("sumFlat", NOSPLIT, "func(hs *uint64, buf *byte, begin int, limit int, ends *int, n int) int")
	Doc("sumFlat is sumMany for keys that stand one after another in buf, the first at begin,",
		"each to the next of ends. It also stops where an end is not between begin and limit.")
	Pragma("noescape")
	ends, end := GP64(), GP64()
	Load(Param("ends"), ends)
	key := GP64()
	Load(Param("buf"), key)
	begin := GP64()
	Load(Param("begin"), begin)
	many(func(x *xxh3) {
		MOVQ(operand.Mem{Base: ends}, end)
		CMPQ(end, argument("limit"))
		JA(operand.LabelRef("stop"))
		LEAQ(operand.Mem{Base: key, Index: begin, Scale: 1}, x.key)
		MOVQ(end, x.n)
		SUBQ(begin, x.n)
	}, func(x *xxh3) {
		ADDQ(x.n, begin)
		ADDQ(operand.Imm(8), ends)
	})
}

// many emits the loop over n keys: get finds the key, next goes on to the one
// after it.
func many(get, next func(*xxh3)) {
	hs, left := GP64(), GP64()
	Load(Param("hs"), hs)
	Load(Param("n"), left)
	x := xxh3{key: GP64(), n: GP64()}
	x.begin()
	Label("loop")
	get(&x)
	x.usual()
	Label(hashed)
	MOVQ(reg.RDX, operand.Mem{Base: hs})
	next(&x)
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
