package interop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"

	"seen/bloom"
	"seen/internal/frame"
	"seen/internal/pages"
	"seen/sizing"
)

// bitOrder says where bit i of an array is: at bit j mod 8 of byte j/8, where j is i XOR
// the order.
type bitOrder uint64

const (
	lsbFirst bitOrder = 0  // bytes, or little-endian words of any width
	msbFirst bitOrder = 7  // bytes whose first bit is the one of value 128
	bigWords bitOrder = 56 // big-endian words of 64 bits
)

const (
	// foreignMaxBytes limits new arrays to 32 TiB, or to the address space of a 32-bit
	// system.
	foreignMaxBytes = min(math.MaxInt/2, 1<<45)
	// foreignMaxProbes is far above what any error rate needs. A header with more could
	// make each question take any time.
	foreignMaxProbes = 1000
)

// bitArray is the bits of a filter, in the bytes of a file or in memory of its own. Bits
// after the last byte are 0.
type bitArray struct {
	order bitOrder
	b     []byte
	own   *pages.Array // what b is a part of; nil if b is only read
}

// newBitArray returns an array of so many zero bytes, which can be changed.
func newBitArray(order bitOrder, bytes uint64) (bitArray, error) {
	if bytes > foreignMaxBytes {
		return bitArray{}, fmt.Errorf("an array of %d bytes is larger than the limit of %d", bytes, uint64(foreignMaxBytes))
	}
	own, err := pages.New((bytes + 7) / 8)
	if err != nil {
		return bitArray{}, err
	}
	return bitArray{order, own.Bytes()[:bytes:bytes], own}, nil
}

// clone returns a copy of at least so many bytes, which can be changed.
func (a *bitArray) clone(bytes uint64) (bitArray, error) {
	c, err := newBitArray(a.order, max(bytes, uint64(len(a.b))))
	if err != nil {
		return bitArray{}, fmt.Errorf("a copy of the filter: %w", err)
	}
	copy(c.b, a.b)
	runtime.KeepAlive(a)
	return c, nil
}

// detach makes a a copy of itself of at least so many bytes, which can be changed.
func (a *bitArray) detach(bytes uint64) error {
	c, err := a.clone(bytes)
	if err == nil {
		*a = c
	}
	return err
}

// has reports whether bit i is set.
func (a *bitArray) has(i uint64) bool {
	j := i ^ uint64(a.order)
	is := j/8 < uint64(len(a.b)) && a.b[j/8]>>(j%8)&1 != 0
	runtime.KeepAlive(a)
	return is
}

// set sets bit i, which must be in the array, and reports whether it was 0.
func (a *bitArray) set(i uint64) bool {
	j := i ^ uint64(a.order)
	was := a.b[j/8]
	a.b[j/8] = was | 1<<(j%8)
	runtime.KeepAlive(a)
	return a.b[j/8] != was
}

// mayChange returns an error unless the array has memory of its own.
func (a *bitArray) mayChange() error {
	if a.own == nil {
		return fmt.Errorf("%w; change a Clone", ErrReadOnly)
	}
	return nil
}

// ones counts the bits that are set among the first m.
func (a *bitArray) ones(m uint64) uint64 {
	whole := min(m/64, uint64(len(a.b))/8) // words, which hold the same bits in any order
	n := frame.Ones(a.b[:8*whole])
	for i := 64 * whole; i < min(m, 8*uint64(len(a.b))); i++ {
		if a.has(i) {
			n++
		}
	}
	runtime.KeepAlive(a)
	return n
}

// words returns how the order stores the 64 bits of a word, the first as the lowest.
func (o bitOrder) words() binary.ByteOrder {
	if o == bigWords {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// or sets the bits of b in a, which can be changed. Bits that a has no room for are left
// out.
func (a *bitArray) or(b *bitArray) {
	n := min(len(a.b), len(b.b)) / 8 * 8
	to, from := a.order.words(), b.order.words()
	for i := 0; i < n; i += 8 {
		to.PutUint64(a.b[i:], to.Uint64(a.b[i:])|from.Uint64(b.b[i:]))
	}
	for i := n; i < min(len(a.b), len(b.b)); i++ { // less than a word, and so of the same order
		a.b[i] |= b.b[i]
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
}

// writeTo writes whole words of the array, from its start to byte n, in another order.
func (a *bitArray) writeTo(w io.Writer, n uint64, order bitOrder) error {
	defer runtime.KeepAlive(a)
	if order == a.order {
		_, err := w.Write(a.b[:n])
		return err
	}
	var buf [32 << 10]byte
	for b := a.b[:n]; len(b) > 0; {
		part := buf[:min(len(buf), len(b))]
		for i := 0; i < len(part); i += 8 {
			order.words().PutUint64(part[i:], a.order.words().Uint64(b[i:]))
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
		b = b[len(part):]
	}
	return nil
}

// writeBetween writes the array, all of it and in its own order, between head and tail.
func (a *bitArray) writeBetween(w io.Writer, head, tail []byte) (written int64, err error) {
	defer runtime.KeepAlive(a)
	for _, part := range [][]byte{head, a.b, tail} {
		n, err := w.Write(part)
		if written += int64(n); err != nil {
			return written, err
		}
	}
	return written, nil
}

// countingWriter counts the bytes that were written.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// plainStats describes an array of m bits, of which so many are set, with k probes for
// each key.
func plainStats(name string, m, k, ones uint64) bloom.Stats {
	s := bloom.Stats{
		Type: name, Bits: m, Probes: int(k), Layers: 1, Bytes: m/8 + (m%8+7)/8,
		Ones: ones, Fill: float64(ones) / float64(m),
	}
	p := sizing.Params{Shape: sizing.Classic, M: m, K: int(k)}
	if p.Validate() == nil {
		s.Params = p
		s.Cardinality = p.Cardinality(ones)
		s.ErrorRate = p.ErrorRateAt(ones)
		return s
	}
	// Package sizing does not calculate with so many probes: take each for a key of one
	// probe.
	p.K = 1
	s.Cardinality = p.Cardinality(ones)
	s.Cardinality.Value /= float64(k)
	s.Cardinality.StdErr /= float64(k)
	s.ErrorRate = math.Pow(s.Fill, float64(k))
	return s
}

// checkWish refuses a capacity or an error rate that no filter can have.
func checkWish(capacity uint64, errorRate float64) error {
	if capacity == 0 {
		return errors.New("capacity is 0; give the number of keys, 1 or more")
	}
	if !(errorRate > 0 && errorRate < 1) {
		return fmt.Errorf("error rate %v; give a number between 0 and 1, both excluded", errorRate)
	}
	return nil
}

// checkSize refuses a capacity or an error rate that no filter can have, and a number of
// bits, calculated from them, that is above the limit.
func checkSize(bits float64, capacity uint64, errorRate float64) error {
	if err := checkWish(capacity, errorRate); err != nil {
		return err
	}
	if bits > foreignMaxBytes*8 {
		return fmt.Errorf("%d keys at an error rate of %v take %.3g bytes, more than the limit of %d; lower the capacity or raise the error rate",
			capacity, errorRate, bits/8, uint64(foreignMaxBytes))
	}
	return nil
}
