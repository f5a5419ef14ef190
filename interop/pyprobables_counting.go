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
// See plain for what goroutines may do.
type pyCounting struct {
	pyCounters
	footer pyFooter
	hex    bool
}

func parsePyCounting(b []byte, s Spec) (*pyCounting, error) {
	f, p, err := parsePy(b, s, 32)
	return &pyCounting{pyCounters{p.scheme, p.bits}, f.footer, f.hex}, err
}

// pyCounters are counters of 32 bits, which have a sign where each hash has its own row. A
// counter that is full stays so; one below zero, which removals can lead to, counts as zero.
type pyCounters struct {
	scheme pyScheme
	bits   bitArray // 4 bytes for each
}

// memory returns what a copy of the filter needs a copy of.
func (c *pyCounters) memory() *bitArray { return &c.bits }

// most is what a full counter has.
func (c *pyCounters) most() int64 {
	if c.scheme.rows {
		return math.MaxInt32
	}
	return math.MaxUint32
}

// value returns the i-th counter.
func (c *pyCounters) value(i uint64) int64 {
	n := binary.LittleEndian.Uint32(c.bits.b[4*i:])
	if c.scheme.rows {
		return int64(int32(n))
	}
	return int64(n)
}

// filled returns how many of n counters from the i-th on are above zero, and how many of
// them are full.
func (c *pyCounters) filled(i, n uint64) (ones, stuck uint64) {
	for end := i + n; i < end; i++ {
		if v := c.value(i); v > 0 {
			if ones++; v == c.most() {
				stuck++
			}
		}
	}
	runtime.KeepAlive(c)
	return ones, stuck
}

// Has reports whether key may have been added.
func (c *pyCounters) Has(key []byte) bool { return c.Count(key) != 0 }

// Count returns how often key was added, or more: the least of its counters, as
// pyprobables does unless asked otherwise.
func (c *pyCounters) Count(key []byte) uint64 {
	var buf [32]uint64
	positions, err := c.scheme.positions(buf[:0], key)
	if err != nil {
		return 0
	}
	least := c.most()
	for _, i := range positions {
		least = min(least, c.value(i))
	}
	runtime.KeepAlive(c)
	return uint64(max(0, least))
}

// add is Add without counting the additions.
func (c *pyCounters) add(key []byte) (bool, error) {
	if err := c.bits.mayChange(); err != nil {
		return false, err
	}
	var buf [32]uint64
	positions, err := c.scheme.positions(buf[:0], key)
	if err != nil {
		return false, err
	}
	isNew := false
	for _, i := range positions {
		n := c.value(i)
		isNew = isNew || n <= 0
		if n != c.most() {
			binary.LittleEndian.PutUint32(c.bits.b[4*i:], uint32(n+1))
		}
	}
	runtime.KeepAlive(c)
	return isNew, nil
}

// KeyKind returns what the bytes of a key are.
func (c *pyCounters) KeyKind() KeyKind { return c.scheme.keyKind() }

// Add adds key once and reports whether it was certainly not there before. It fails for a
// key that is not text, and with [ErrReadOnly] if f was opened from bytes.
func (f *pyCounting) Add(key []byte) (bool, error) {
	isNew, err := f.add(key)
	if err == nil {
		f.footer.count()
	}
	return isNew, err
}

// In returns f, with the same counters, as one that WriteTo writes in hexadecimal, or
// not.
func (f *pyCounting) In(hex bool) *pyCounting {
	g := *f
	g.hex = hex
	return &g
}

// Stats describes the filter. It reads all counters.
func (f *pyCounting) Stats() bloom.Stats {
	ones, stuck := f.filled(0, f.scheme.m)
	s := plainStats("pyprobables", f.scheme.m, f.scheme.k, ones)
	s.Bytes, s.Stuck = uint64(len(f.bits.b)), stuck
	s.Capacity, s.Added, s.AskedErrorRate = f.footer.capacity, f.footer.added, float64(f.footer.rate)
	s.ErrorRateAtCapacity = s.Params.ErrorRate(f.footer.capacity)
	return s
}

// Describe says what the filter is.
func (f *pyCounting) Describe() Description {
	return f.scheme.describeAs("counting", "CountingBloomFilter", []Field{{"counters", "32 bits"}})
}

// WriteTo writes the file.
func (f *pyCounting) WriteTo(w io.Writer) (int64, error) {
	return writePyFile(w, &f.bits, f.footer, f.hex)
}
