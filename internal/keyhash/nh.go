package keyhash

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"

	"github.com/dchest/siphash"
)

// nhBlock is the number of bytes of a block. Longer keys are several blocks.
const nhBlock = 1024

// nhPrime is 2^61-1, modulo which the polynomial of the blocks is computed.
const nhPrime = 1<<61 - 1

// nhSchedule is the secret of an NH hash expanded into words. docs/FORMAT.md defines the
// hash, and docs/DESIGN.md says what it guarantees. A schedule never changes.
type nhSchedule struct {
	secret [SecretSize]byte
	length uint64    // what the length of a key is multiplied by
	fold   [2]uint64 // the odd 128-bit number that folds a sum to 64 bits
	long   [2]uint64 // that for keys of several blocks
	offset uint64    // added then
	point  uint64    // where the polynomial of the blocks is evaluated, up to nhPrime
	words  [nhBlock / 8]uint64
	starts [17][2]uint64 // length times 0 to 16, the high half first
}

// newSchedule expands a secret: word i is the SipHash of the number i.
func newSchedule(secret [SecretSize]byte) *nhSchedule {
	k0, k1 := binary.LittleEndian.Uint64(secret[:8]), binary.LittleEndian.Uint64(secret[8:])
	i := uint64(0)
	word := func() uint64 {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], i)
		i++
		return siphash.Hash(k0, k1, b[:])
	}
	s := &nhSchedule{secret: secret}
	s.length = word()
	s.fold[0] = word() | 1
	s.fold[1] = word()
	s.long[0] = word() | 1
	s.long[1] = word()
	s.offset = word()
	s.point = word() & nhPrime
	for w := range s.words {
		s.words[w] = word()
	}
	for n := range s.starts {
		s.starts[n][0], s.starts[n][1] = bits.Mul64(s.length, uint64(n))
	}
	return s
}

// schedules keeps recent schedules, each in a place that follows from its secret: to make one
// takes as long as to hash some hundred keys.
var schedules [64]atomic.Pointer[nhSchedule]

// scheduleOf returns the schedule of a secret.
func scheduleOf(secret *[SecretSize]byte) *nhSchedule {
	place := &schedules[secret[0]%uint8(len(schedules))]
	if s := place.Load(); s != nil && s.secret == *secret {
		return s
	}
	s := newSchedule(*secret)
	place.Store(s)
	return s
}

// sum returns the hash of key.
func (s *nhSchedule) sum(key []byte) uint64 {
	n := len(key)
	if n > nhBlock {
		return s.blocks(key)
	}
	if IsShort(key) {
		start := &s.starts[n]
		high, low := addProduct(start[0], start[1], binary.LittleEndian.Uint64(key)+s.words[0], binary.LittleEndian.Uint64(key[n-8:])+s.words[1])
		return avalanche(fold(&s.fold, high, low))
	}
	return avalanche(s.block(key))
}

// block returns the hash of up to nhBlock bytes before its avalanche.
func (s *nhSchedule) block(key []byte) uint64 {
	le := binary.LittleEndian
	n := len(key)
	high, low := bits.Mul64(s.length, uint64(n))
	if n <= 8 {
		high, low = addProduct(high, low, tiny(key)+s.words[0], s.words[1])
		return fold(&s.fold, high, low)
	}
	rest, words := key, s.words[:]
	for len(rest) > 32 && len(words) >= 6 {
		high, low = addProduct(high, low, le.Uint64(rest)+words[0], le.Uint64(rest[8:])+words[1])
		high, low = addProduct(high, low, le.Uint64(rest[16:])+words[2], le.Uint64(rest[24:])+words[3])
		rest, words = rest[32:], words[4:]
	}
	if len(rest) > 16 {
		high, low = addProduct(high, low, le.Uint64(rest)+words[0], le.Uint64(rest[8:])+words[1])
		words = words[2:]
	}
	// The last 16 bytes or, of a shorter key, the first 8 and the last 8.
	high, low = addProduct(high, low, le.Uint64(key[max(n-16, 0):])+words[0], le.Uint64(key[n-8:])+words[1])
	return fold(&s.fold, high, low)
}

// tiny returns the one word of a key of up to 8 bytes.
func tiny(key []byte) uint64 {
	n := len(key)
	switch {
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(key)) | uint64(binary.LittleEndian.Uint32(key[n-4:]))<<32
	case n > 0:
		return uint64(key[0]) | uint64(key[n/2])<<8 | uint64(key[n-1])<<16
	}
	return 0
}

// addProduct adds the product of a and b to a number of 128 bits.
func addProduct(high, low, a, b uint64) (newHigh, newLow uint64) {
	h, l := bits.Mul64(a, b)
	low, carry := bits.Add64(low, l, 0)
	high, _ = bits.Add64(high, h, carry) // one instruction with the carry
	return high, low
}

// fold returns the upper half of the lower 128 bits of a product.
func fold(by *[2]uint64, high, low uint64) uint64 {
	h, _ := bits.Mul64(by[0], low)
	return h + by[0]*high + by[1]*low
}

// avalanche is the end of XXH3, a bijection.
func avalanche(x uint64) uint64 {
	x ^= x >> 37
	x *= 0x165667919e3779f9
	return x ^ x>>32
}

// blocks is sum for keys of more than nhBlock bytes.
func (s *nhSchedule) blocks(key []byte) uint64 {
	n, p := uint64(len(key)), uint64(0)
	for len(key) > 0 {
		m := min(len(key), nhBlock)
		h := s.block(key[:m])
		p = s.next(s.next(p, h>>32), h&(1<<32-1))
		key = key[m:]
	}
	return avalanche(fold(&s.long, n, p) + s.offset)
}

// next returns p times the point plus c modulo nhPrime, for c below 2^32.
func (s *nhSchedule) next(p, c uint64) uint64 {
	high, low := bits.Mul64(p, s.point)
	x := low&nhPrime + (low>>61 | high<<3) + c // as 2^61 is 1
	x = x&nhPrime + x>>61
	if x >= nhPrime {
		x -= nhPrime
	}
	return x
}

// sumLines is SumLines, without a call for most ids.
func (s *nhSchedule) sumLines(hs []uint64, data []byte, ends []uint32, tail uint32) {
	start := uint32(0)
	low, high := s.fold[0], s.fold[1]
	w0, w1 := s.words[0], s.words[1]
	for i, end := range ends[:len(hs)] {
		key := data[start : end-tail]
		if n := len(key); IsShort(key) {
			begin := &s.starts[n]
			x, y := addProduct(begin[0], begin[1], binary.LittleEndian.Uint64(key)+w0, binary.LittleEndian.Uint64(key[n-8:])+w1)
			h, _ := bits.Mul64(low, y)
			hs[i] = avalanche(h + low*x + high*y)
		} else if n <= nhBlock {
			hs[i] = avalanche(s.block(key))
		} else {
			hs[i] = s.blocks(key)
		}
		start = end
	}
}
