package interop

import (
	"io"
	"math"
)

// pyBloom is a BloomFilter of the Python package pyprobables, or of the C library
// with the same format.
//
// The file is the bits, bit i being bit i mod 8 of byte i/8, and a footer of 20 bytes,
// all numbers little-endian: the capacity in 64 bits, the number of additions in 64
// bits, the error rate as a float of 32 bits. The number of bits m and the number of
// probes k follow from those. export_hex writes the same in hexadecimal digits, with
// the bytes of each number of the footer reversed.
//
// See plain for what goroutines may do.
type pyBloom struct {
	plain[pyScheme]
	hex bool
}

func parsePyBloom(b []byte, s Spec) (*pyBloom, error) {
	f, p, err := parsePy(b, s, 1)
	return &pyBloom{p, f.hex}, err
}

// Add adds key and reports whether it was certainly not there before. It fails for a key
// that is not text, and with [ErrReadOnly] if f was opened from bytes. The number of
// additions grows with each, as there.
func (f *pyBloom) Add(key []byte) (bool, error) {
	isNew, err := f.set(key)
	if err == nil && f.added != math.MaxUint64 {
		f.added++
	}
	return isNew, err
}

// In returns f, with the same bits, as one that WriteTo writes in hexadecimal, or not.
func (f *pyBloom) In(hex bool) *pyBloom { return &pyBloom{f.plain, hex} }

// WriteTo writes the file.
func (f *pyBloom) WriteTo(w io.Writer) (int64, error) {
	return writePyFile(w, &f.bits, pyFooter{f.capacity, f.added, float32(f.rate)}, f.hex)
}
