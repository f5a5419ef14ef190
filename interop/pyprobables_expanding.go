package interop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"

	"seen/bloom"
	"seen/sizing"
)

// pyExpanding is an ExpandingBloomFilter of the Python package pyprobables: a chain of
// filters of the same size and rate. A key is added to the last of them, unless one has
// it; when it has as many keys as the capacity says, another begins. The error rate of
// the whole grows with each.
//
// The file is, for each of the chain, the number of additions in 64 bits and the bits
// as in pyBloom, and a footer of 28 bytes: the number of filters, the capacity of one
// and the additions to the whole, keys that it had included, in 64 bits each, and the
// error rate as a float of 32. Numbers are little-endian. There is no hexadecimal form.
//
// See plain for what goroutines may do.
type pyExpanding struct {
	scheme pyScheme
	footer pyFooter
	chain  []pyLink
}

// pyLink is a filter of a chain.
type pyLink struct {
	bits  bitArray
	added uint64
}

// createPyExpanding returns an empty filter whose chain consists of one filter.
func createPyExpanding(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
	if s.Params["form"] == "hex" {
		return nil, errors.New("an expanding filter of pyprobables has no hexadecimal form")
	}
	p, footer, err := pyOptionsOf(s).create(capacity, errorRate, 1)
	return foreign(&pyExpanding{p.scheme, footer, []pyLink{{bits: p.bits}}}, err)
}

// grow lengthens the chain.
func (f *pyExpanding) grow() error {
	b, err := newBitArray(lsbFirst, bytesOf(f.scheme.m))
	if err != nil {
		return err
	}
	f.chain = append(f.chain, pyLink{bits: b})
	return nil
}

// parsePyExpanding returns the filter that b holds. It refers to b.
func parsePyExpanding(b []byte, spec Spec) (*pyExpanding, error) {
	f, err := readPyFile(b)
	if err != nil {
		return nil, err
	}
	s, err := pyOptionsOf(spec).scheme(f.footer)
	if err != nil {
		return nil, err
	}
	count, err := f.chain(s.m)
	if err != nil {
		return nil, err
	}
	e := &pyExpanding{scheme: s, footer: f.footer, chain: make([]pyLink, count)}
	size := 8 + bytesOf(s.m)
	for i := range e.chain {
		link := f.body[uint64(i)*size:][:size:size]
		e.chain[i] = pyLink{bitArray{order: lsbFirst, b: link[8:]}, binary.LittleEndian.Uint64(link)}
	}
	return e, nil
}

// chain returns the number of filters of m bits that the body consists of.
func (f *pyFile) chain(m uint64) (int, error) {
	if f.hex || len(f.body) < 8 {
		return 0, fmt.Errorf("%d bytes before the footer; the form is binary, and has 8 bytes or more", len(f.body))
	}
	body, count := f.body[:len(f.body)-8], binary.LittleEndian.Uint64(f.body[len(f.body)-8:])
	size := 8 + bytesOf(m)
	if have := uint64(len(body)); count == 0 || have%size != 0 || have/size != count {
		return 0, fmt.Errorf("%d bytes for %d filters of %d bytes", have, count, size)
	}
	return int(count), nil
}

// Has reports whether key may have been added.
func (f *pyExpanding) Has(key []byte) bool {
	var buf [32]uint64
	positions, err := f.scheme.positions(buf[:0], key)
	return err == nil && f.hasAll(positions)
}

func (f *pyExpanding) hasAll(positions []uint64) bool {
	for i := range f.chain {
		if f.chain[i].bits.hasAll(positions) {
			return true
		}
	}
	return false
}

// Add adds key, unless it seems to be there, and reports whether it was not. It fails for
// a key that is not text, with [ErrReadOnly] if f was opened from bytes, and if there is
// not enough memory for another filter.
func (f *pyExpanding) Add(key []byte) (bool, error) {
	if err := f.chain[0].bits.mayChange(); err != nil {
		return false, err
	}
	var buf [32]uint64
	positions, err := f.scheme.positions(buf[:0], key)
	if err != nil {
		return false, err
	}
	isNew := !f.hasAll(positions)
	if isNew {
		if f.chain[len(f.chain)-1].added >= f.footer.capacity {
			if err := f.grow(); err != nil {
				return false, err
			}
		}
		last := &f.chain[len(f.chain)-1]
		last.bits.setAll(positions)
		last.added++
	}
	f.footer.count()
	return isNew, nil
}

// Clone returns a copy in memory of its own, which can be changed.
func (f *pyExpanding) Clone() (*pyExpanding, error) {
	c := *f
	c.chain = make([]pyLink, len(f.chain))
	for i := range f.chain {
		b, err := f.chain[i].bits.clone(0)
		if err != nil {
			return nil, err
		}
		c.chain[i] = pyLink{b, f.chain[i].added}
	}
	return &c, nil
}

// KeyKind returns what the bytes of a key are.
func (f *pyExpanding) KeyKind() KeyKind { return f.scheme.keyKind() }

// Stats describes the filter. It reads all bits. Added is the number of additions, also
// of keys added before.
func (f *pyExpanding) Stats() bloom.Stats {
	all := bloom.Stats{
		Type: "pyprobables", Probes: int(f.scheme.k), Layers: len(f.chain), Capacity: f.footer.capacity * uint64(len(f.chain)),
		Added: f.footer.added, AskedErrorRate: float64(f.footer.rate),
	}
	miss, missAtCapacity := 1.0, 1.0
	layers := make([]sizing.Layer, len(f.chain))
	for i := range f.chain {
		b := &f.chain[i].bits
		s := plainStats("", f.scheme.m, f.scheme.k, b.ones(f.scheme.m))
		all.Bits += s.Bits
		all.Bytes += s.Bytes
		all.Ones += s.Ones
		layers[i] = sizing.Layer{Index: i, Keys: s.Cardinality, Rate: s.ErrorRate, Fill: s.Fill, Probes: s.Probes}
		for _, older := range layers[:i] { // of the same size, and so a key has the same bits
			layers[i].Uneven += older.SameBits()
		}
		miss *= 1 - s.ErrorRate
		missAtCapacity *= 1 - s.Params.ErrorRate(f.footer.capacity)
	}
	all.Fill = float64(all.Ones) / float64(all.Bits)
	all.Cardinality = sizing.Layered(layers)
	all.ErrorRate, all.ErrorRateAtCapacity = 1-miss, 1-missAtCapacity
	return all
}

// Describe says what the filter is.
func (f *pyExpanding) Describe() Description {
	last := f.chain[len(f.chain)-1].added
	return f.scheme.describeAs("expanding", "ExpandingBloomFilter", []Field{
		{"filters", strconv.Itoa(len(f.chain))}, {"capacity of one", strconv.FormatUint(f.footer.capacity, 10)},
		{"added to the last", strconv.FormatUint(last, 10)},
	})
}

// WriteTo writes the file.
func (f *pyExpanding) WriteTo(w io.Writer) (int64, error) {
	defer runtime.KeepAlive(f)
	c := &countingWriter{w: w}
	for i := range f.chain {
		link := &f.chain[i]
		if _, err := c.Write(binary.LittleEndian.AppendUint64(nil, link.added)); err != nil {
			return c.n, err
		}
		if _, err := c.Write(link.bits.b); err != nil {
			return c.n, err
		}
	}
	footer := binary.LittleEndian.AppendUint64(nil, uint64(len(f.chain)))
	_, err := c.Write(f.footer.append(footer, false))
	return c.n, err
}
