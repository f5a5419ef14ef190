package main

import (
	"encoding/binary"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// maxKey is the length of the longest key that the assembly hashes. XXH3 treats
// longer ones in another way, for which a call is a small part of the time.
const maxKey = 240

// secret is the default secret of XXH3, as far as keys of up to maxKey bytes need it.
const secret = "" +
	"\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x7c\x01\x81\x2c\xf7\x21\xad\x1c\xde\xd4\x6d\xe9\x83\x90\x97\xdb\x72\x40\xa4\xa4\xb7\xb3\x67\x1f" +
	"\xcb\x79\xe6\x4e\xcc\xc0\xe5\x78\x82\x5a\xd0\x7d\xcc\xff\x72\x21\xb8\x08\x46\x74\xf7\x43\x24\x8e\xe0\x35\x90\xe6\x81\x3a\x26\x4c" +
	"\x3c\x28\x52\xbb\x91\xc3\x00\xcb\x88\xd0\x65\x8b\x1b\x53\x2e\xa3\x71\x64\x48\x97\xa2\x0d\xf9\x4e\x38\x19\xef\x46\xa9\xde\xac\xd8" +
	"\xa8\xfa\x76\x3f\xe3\x9c\x34\x3f\xf9\xdc\xbb\xc7\xc7\x0b\x4f\x1d\x8a\x51\xe0\x4b\xcd\xb4\x59\x31\xc8\x9f\x7e\xc9\xd9\x78\x73\x64" +
	"\xea\xc5\xac\x83\x34\xd3\xeb\xc3"

// The primes and multipliers of XXH3 and of the XXH64 that it ends short keys with.
const (
	prime1     = 0x9e3779b185ebca87
	prime2     = 0xc2b2ae3d27d4eb4f
	prime3     = 0x165667b19e3779f9
	mulLast    = 0x165667919e3779f9
	mulRound   = 0x9fb21c651e98df25
	emptyHash  = 0x2d06800538d394c2
	secretTail = 136 - 17 // what the last 16 bytes of a key of more than 128 are hashed with: 136 is the least length of secrets
)

// secretAt returns the eight bytes of the secret at i.
func secretAt(i int) uint64 { return binary.LittleEndian.Uint64([]byte(secret[i:])) }

// xxh3 emits XXH3-64 with seed 0 for keys in memory.
type xxh3 struct {
	key, n reg.GPVirtual
	mul    reg.GPVirtual // the last multiplier where many keys are hashed, nil elsewhere
}

// begin loads what is the same for all keys.
func (x *xxh3) begin() {
	x.mul = GP64()
	MOVQ(operand.U64(mulLast), x.mul)
}

// The labels of the code for all lengths, of which there is one copy in a function.
const (
	otherLengths = "other"  // where it begins
	hashed       = "hashed" // where it goes with the hash in RDX; the user puts it
)

// usual leaves the hash of a key of 9 to 16 bytes in RDX, without a jump. For
// others it jumps to the code of rest.
func (x *xxh3) usual() {
	t := GP64()
	LEAQ(operand.Mem{Base: x.n, Disp: -9}, t)
	CMPQ(t, operand.Imm(8))
	JAE(operand.LabelRef(otherLengths))
	x.nineToSixteen()
}

// rest emits the code for keys that are not of 9 to 16 bytes. It jumps to long
// for those of more than maxKey.
func (x *xxh3) rest(long string) {
	to := func(what string) operand.LabelRef { return operand.LabelRef(what) }
	Label(otherLengths)
	x.upTo128(to)

	Label("tiny")
	CMPQ(x.n, operand.Imm(4))
	JB(to("least"))
	x.fourToEight()
	JMP(to(hashed))

	Label("least")
	MOVQ(operand.U64(emptyHash), reg.RDX)
	TESTQ(x.n, x.n)
	JZ(to(hashed))
	x.oneToThree()
	JMP(to(hashed))

	Label("large")
	CMPQ(x.n, operand.U32(maxKey))
	JA(operand.LabelRef(long))
	x.upTo240()
	JMP(to(hashed))
}

// fromStart and fromEnd are places in the key.
func (x *xxh3) fromStart(i int) operand.Mem { return operand.Mem{Base: x.key, Disp: i} }
func (x *xxh3) fromEnd(i int) operand.Mem {
	return operand.Mem{Base: x.key, Index: x.n, Scale: 1, Disp: -i}
}

func (x *xxh3) oneToThree() {
	first, middle, t := GP64(), GP64(), GP64()
	MOVQ(x.n, t)
	SHRQ(operand.Imm(1), t)
	MOVBLZX(x.fromStart(0), first.As32())
	MOVBLZX(operand.Mem{Base: x.key, Index: t, Scale: 1}, middle.As32())
	MOVBLZX(x.fromEnd(1), reg.EDX)
	SHLL(operand.Imm(16), first.As32())
	SHLL(operand.Imm(24), middle.As32())
	ORL(first.As32(), reg.EDX)
	ORL(middle.As32(), reg.EDX)
	MOVL(x.n.As32(), t.As32())
	SHLL(operand.Imm(8), t.As32())
	ORL(t.As32(), reg.EDX)
	XORL(operand.U32(uint32(secretAt(0))^uint32(secretAt(4))), reg.EDX)
	shiftXor(33)
	multiply(prime2)
	shiftXor(29)
	multiply(prime3)
	shiftXor(32)
}

func (x *xxh3) fourToEight() {
	low, turned := GP64(), GP64()
	MOVL(x.fromEnd(4), reg.EDX)
	MOVL(x.fromStart(0), low.As32())
	SHLQ(operand.Imm(32), low)
	ADDQ(low, reg.RDX)
	key := GP64()
	MOVQ(operand.U64(secretAt(8)^secretAt(16)), key)
	XORQ(key, reg.RDX)
	RORXQ(operand.Imm(64-49), reg.RDX, turned)
	RORXQ(operand.Imm(64-24), reg.RDX, low)
	XORQ(turned, reg.RDX)
	XORQ(low, reg.RDX)
	multiply(mulRound)
	MOVQ(reg.RDX, low)
	SHRQ(operand.Imm(35), low)
	ADDQ(x.n, low)
	XORQ(low, reg.RDX)
	multiply(mulRound)
	shiftXor(28)
}

func (x *xxh3) nineToSixteen() {
	high := GP64()
	MOVQ(operand.U64(secretAt(24)^secretAt(32)), reg.RDX)
	XORQ(x.fromStart(0), reg.RDX)
	MOVQ(operand.U64(secretAt(40)^secretAt(48)), high)
	XORQ(x.fromEnd(8), high)
	productLow, productHigh := GP64(), GP64()
	MULXQ(high, productLow, productHigh)
	BSWAPQ(reg.RDX)
	ADDQ(x.n, high)
	XORQ(productHigh, productLow)
	ADDQ(high, reg.RDX)
	ADDQ(productLow, reg.RDX)
	x.avalanche()
}

// upTo128 goes straight through for 33 to 64 bytes, and has code of its own for each
// number of pieces. It jumps away for keys of up to 16 and of more than 128 bytes.
func (x *xxh3) upTo128(to func(string) operand.LabelRef) {
	distance := GP64()
	LEAQ(operand.Mem{Base: x.n, Disp: -33}, distance)
	CMPQ(distance, operand.Imm(32))
	JAE(to("not64"))
	x.pieces(64)
	JMP(to(hashed))

	Label("not64")
	CMPQ(x.n, operand.Imm(16))
	JBE(to("tiny"))
	CMPQ(x.n, operand.Imm(32))
	JA(to("not32"))
	x.pieces(32)
	JMP(to(hashed))

	Label("not32")
	CMPQ(x.n, operand.U32(96))
	JA(to("not96"))
	x.pieces(96)
	JMP(to(hashed))

	Label("not96")
	CMPQ(x.n, operand.U32(128))
	JA(to("large"))
	x.pieces(128)
	JMP(to(hashed))
}

// pieces is the hash of keys of most bytes and up to 31 less, in pieces of 16 bytes
// from both ends.
func (x *xxh3) pieces(most int) {
	sum := x.start()
	for from := most - 32; from >= 0; from -= 32 {
		at := from / 2
		x.fold(sum, x.fromStart(at), x.fromStart(at+8), from, sum)
		to := reg.Register(sum)
		if from == 0 {
			to = reg.RDX
		}
		x.fold(sum, x.fromEnd(at+16), x.fromEnd(at+8), from+16, to)
	}
	x.avalanche()
}

func (x *xxh3) upTo240() {
	sum := x.start()
	for i := 0; i < 128; i += 16 {
		to := reg.Register(sum)
		if i == 128-16 {
			to = reg.RDX
		}
		x.fold(sum, x.fromStart(i), x.fromStart(i+8), i, to)
	}
	x.avalanche()
	MOVQ(reg.RDX, sum)

	// The other whole pieces of 16 bytes, with the secret from its third byte on.
	for i := 128; i+16 <= maxKey; i += 16 {
		CMPQ(x.n, operand.U32(i+16))
		JB(operand.LabelRef("tail"))
		x.fold(sum, x.fromStart(i), x.fromStart(i+8), i-128+3, sum)
	}
	Label("tail")
	x.fold(sum, x.fromEnd(16), x.fromEnd(8), secretTail, reg.RDX)
	x.avalanche()
}

// start returns what the sum of a key of more than 16 bytes begins with.
func (x *xxh3) start() reg.GPVirtual {
	sum := GP64()
	MOVQ(operand.U64(prime1), sum)
	IMULQ(x.n, sum)
	return sum
}

// fold adds both halves, XORed, of the product of two words with the secret at i and
// the eight bytes after it, and leaves the sum in to. The secret is in the instructions,
// since loads are the bottleneck.
func (x *xxh3) fold(sum reg.GPVirtual, a, b operand.Mem, i int, to reg.Register) {
	other, low, high := GP64(), GP64(), GP64()
	MOVQ(operand.U64(secretAt(i)), reg.RDX)
	XORQ(a, reg.RDX)
	MOVQ(operand.U64(secretAt(i+8)), other)
	XORQ(b, other)
	MULXQ(other, low, high)
	XORQ(high, low)
	if to == sum {
		ADDQ(low, sum)
	} else {
		LEAQ(operand.Mem{Base: sum, Index: low, Scale: 1}, to)
	}
}

// avalanche is the end of XXH3, on RDX.
func (x *xxh3) avalanche() {
	shiftXor(37)
	if x.mul != nil {
		IMULQ(x.mul, reg.RDX)
	} else {
		multiply(mulLast)
	}
	shiftXor(32)
}

// shiftXor is x ^= x >> by on RDX.
func shiftXor(by uint8) {
	t := GP64()
	MOVQ(reg.RDX, t)
	SHRQ(operand.Imm(uint64(by)), t)
	XORQ(t, reg.RDX)
}

// multiply multiplies RDX.
func multiply(by uint64) {
	t := GP64()
	MOVQ(operand.U64(by), t)
	IMULQ(t, reg.RDX)
}
