package redisbloom

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"runtime"

	"seen/internal/frame"
	"seen/internal/rdb"
)

// A dump is a header and a body, all numbers little-endian. The header:
//
//	0   8  keys added
//	8   4  number of sub-filters
//	12  4  options: 1 no rounding, 2 capacities as bits, 4 64-bit hashes, 8 does not grow
//	16  4  expansion
//
// and for each sub-filter, oldest first, without gaps:
//
//	0   8  bytes of the array
//	8   8  bits
//	16  8  keys added
//	24  8  error rate, a double
//	32  8  bits per key, a double
//	40  4  probes
//	44  8  capacity
//	52  1  logarithm of the bits in use, 0: all
//
// The body is the arrays, in the same order.
const (
	headSize = 20
	linkSize = 53
	// maxChunk is the most that ScanDump gives at a time.
	maxChunk = 16 << 20
)

// AppendHeader appends the header of a dump to dst: what BF.SCANDUMP gives first.
func (f *Filter) AppendHeader(dst []byte) []byte { return f.headerOf(f.chain()).append(dst) }

func (h header) append(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint64(dst, h.total())
	dst = le.AppendUint32(dst, uint32(len(h.shapes)))
	dst = le.AppendUint32(dst, h.options)
	dst = le.AppendUint32(dst, h.expansion)
	for i, s := range h.shapes {
		dst = le.AppendUint64(dst, s.bytes)
		dst = le.AppendUint64(dst, s.bits)
		dst = le.AppendUint64(dst, h.added[i])
		dst = le.AppendUint64(dst, math.Float64bits(s.errorRate))
		dst = le.AppendUint64(dst, math.Float64bits(s.bitsPerKey))
		dst = le.AppendUint32(dst, s.hashes)
		dst = le.AppendUint64(dst, s.capacity)
		dst = append(dst, s.power)
	}
	return dst
}

// header is a header that was read and checked.
type header struct {
	options, expansion uint32
	shapes             []shape
	added              []uint64
}

// total returns the keys of all sub-filters. The filter's own number may have moved on.
func (h *header) total() (sum uint64) {
	for _, n := range h.added {
		sum += n
	}
	return sum
}

// headerSize returns the length of the header that b begins with.
func headerSize(b []byte) (int, error) {
	if len(b) < headSize {
		return 0, rdb.Bad("a header of %d bytes; it has at least %d", len(b), headSize)
	}
	n := binary.LittleEndian.Uint32(b[8:])
	if n == 0 || n > maxLinks {
		return 0, rdb.Bad("%d sub-filters; there are 1 to %d", n, maxLinks)
	}
	return headSize + linkSize*int(n), nil
}

func parseHeader(b []byte) (header, error) {
	size, err := headerSize(b)
	if err != nil {
		return header{}, err
	}
	if len(b) != size {
		return header{}, rdb.Bad("a header of %d bytes that needs %d", len(b), size)
	}
	le := binary.LittleEndian
	h := header{options: le.Uint32(b[12:]), expansion: le.Uint32(b[16:])}
	for r := b[headSize:]; len(r) > 0; r = r[linkSize:] {
		h.shapes = append(h.shapes, shape{
			bytes: le.Uint64(r), bits: le.Uint64(r[8:]),
			errorRate: math.Float64frombits(le.Uint64(r[24:])), bitsPerKey: math.Float64frombits(le.Uint64(r[32:])),
			hashes: le.Uint32(r[40:]), capacity: le.Uint64(r[44:]), power: r[52],
		})
		h.added = append(h.added, le.Uint64(r[16:]))
	}
	return h, h.check(le.Uint64(b))
}

// check refuses headers that RedisBloom refuses, and headers that would make a question
// take minutes.
func (h *header) check(total uint64) error {
	if h.options&^allOptions != 0 {
		return rdb.Bad("options %#x; seen reads %#x", h.options, allOptions)
	}
	sum, bytes := uint64(0), uint64(0)
	for i := range h.shapes {
		if what := h.shapes[i].check(); what != "" {
			return rdb.Bad("sub-filter %d has %s", i, what)
		}
		if sum += h.added[i]; sum < h.added[i] {
			return rdb.Bad("the keys of the sub-filters are more than 64 bits can count")
		}
		if bytes += h.shapes[i].bytes; bytes > maxBytes {
			return rdb.Bad("the arrays take more than the limit of %d bytes", uint64(maxBytes))
		}
	}
	if sum != total {
		return rdb.Bad("%d keys in the filter, %d in its sub-filters", total, sum)
	}
	return nil
}

// filter makes a filter of the header, with no bits set.
func (h *header) filter(reserve func(bytes uint64) error) (*Filter, error) {
	f := &Filter{options: h.options, expansion: h.expansion, reserve: reserve}
	if err := f.build(h.shapes, h.added); err != nil {
		return nil, err
	}
	return f, nil
}

// FromHeader returns a filter with the sub-filters that a dump's header describes,
// without bits: what BF.LOADCHUNK with iterator 1 does. [Filter.LoadChunk] loads the
// bits. A short header can ask for any amount of memory; only reserve limits it.
func FromHeader(header []byte, reserve func(bytes uint64) error) (*Filter, error) {
	h, err := parseHeader(header)
	if err != nil {
		return nil, err
	}
	return h.filter(reserve)
}

// ScanDump does what BF.SCANDUMP does: for iterator 0 it appends the header to dst
// and returns 1, then for each iterator it returned some bytes of one array, and the
// next iterator. At the end, and for any other number, it appends nothing and
// returns 0.
func (f *Filter) ScanDump(dst []byte, iterator int64) (int64, []byte) {
	if iterator == 0 {
		return 1, f.AppendHeader(dst)
	}
	l, at := f.find(iterator - 1)
	if l == nil {
		return 0, dst
	}
	n := min(maxChunk, l.bytes-at)
	return iterator + int64(n), l.appendBytes(dst, at, n)
}

// find returns the sub-filter that holds the byte of the body at offset at, and the
// offset in it; nil if there is none.
func (f *Filter) find(at int64) (*link, uint64) {
	if at < 0 {
		return nil, 0
	}
	rest := uint64(at)
	for _, l := range f.chain() {
		if rest < l.bytes {
			return l, rest
		}
		rest -= l.bytes
	}
	return nil, 0
}

// LoadChunk does what BF.LOADCHUNK does with a pair that BF.SCANDUMP gave, other than the
// first: it stores data before the position that the iterator names. Chunks may come in
// any order. It fails with [ErrBadData], [ErrNoLink] or [ErrTooBig] and has then changed
// nothing.
func (f *Filter) LoadChunk(iterator int64, data []byte) error {
	n := int64(len(data))
	if iterator <= 0 || iterator < n {
		return rdb.Bad("iterator %d with a chunk of %d bytes", iterator, n)
	}
	l, at := f.find(iterator - n - 1)
	if l == nil {
		return fmt.Errorf("%w: iterator %d with a chunk of %d bytes", ErrNoLink, iterator, n)
	}
	if uint64(n) > l.bytes-at {
		return fmt.Errorf("%w: %d bytes where a sub-filter has %d left", ErrTooBig, n, l.bytes-at)
	}
	l.setBytes(at, data)
	return nil
}

// appendBytes appends n bytes of the array from offset at on.
func (l *link) appendBytes(dst []byte, at, n uint64) []byte {
	dst = frame.AppendStored(dst, l.words, at, n)
	runtime.KeepAlive(l)
	return dst
}

// setBytes replaces bytes of the array from offset at on.
func (l *link) setBytes(at uint64, data []byte) {
	frame.Store(l.words, at, data)
	runtime.KeepAlive(l)
}

// pieceBytes is the number of bytes that are written at a time.
const pieceBytes = 256 << 10

// WriteTo writes header and body to w, with little memory of its own.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	// One chain for both, since another goroutine may make it longer.
	links := f.chain()
	n, err := w.Write(f.headerOf(links).append(nil))
	written := int64(n)
	buf := make([]byte, 0, pieceBytes)
	for _, l := range links {
		for at := uint64(0); at < l.bytes && err == nil; at += pieceBytes {
			n, err = w.Write(l.appendBytes(buf, at, min(pieceBytes, l.bytes-at)))
			written += int64(n)
		}
	}
	return written, err
}

// Decode returns the filter whose header and body are b. The filter does not refer to b.
func Decode(b []byte, reserve func(bytes uint64) error) (*Filter, error) {
	d, err := OpenChunks(b)
	if err != nil {
		return nil, err
	}
	return d.Filter(reserve)
}
