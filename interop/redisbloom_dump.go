package interop

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"runtime"

	"seen/internal/frame"
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
	redisHeadSize = 20
	redisLinkSize = 53
	// redisMaxChunk is the most that ScanDump gives at a time.
	redisMaxChunk = 16 << 20
)

// AppendHeader appends the header of a dump to dst: what BF.SCANDUMP gives first.
func (f *RedisBloom) AppendHeader(dst []byte) []byte {
	shapes, added := describe(f.chain())
	return appendRedisHeader(dst, f.options, f.expansion, shapes, added)
}

func appendRedisHeader(dst []byte, options, expansion uint32, shapes []redisShape, added []uint64) []byte {
	le := binary.LittleEndian
	total := uint64(0) // summed here, since the filter's own number may have moved on
	for _, n := range added {
		total += n
	}
	dst = le.AppendUint64(dst, total)
	dst = le.AppendUint32(dst, uint32(len(shapes)))
	dst = le.AppendUint32(dst, options)
	dst = le.AppendUint32(dst, expansion)
	for i, s := range shapes {
		dst = le.AppendUint64(dst, s.bytes)
		dst = le.AppendUint64(dst, s.bits)
		dst = le.AppendUint64(dst, added[i])
		dst = le.AppendUint64(dst, math.Float64bits(s.errorRate))
		dst = le.AppendUint64(dst, math.Float64bits(s.bitsPerKey))
		dst = le.AppendUint32(dst, s.hashes)
		dst = le.AppendUint64(dst, s.capacity)
		dst = append(dst, s.power)
	}
	return dst
}

// redisHeader is a header that was read and checked.
type redisHeader struct {
	options, expansion uint32
	shapes             []redisShape
	added              []uint64
}

func badRedis(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBadData, fmt.Sprintf(format, args...))
}

// redisHeaderSize returns the length of the header that b begins with.
func redisHeaderSize(b []byte) (int, error) {
	if len(b) < redisHeadSize {
		return 0, badRedis("a header of %d bytes, which has at least %d", len(b), redisHeadSize)
	}
	n := binary.LittleEndian.Uint32(b[8:])
	if n == 0 || n > redisMaxLinks {
		return 0, badRedis("%d sub-filters instead of 1 to %d", n, redisMaxLinks)
	}
	return redisHeadSize + redisLinkSize*int(n), nil
}

func parseRedisHeader(b []byte) (redisHeader, error) {
	size, err := redisHeaderSize(b)
	if err != nil {
		return redisHeader{}, err
	}
	if len(b) != size {
		return redisHeader{}, badRedis("a header of %d bytes that needs %d", len(b), size)
	}
	le := binary.LittleEndian
	h := redisHeader{options: le.Uint32(b[12:]), expansion: le.Uint32(b[16:])}
	for r := b[redisHeadSize:]; len(r) > 0; r = r[redisLinkSize:] {
		h.shapes = append(h.shapes, redisShape{
			bytes: le.Uint64(r), bits: le.Uint64(r[8:]),
			errorRate: math.Float64frombits(le.Uint64(r[24:])), bitsPerKey: math.Float64frombits(le.Uint64(r[32:])),
			hashes: le.Uint32(r[40:]), capacity: le.Uint64(r[44:]), power: r[52],
		})
		h.added = append(h.added, le.Uint64(r[16:]))
	}
	return h, h.check(le.Uint64(b))
}

// check refuses a header that cannot be, for any reason that the other system has,
// and some more that keep a question from taking minutes.
func (h *redisHeader) check(total uint64) error {
	if h.options&^redisOptions != 0 {
		return badRedis("options %#x, of which only %#x are known", h.options, redisOptions)
	}
	sum, bytes := uint64(0), uint64(0)
	for i := range h.shapes {
		if what := h.shapes[i].check(); what != "" {
			return badRedis("sub-filter %d has %s", i, what)
		}
		if sum += h.added[i]; sum < h.added[i] {
			return badRedis("the keys of the sub-filters are more than 64 bits can count")
		}
		if bytes += h.shapes[i].bytes; bytes > redisMaxBytes {
			return badRedis("the arrays take more than the limit of %d bytes", uint64(redisMaxBytes))
		}
	}
	if sum != total {
		return badRedis("%d keys in the filter, %d in its sub-filters", total, sum)
	}
	return nil
}

// filter makes a filter of the header, with no bits set.
func (h *redisHeader) filter(reserve func(bytes uint64) error) (*RedisBloom, error) {
	f := &RedisBloom{options: h.options, expansion: h.expansion, reserve: reserve}
	if err := f.build(h.shapes, h.added); err != nil {
		return nil, err
	}
	return f, nil
}

// NewRedisBloomFromHeader returns a filter with the sub-filters that a dump's header
// describes and no bits yet, which [RedisBloom.LoadChunk] brings: what BF.LOADCHUNK
// with iterator 1 does. A header of some bytes can ask for any amount of memory; only
// reserve keeps it from getting that.
func NewRedisBloomFromHeader(header []byte, reserve func(bytes uint64) error) (*RedisBloom, error) {
	h, err := parseRedisHeader(header)
	if err != nil {
		return nil, err
	}
	return h.filter(reserve)
}

// ScanDump does what BF.SCANDUMP does: for iterator 0 it appends the header to dst
// and returns 1, then for each iterator it returned some bytes of one array, and the
// next iterator. At the end, and for any other number, it appends nothing and
// returns 0.
func (f *RedisBloom) ScanDump(dst []byte, iterator int64) (int64, []byte) {
	if iterator == 0 {
		return 1, f.AppendHeader(dst)
	}
	l, at := f.find(iterator - 1)
	if l == nil {
		return 0, dst
	}
	n := min(redisMaxChunk, l.bytes-at)
	return iterator + int64(n), l.appendBytes(dst, at, n)
}

// find returns the sub-filter that holds the byte of the body at offset at, and the
// offset in it; nil if there is none.
func (f *RedisBloom) find(at int64) (*redisLink, uint64) {
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

// LoadChunk does what BF.LOADCHUNK does with a pair that BF.SCANDUMP gave, other than
// the first: it puts data where it belongs, which is before the iterator. Chunks may
// come in any order. It fails with [ErrBadData], [ErrNoLink] or [ErrTooBig] and has
// then changed nothing.
func (f *RedisBloom) LoadChunk(iterator int64, data []byte) error {
	n := int64(len(data))
	if iterator <= 0 || iterator < n {
		return badRedis("iterator %d with a chunk of %d bytes", iterator, n)
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
func (l *redisLink) appendBytes(dst []byte, at, n uint64) []byte {
	dst = frame.AppendStored(dst, l.words, at, n)
	runtime.KeepAlive(l)
	return dst
}

// setBytes replaces bytes of the array from offset at on.
func (l *redisLink) setBytes(at uint64, data []byte) {
	frame.Store(l.words, at, data)
	runtime.KeepAlive(l)
}

// AppendBinary appends header and body to dst.
func (f *RedisBloom) AppendBinary(dst []byte) ([]byte, error) {
	w := bytes.NewBuffer(dst)
	_, err := f.WriteTo(w)
	return w.Bytes(), err
}

// redisPiece is the number of bytes that are written and read at a time.
const redisPiece = 256 << 10

// WriteTo writes header and body to w, with little memory of its own.
func (f *RedisBloom) WriteTo(w io.Writer) (int64, error) {
	// One chain for both, since another goroutine may make it longer.
	links := f.chain()
	shapes, added := describe(links)
	n, err := w.Write(appendRedisHeader(nil, f.options, f.expansion, shapes, added))
	written := int64(n)
	buf := make([]byte, 0, redisPiece)
	for _, l := range links {
		for at := uint64(0); at < l.bytes && err == nil; at += redisPiece {
			n, err = w.Write(l.appendBytes(buf, at, min(redisPiece, l.bytes-at)))
			written += int64(n)
		}
	}
	return written, err
}

// DecodeRedisBloom returns the filter whose header and body are b. The filter does
// not refer to b.
func DecodeRedisBloom(b []byte, reserve func(bytes uint64) error) (*RedisBloom, error) {
	return ReadRedisBloom(bytes.NewReader(b), int64(len(b)), reserve)
}

// ReadRedisBloom returns the filter whose header and body are the next size bytes of
// r. What the header announces is compared with size before memory is allocated.
func ReadRedisBloom(r io.Reader, size int64, reserve func(bytes uint64) error) (*RedisBloom, error) {
	head := make([]byte, redisHeadSize)
	if size < redisHeadSize {
		return nil, badRedis("%d bytes, less than a header has", size)
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	n, err := redisHeaderSize(head)
	if err != nil {
		return nil, err
	}
	if size < int64(n) {
		return nil, badRedis("%d bytes, the header alone has %d", size, n)
	}
	head = append(head, make([]byte, n-redisHeadSize)...)
	if _, err := io.ReadFull(r, head[redisHeadSize:]); err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	h, err := parseRedisHeader(head)
	if err != nil {
		return nil, err
	}
	body := uint64(0)
	for _, s := range h.shapes {
		body += s.bytes
	}
	if want := uint64(n) + body; uint64(size) != want {
		return nil, badRedis("%d bytes, the header announces %d", size, want)
	}
	f, err := h.filter(reserve)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, min(redisPiece, body))
	for _, l := range f.chain() {
		for at := uint64(0); at < l.bytes; at += redisPiece {
			piece := buf[:min(redisPiece, l.bytes-at)]
			if _, err := io.ReadFull(r, piece); err != nil {
				f.Release()
				return nil, fmt.Errorf("reading the body: %w", err)
			}
			l.setBytes(at, piece)
		}
	}
	return f, nil
}
