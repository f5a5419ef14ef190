package interop

import (
	"io"
	"math"

	"seen/bloom"
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
// Any number of goroutines may ask while none changes the filter. The hash is public, so
// an attacker can choose keys that collide. The struct must not be copied.
type pyBloom struct {
	plain
	hex bool
}

// newPyBloom returns an empty filter of the size that pyprobables gives it.
func newPyBloom(c pyConfig) (*pyBloom, error) {
	s, err := c.scheme(c.footer())
	if err != nil {
		return nil, err
	}
	b, err := newBitArray(lsbFirst, bytesOf(s.m))
	if err != nil {
		return nil, err
	}
	return s.bloom(b, c.footer(), c.Hex), nil
}

func (s pyScheme) bloom(b bitArray, footer pyFooter, hex bool) *pyBloom {
	return &pyBloom{plain{b, s, footer.capacity, footer.added, float64(footer.rate)}, hex}
}

// openPyBloom returns the filter in b, in either form. It refers to b, which must not
// change, unless b is hexadecimal.
func openPyBloom(b []byte, o pyOptions) (*pyBloom, error) {
	return openPy("BloomFilter", b, o, parsePyBloom)
}

func parsePyBloom(b []byte, o pyOptions) (*pyBloom, error) {
	f, s, bits, err := o.parse(b, 1)
	if err != nil {
		return nil, err
	}
	return s.bloom(bits, f.footer, f.hex), nil
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

// Union makes f the OR of f and other, which must be a pyBloom of the same size and hash.
// The numbers of additions are summed up.
func (f *pyBloom) Union(other Reader) error {
	o, ok := other.(*pyBloom)
	if !ok {
		return errUnlike(f, other)
	}
	return f.unite(&o.plain)
}

// Clone returns a copy in memory of its own, which can be changed.
func (f *pyBloom) Clone() (*pyBloom, error) {
	g := *f
	return &g, g.bits.detach(0)
}

// In returns f, with the same bits, as one that WriteTo writes in hexadecimal, or not.
func (f *pyBloom) In(hex bool) *pyBloom { return &pyBloom{f.plain, hex} }

// Stats describes the filter. It reads all bits.
func (f *pyBloom) Stats() bloom.Stats { return f.stats("pyprobables") }

// Describe says what the filter is.
func (f *pyBloom) Describe() Description {
	return f.scheme.(pyScheme).describe("bloom", "BloomFilter", nil, f.notes())
}

// WriteTo writes the file.
func (f *pyBloom) WriteTo(w io.Writer) (int64, error) {
	return writePyFile(w, &f.bits, pyFooter{f.capacity, f.added, float32(f.rate)}, f.hex)
}
