// Command _asm writes split_amd64.s and its declarations, stubs_amd64.go, of
// package split. Run it with go generate in the folder above.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	chunk = 64 // bytes that are compared at once
	width = 4  // bytes of a position
)

func main() {
	ConstraintExpr("amd64,!noasm")
	find("AVX2", findAVX2)
	find("AVX512", findAVX512)
	nth()
	Generate()
}

// search holds the registers of a loop over chunks.
type search struct {
	ends      reg.GPVirtual // where the next position goes
	data, at  reg.GPVirtual // the chunk is at data + at
	delimiter reg.GPVirtual
}

// find makes a function that looks at chunks until there are none, or no room for
// as many positions as a chunk can have.
func find(set string, prepare func(*search) (look func())) {
	TEXT("ends"+set, NOSPLIT, "func(ends *uint32, room int, data *byte, from int, n int, delimiter byte) (count int, scanned int)")
	Doc("ends"+set+" stores the position behind each delimiter in data from byte from on,",
		"of chunks of 64 bytes as long as n holds a whole one and 64 positions have room.",
		"It may store anything in the rest of the room. It returns how many positions it",
		"stored, and up to where it looked.")
	Pragma("noescape")
	s := &search{ends: GP64(), data: GP64(), at: GP64(), delimiter: GP64()}
	first, end, limit, next := GP64(), GP64(), GP64(), GP64()
	Load(Param("ends"), s.ends)
	MOVQ(s.ends, first)
	// Positions may be stored up to here, so that those of a chunk have room.
	Load(Param("room"), limit)
	LEAQ(operand.Mem{Base: s.ends, Index: limit, Scale: width, Disp: -chunk * width}, limit)
	Load(Param("data"), s.data)
	Load(Param("from"), s.at)
	Load(Param("n"), end)
	Load(Param("delimiter"), s.delimiter.As8())
	look := prepare(s)

	Label("loop")
	LEAQ(operand.Mem{Base: s.at, Disp: chunk}, next)
	CMPQ(next, end)
	JGT(operand.LabelRef("done"))
	CMPQ(s.ends, limit)
	JHI(operand.LabelRef("done"))
	look()
	MOVQ(next, s.at)
	JMP(operand.LabelRef("loop"))

	Label("done")
	VZEROUPPER()
	SUBQ(first, s.ends)
	SHRQ(operand.U8(2), s.ends)
	Store(s.ends, ReturnIndex(0))
	Store(s.at, ReturnIndex(1))
	RET()
}

// findAVX2 takes the positions out of a mask of 64 bits, a few at a time whether
// they are there or not: how many there are is the one thing that cannot be
// predicted.
func findAVX2(s *search) func() {
	wanted := YMM()
	VMOVD(s.delimiter.As32(), wanted.AsX())
	VPBROADCASTB(wanted.AsX(), wanted)
	return func() {
		const few = 4
		mask, high, count, to, behind := GP64(), GP64(), GP64(), GP64(), GP64()
		low := YMM()
		VPCMPEQB(operand.Mem{Base: s.data, Index: s.at, Scale: 1}, wanted, low)
		VPMOVMSKB(low, mask.As32())
		upper := YMM()
		VPCMPEQB(operand.Mem{Base: s.data, Index: s.at, Scale: 1, Disp: chunk / 2}, wanted, upper)
		VPMOVMSKB(upper, high.As32())
		SHLQ(operand.U8(chunk/2), high)
		ORQ(high, mask)
		POPCNTQ(mask, count)
		MOVQ(s.ends, to)
		LEAQ(operand.Mem{Base: s.ends, Index: count, Scale: width}, s.ends)
		LEAQ(operand.Mem{Base: s.at, Disp: 1}, behind)
		Label("more")
		for i := range few {
			place := GP64()
			TZCNTQ(mask, place)
			ADDL(behind.As32(), place.As32())
			MOVL(place.As32(), operand.Mem{Base: to, Disp: i * width})
			BLSRQ(mask, mask)
		}
		ADDQ(operand.Imm(few*width), to)
		CMPQ(to, s.ends)
		JCS(operand.LabelRef("more"))
	}
}

// findAVX512 compresses the numbers of the bytes that are delimiters to the start
// of a register, and makes positions of the first 16 of them. There are more in
// few texts.
func findAVX512(s *search) func() {
	const part = 16
	wanted, numbers, base, step := ZMM(), ZMM(), ZMM(), ZMM()
	VPBROADCASTB(s.delimiter.As32(), wanted)
	VMOVDQU64(numbersOfBytes(), numbers)
	behind := GP64()
	LEAQ(operand.Mem{Base: s.at, Disp: 1}, behind)
	VPBROADCASTD(behind.As32(), base)
	MOVQ(operand.U32(chunk), behind)
	VPBROADCASTD(behind.As32(), step)
	return func() {
		is, found, count := K(), ZMM(), GP64()
		VPCMPEQB(operand.Mem{Base: s.data, Index: s.at, Scale: 1}, wanted, is)
		VPCOMPRESSB_Z(numbers, is, found)
		KMOVQ(is, count)
		POPCNTQ(count, count)
		position := ZMM()
		VPMOVZXBD(found.AsX(), position)
		VPADDD(base, position, position)
		VMOVDQU32(position, operand.Mem{Base: s.ends})
		CMPQ(count, operand.Imm(part))
		JLS(operand.LabelRef("stored"))
		for i := 1; i < chunk/part; i++ {
			x, z := XMM(), ZMM()
			VEXTRACTI32X4(operand.U8(i), found, x)
			VPMOVZXBD(x, z)
			VPADDD(base, z, z)
			VMOVDQU32(z, operand.Mem{Base: s.ends, Disp: i * part * width})
		}
		Label("stored")
		LEAQ(operand.Mem{Base: s.ends, Index: count, Scale: width}, s.ends)
		VPADDD(step, base, base)
	}
}

// nth makes the function that finds one delimiter by its number. The end of the
// text is in the mask of the load, so that nothing behind it is read.
func nth() {
	TEXT("nthAVX512", NOSPLIT, "func(data *byte, n int, delimiter byte, number int) int")
	Doc("nthAVX512 returns the index of the delimiter in data with the given number, from 1,",
		"or n if there are fewer.")
	Pragma("noescape")
	data, end, delimiter, number, at := GP64(), GP64(), GP64(), GP64(), GP64()
	Load(Param("data"), data)
	Load(Param("n"), end)
	Load(Param("delimiter"), delimiter.As8())
	Load(Param("number"), number)
	wanted := ZMM()
	VPBROADCASTB(delimiter.As32(), wanted)
	XORQ(at, at)
	all, most := GP64(), GP64()
	MOVQ(operand.I32(-1), all)
	MOVQ(operand.U32(chunk), most)

	Label("next")
	left, there, is, count := GP64(), GP64(), GP64(), GP64()
	inside, found := K(), K()
	text := ZMM()
	MOVQ(end, left)
	SUBQ(at, left)
	JLE(operand.LabelRef("none"))
	CMPQ(left, most)
	CMOVQGT(most, left)
	BZHIQ(left, all, there)
	KMOVQ(there, inside)
	VMOVDQU8_Z(operand.Mem{Base: data, Index: at, Scale: 1}, inside, text)
	VPCMPEQB(text, wanted, inside, found)
	KMOVQ(found, is)
	POPCNTQ(is, count)
	CMPQ(count, number)
	JGE(operand.LabelRef("here"))
	SUBQ(count, number)
	ADDQ(operand.Imm(chunk), at)
	JMP(operand.LabelRef("next"))

	Label("here")
	bit := GP64()
	MOVQ(operand.U32(1), bit)
	DECQ(number)
	SHLXQ(number, bit, bit)
	PDEPQ(is, bit, bit)
	TZCNTQ(bit, bit)
	ADDQ(bit, at)
	VZEROUPPER()
	Store(at, ReturnIndex(0))
	RET()

	Label("none")
	VZEROUPPER()
	Store(end, ReturnIndex(0))
	RET()
}

// numbersOfBytes returns the place of the bytes 0 to 63.
func numbersOfBytes() operand.Mem {
	m := GLOBL("numbers", RODATA|NOPTR)
	for i := uint64(0); i < chunk; i += 8 {
		DATA(int(i), operand.U64(0x0706050403020100+i*0x0101010101010101))
	}
	return m
}
