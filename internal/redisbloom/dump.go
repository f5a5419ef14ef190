package redisbloom

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"

	"seen/internal/frame"
	"seen/internal/rdb"
	"seen/sizing"
)

// Dump is a filter that is asked in the bytes of a dump, and is not changed. Any number
// of goroutines may ask.
type Dump struct {
	header header
	links  []*link // without words
	arrays [][]byte
}

// OpenChunks returns the filter of the chunks of BF.SCANDUMP one after another. It refers
// to b, and reads the header alone.
func OpenChunks(b []byte) (*Dump, error) {
	h, size, err := chunksHeader(b)
	if err != nil {
		return nil, err
	}
	body := b[size:]
	if want := h.body(); uint64(len(body)) != want {
		return nil, rdb.Bad("%d bytes, but the header says %d; a dump is all its chunks in order", len(b), uint64(size)+want)
	}
	var arrays [][]byte
	for i := range h.shapes {
		n := h.shapes[i].bytes
		arrays = append(arrays, body[:n:n])
		body = body[n:]
	}
	return h.dump(arrays), nil
}

// IsChunks reports whether b is a header of a dump, with all of its arrays or without any.
func IsChunks(b []byte) bool {
	h, size, err := chunksHeader(b)
	return err == nil && (len(b) == size || uint64(len(b)-size) == h.body())
}

// chunksHeader returns the header that b begins with, and its length.
func chunksHeader(b []byte) (header, int, error) {
	size, err := headerSize(b)
	if err != nil {
		return header{}, 0, err
	}
	if size > len(b) {
		return header{}, 0, rdb.Bad("%d bytes, but the header alone has %d", len(b), size)
	}
	h, err := parseHeader(b[:size])
	return h, size, err
}

// body returns the length of all arrays.
func (h *header) body() uint64 {
	n := uint64(0)
	for i := range h.shapes {
		n += h.shapes[i].bytes
	}
	return n
}

// OpenPayload returns the filter of a payload of DUMP, and the version of the RDB format
// that it was written in. It refers to b and reads all of it.
func OpenPayload(b []byte) (*Dump, uint16, error) {
	v, err := open(b, ReadValue)
	if err != nil {
		return nil, 0, err
	}
	d, err := v.Dump()
	return d, binary.LittleEndian.Uint16(b[len(b)-rdb.TailSize:]), err
}

// Dump returns the filter. Arrays that are compressed are copied.
func (v *Value) Dump() (_ *Dump, err error) {
	arrays := make([][]byte, len(v.arrays))
	for i := range v.arrays {
		if arrays[i], err = v.arrays[i].Bytes(); err != nil {
			return nil, err
		}
	}
	return v.header.dump(arrays), nil
}

func (h header) dump(arrays [][]byte) *Dump {
	d := &Dump{header: h, arrays: arrays}
	for i := range h.shapes {
		d.links = append(d.links, h.shapes[i].bare())
	}
	return d
}

// Dump returns the filter as it is now, in memory of its own.
func (f *Filter) Dump() *Dump {
	links := f.chain()
	arrays := make([][]byte, len(links))
	for i, l := range links {
		arrays[i] = l.appendBytes(nil, 0, l.bytes)
	}
	return f.headerOf(links).dump(arrays)
}

// Has reports whether key may have been added.
func (d *Dump) Has(key []byte) bool {
	h := hashOf(key, d.header.options)
	for i, l := range d.links {
		if l.hasIn(d.arrays[i], l.probe(h)) {
			return true
		}
	}
	return false
}

// hasIn is has for an array of bytes.
func (l *link) hasIn(array []byte, p probe) bool {
	for range l.hashes {
		if array[p.at/8]>>(p.at%8)&1 == 0 {
			return false
		}
		p = l.advance(p)
	}
	return true
}

// Info describes the filter and its sub-filters, oldest first.
func (d *Dump) Info() Info { return d.header.info() }

// Ones returns the number of one bits of each sub-filter. It reads all of them.
func (d *Dump) Ones() []uint64 {
	all := make([]uint64, len(d.arrays))
	for i, b := range d.arrays {
		all[i] = frame.Ones(b)
	}
	return all
}

// Filter returns a copy in memory of its own, which can be changed. reserve is that of
// [Config].
func (d *Dump) Filter(reserve func(bytes uint64) error) (*Filter, error) {
	f, err := d.header.filter(reserve)
	if err != nil {
		return nil, err
	}
	for i, l := range f.chain() {
		l.setBytes(0, d.arrays[i])
	}
	return f, nil
}

// Union adds the keys of d, whose sub-filters must have the same sizes: the error names
// the first difference. A sub-filter then counts as many keys as its bits tell, since what
// the two have in common is not known.
func (f *Filter) Union(d *Dump) error {
	links := f.chain()
	switch {
	case len(links) != len(d.links):
		return fmt.Errorf("%d and %d sub-filters", len(links), len(d.links))
	case f.options&force64 != d.header.options&force64:
		return errors.New("hashes of 32 and 64 bits")
	}
	for i, l := range links {
		s, t := l.shape, d.header.shapes[i]
		if s.bits != t.bits || s.hashes != t.hashes || s.power != t.power {
			return fmt.Errorf("sub-filter %d has %d bits and %d probes, and the other %d and %d", i, s.bits, s.hashes, t.bits, t.hashes)
		}
	}
	total := uint64(0)
	for i, l := range links {
		other := make([]uint64, len(l.words))
		frame.Store(other, 0, d.arrays[i])
		ones := uint64(0)
		for j := range l.words {
			atomic.OrUint64(&l.words[j], other[j])
			ones += uint64(bits.OnesCount64(l.words[j]))
		}
		most := l.added.Load() + d.header.added[i]
		n := most
		if estimate := l.params().Cardinality(ones); estimate.Known() {
			n = min(most, max(l.added.Load(), d.header.added[i], uint64(math.Round(estimate.Value))))
		}
		l.added.Store(n)
		total += n
	}
	runtime.KeepAlive(links)
	f.added.Store(total)
	return nil
}

func (s *shape) params() sizing.Params { return classic(s.bits, s.power, s.hashes) }

// Params is the layout of a sub-filter.
func (s SubFilter) Params() sizing.Params { return classic(s.Bits, s.PowerOfTwo, s.Hashes) }

func classic(bits uint64, power uint8, probes uint32) sizing.Params {
	if power != 0 {
		bits = 1 << power
	}
	return sizing.Params{Shape: sizing.Classic, M: bits, K: int(probes)}
}
