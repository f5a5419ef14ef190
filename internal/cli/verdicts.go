package cli

import (
	"bytes"
	"encoding/binary"
	"unsafe"
)

// Verdicts on the records of a block are bools, which are bytes of 0 or 1, so that
// eight can be processed at a time.

func verdictBytes(b []bool) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b))), len(b))
}

// trues counts the verdicts that are true.
func trues(b []bool) int { return bytes.Count(verdictBytes(b), []byte{1}) }

// invert negates every verdict.
func invert(b []bool) {
	p := verdictBytes(b)
	for ; len(p) >= 8; p = p[8:] {
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)^0x0101010101010101)
	}
	for i := range p {
		p[i] ^= 1
	}
}

// resize returns b with length n. Its elements are undefined.
func resize[T any](b []T, n int) []T {
	if cap(b) < n {
		return make([]T, n)
	}
	return b[:n]
}
