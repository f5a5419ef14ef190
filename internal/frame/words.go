package frame

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

var nativeLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Bytes returns words as little-endian bytes. On little-endian machines the
// result shares the memory of words; on others it is a copy.
func Bytes(words []uint64) []byte {
	if len(words) == 0 {
		return nil
	}
	if nativeLittle {
		return bytesOf(words)
	}
	return copyBytes(words)
}

// bytesOf returns the memory of words, in the order of the machine.
func bytesOf(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
}

func copyBytes(words []uint64) []byte {
	b := make([]byte, 8*len(words))
	for i, w := range words {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
	return b
}

// Words returns b, little-endian, as words, and whether the result shares the
// memory of b. It does on little-endian machines when b is aligned to eight bytes
// and a whole number of words; otherwise it is a copy, in which zero bytes
// complete the last word.
func Words(b []byte) ([]uint64, bool) {
	if len(b) == 0 {
		return nil, true
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if nativeLittle && len(b)%8 == 0 && uintptr(p)%8 == 0 {
		return unsafe.Slice((*uint64)(p), len(b)/8), true
	}
	return copyWords(b), false
}

func copyWords(b []byte) []uint64 {
	words := make([]uint64, (len(b)+7)/8)
	n := len(b) / 8
	for i := range n {
		words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	if rest := b[8*n:]; len(rest) > 0 {
		var last [8]byte
		copy(last[:], rest)
		words[n] = binary.LittleEndian.Uint64(last[:])
	}
	return words
}

// AppendStored appends n bytes of words, as little-endian bytes, from offset at on to
// dst. Words are loaded atomically, so that another goroutine may store others.
func AppendStored(dst []byte, words []uint64, at, n uint64) []byte {
	for end := at + n; at < end; {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], atomic.LoadUint64(&words[at/8]))
		piece := word[at%8 : min(8, at%8+end-at)]
		dst = append(dst, piece...)
		at += uint64(len(piece))
	}
	return dst
}

// Ones counts the one bits of b.
func Ones(b []byte) uint64 {
	n := 0
	for ; len(b) >= 8; b = b[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(b))
	}
	for _, c := range b {
		n += bits.OnesCount8(c)
	}
	return uint64(n)
}

// Store replaces the little-endian bytes of words from offset at on by b. Words are
// stored atomically, so that other goroutines may load them; only one may store. Words
// that do not change are not stored.
func Store(words []uint64, at uint64, b []byte) {
	for len(b) > 0 {
		w := &words[at/8]
		var word [8]byte
		was := atomic.LoadUint64(w)
		binary.LittleEndian.PutUint64(word[:], was)
		n := copy(word[at%8:], b)
		if is := binary.LittleEndian.Uint64(word[:]); is != was {
			atomic.StoreUint64(w, is)
		}
		at += uint64(n)
		b = b[n:]
	}
}
