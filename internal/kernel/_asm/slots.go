package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// prefetchAt emits the request for the memory at a distance from many lines.
func prefetchAt(name string, distance int, doc string) {
	TEXT(name, NOSPLIT, "func(lines **uint64, n int)")
	Doc(doc)
	Pragma("noescape")
	lines, n, line := GP64(), GP64(), GP64()
	Load(Param("lines"), lines)
	Load(Param("n"), n)
	Label("loop")
	MOVQ(operand.Mem{Base: lines}, line)
	PREFETCHT0(operand.Mem{Base: line, Disp: distance})
	ADDQ(operand.Imm(8), lines)
	DECQ(n)
	JNZ(operand.LabelRef("loop"))
	RET()
}

// search emits the search for each of many words in its line.
func search(set interface {
	name() string
	has(line reg.GPVirtual, word, found operand.Mem)
	end()
}) {
	name := "search" + set.name()
	TEXT(name, NOSPLIT, "func(found *bool, lines **uint64, words *uint64, n int)")
	Doc(name + " tells for each of n words, at least one, whether it is in its line.")
	Pragma("noescape")
	found, lines, words, n, i, line := GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	Load(Param("found"), found)
	Load(Param("lines"), lines)
	Load(Param("words"), words)
	Load(Param("n"), n)
	XORQ(i, i)
	Label("loop")
	MOVQ(operand.Mem{Base: lines, Index: i, Scale: 8}, line)
	set.has(line, operand.Mem{Base: words, Index: i, Scale: 8}, operand.Mem{Base: found, Index: i, Scale: 1})
	INCQ(i)
	CMPQ(i, n)
	JNE(operand.LabelRef("loop"))
	set.end()
	RET()
}

// has stores whether a word is one of the eight in a line.
func (avx512) has(line reg.GPVirtual, word, found operand.Mem) {
	equal := K()
	VPBROADCASTQ(word, z(z512Words))
	VPCMPEQQ(operand.Mem{Base: line}, z(z512Words), equal)
	KORTESTB(equal, equal)
	SETNE(found)
}

func (*avx2) has(line reg.GPVirtual, word, found operand.Mem) {
	words, low, high := YMM(), YMM(), YMM()
	VPBROADCASTQ(word, words)
	VPCMPEQQ(operand.Mem{Base: line}, words, low)
	VPCMPEQQ(operand.Mem{Base: line, Disp: 32}, words, high)
	VPOR(low, high, low)
	VPTEST(low, low)
	SETNE(found)
}
