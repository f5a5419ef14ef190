package interop

import (
	"encoding/binary"
	"io"
	"math"
	"runtime"

	"seen/bloom"
)

// pyCounting is a CountingBloomFilter of the Python package pyprobables: a counter of
// 32 bits in place of each bit of pyBloom.
//
// The file is the m counters, little-endian, and the footer of pyBloom, in which the
// second number is the sum of all that was added. In hexadecimal the counters stay as
// they are, and only the numbers of the footer are reversed. A key adds to the counter
// of each of its k positions, twice where two of them are the same, and a counter
// that is full stays so.
//
// Any number of goroutines may ask while none changes the filter. The struct must not be
// copied.
type pyCounting struct {
	scheme   pyScheme
	footer   pyFooter
	counters bitArray // 4 bytes each
	hex      bool
}

// newPyCounting returns an empty filter of the size that pyprobables gives it.
func newPyCounting(c pyConfig) (*pyCounting, error) {
	s, err := c.scheme(c.footer())
	if err != nil {
		return nil, err
	}
	counters, err := newBitArray(lsbFirst, 4*s.m)
	if err != nil {
		return nil, err
	}
	return &pyCounting{s, c.footer(), counters, c.Hex}, nil
}

// openPyCounting returns the filter in b, in either form. It refers to b, which must not
// change, unless b is hexadecimal.
func openPyCounting(b []byte, o pyOptions) (*pyCounting, error) {
	return openPy("CountingBloomFilter", b, o, parsePyCounting)
}

func parsePyCounting(b []byte, o pyOptions) (*pyCounting, error) {
	f, s, counters, err := o.parse(b, 32)
	if err != nil {
		return nil, err
	}
	return &pyCounting{s, f.footer, counters, f.hex}, nil
}

// Has reports whether key may have been added.
func (f *pyCounting) Has(key []byte) bool { return f.Count(key) != 0 }

// Count returns how often key was added, or more.
func (f *pyCounting) Count(key []byte) uint64 {
	var buf [32]uint64
	positions, err := f.scheme.positions(buf[:0], key)
	if err != nil {
		return 0
	}
	least := uint32(math.MaxUint32)
	for _, i := range positions {
		least = min(least, binary.LittleEndian.Uint32(f.counters.b[4*i:]))
	}
	runtime.KeepAlive(f)
	return uint64(least)
}

// Add adds key once and reports whether it was certainly not there before. It fails for a
// key that is not text, and with [ErrReadOnly] if f was opened from bytes.
func (f *pyCounting) Add(key []byte) (bool, error) {
	if err := f.counters.mayChange(); err != nil {
		return false, err
	}
	var buf [32]uint64
	positions, err := f.scheme.positions(buf[:0], key)
	if err != nil {
		return false, err
	}
	isNew := false
	for _, i := range positions {
		at := f.counters.b[4*i:]
		n := binary.LittleEndian.Uint32(at)
		isNew = isNew || n == 0
		if n != math.MaxUint32 {
			binary.LittleEndian.PutUint32(at, n+1)
		}
	}
	runtime.KeepAlive(f)
	f.footer.count()
	return isNew, nil
}

// Clone returns a copy in memory of its own, which can be changed.
func (f *pyCounting) Clone() (*pyCounting, error) {
	g := *f
	return &g, g.counters.detach(0)
}

// In returns f, with the same counters, as one that WriteTo writes in hexadecimal, or
// not.
func (f *pyCounting) In(hex bool) *pyCounting {
	g := *f
	g.hex = hex
	return &g
}

// KeyKind returns what the bytes of a key are.
func (f *pyCounting) KeyKind() KeyKind { return f.scheme.keyKind() }

// Stats describes the filter. It reads all counters.
func (f *pyCounting) Stats() bloom.Stats {
	ones, stuck := uint64(0), uint64(0)
	for i := 0; i < len(f.counters.b); i += 4 {
		switch binary.LittleEndian.Uint32(f.counters.b[i:]) {
		case 0:
		case math.MaxUint32:
			stuck++
			fallthrough
		default:
			ones++
		}
	}
	runtime.KeepAlive(f)
	s := plainStats("pyprobables", f.scheme.m, f.scheme.k, ones)
	s.Bytes, s.Stuck = uint64(len(f.counters.b)), stuck
	s.Capacity, s.Added, s.AskedErrorRate = f.footer.capacity, f.footer.added, float64(f.footer.rate)
	s.ErrorRateAtCapacity = s.Params.ErrorRate(f.footer.capacity)
	return s
}

// Describe says what the filter is.
func (f *pyCounting) Describe() Description {
	return f.scheme.describe("counting", "CountingBloomFilter", []Field{{"counters", "32 bits"}}, nil)
}

// WriteTo writes the file.
func (f *pyCounting) WriteTo(w io.Writer) (int64, error) {
	return writePyFile(w, &f.counters, f.footer, f.hex)
}
