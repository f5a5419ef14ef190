package interop

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"

	"seen/bloom"
	"seen/internal/frame"
	"seen/sizing"
)

// A file of RedisBloom is the payload of DUMP, or the chunks of BF.SCANDUMP one after
// another, which is header and body as in redisbloom_dump.go.
const (
	redisPayload = "payload"
	redisChunks  = "chunks"
)

var redisBloomFormat = format{
	name:   "redisbloom",
	system: "RedisBloom (BF.* of Redis)",
	params: []param{{
		name: "form", meaning: "what is written: the payload of DUMP and RESTORE, or the chunks of BF.SCANDUMP one after another",
		values: []string{redisPayload, redisChunks}, preset: redisPayload, forWrite: true, form: true,
	}, {
		name: "expansion", meaning: "how many times larger each further sub-filter is; 0: the filter does not grow", preset: "2", forWrite: true,
	}},
	caps: capability{
		probe: true, write: true, merge: true,
		verified: "chunks, payloads and answers of RedisBloom on Redis 7.4, byte for byte; a server loaded what is written",
	},
	sign:   "the module's name and a checksum (payload), or a header whose sub-filters make up the exact length (chunks)",
	detect: detectRedisBloom,
	open: func(b []byte, _ Spec) (Foreign, error) {
		d, err := ParseRedisDump(b)
		if err != nil {
			return nil, err
		}
		return d, nil
	},
	create: createRedisBloom,
	clone:  cloneOf[*RedisFile],
	rewrap: rewrapRedisBloom,
}

// redisMark is what the payload of each of the module's filters begins with, but for
// the encoding.
var redisMark = binary.BigEndian.AppendUint64([]byte{rdbModuleValue, 0x81}, rdbModuleID(redisModuleName, 0))[:8]

func detectRedisBloom(b []byte) (Confidence, Spec, bool) {
	s := Spec{Name: "redisbloom"}
	if bytes.HasPrefix(b, redisMark) {
		return Certain, s, true
	}
	// The arrays may be missing, which is worth saying; or all be there, to the byte.
	h, size, err := redisHead(b)
	if err != nil || len(b) != size && uint64(len(b)-size) != h.body() {
		return 0, Spec{}, false
	}
	return Likely, s, true
}

// redisHead returns the header that b begins with, and its length.
func redisHead(b []byte) (redisHeader, int, error) {
	size, err := redisHeaderSize(b)
	if err != nil {
		return redisHeader{}, 0, err
	}
	if size > len(b) {
		return redisHeader{}, 0, badRedis("%d bytes, the header alone has %d", len(b), size)
	}
	h, err := parseRedisHeader(b[:size])
	return h, size, err
}

// body returns the length of all arrays.
func (h *redisHeader) body() uint64 {
	n := uint64(0)
	for i := range h.shapes {
		n += h.shapes[i].bytes
	}
	return n
}

// RedisDump is a filter of RedisBloom that is asked where it lies, in a dump. It cannot
// be changed; see [RedisDump.Clone]. Any number of goroutines may ask.
type RedisDump struct {
	header redisHeader
	links  []*redisLink // without words
	arrays [][]byte
	raw    []byte
	fields []Field
}

// ParseRedisDump returns the filter of a payload of DUMP or of the chunks of
// BF.SCANDUMP one after another. It refers to b. Only of a payload, which has a
// checksum, all is read.
func ParseRedisDump(b []byte) (*RedisDump, error) {
	if bytes.HasPrefix(b, redisMark) {
		value, err := openPayload(b)
		if err != nil {
			return nil, err
		}
		d, rest, err := newRedisDump(value[1:])
		if err == nil && len(rest) != 0 {
			return nil, badRedis("%d bytes follow the value", len(rest))
		}
		if d != nil {
			d.raw = b
			d.fields = append(d.fields, Field{"file", fmt.Sprintf("payload of DUMP, RDB version %d", binary.LittleEndian.Uint16(b[len(value):]))})
		}
		return d, err
	}
	h, size, err := redisHead(b)
	if err != nil {
		return nil, err
	}
	body := b[size:]
	if want := h.body(); uint64(len(body)) != want {
		return nil, badRedis("%d bytes, the header announces %d; a dump is all its chunks in order", len(b), uint64(size)+want)
	}
	var arrays [][]byte
	for i := range h.shapes {
		n := h.shapes[i].bytes
		arrays = append(arrays, body[:n:n])
		body = body[n:]
	}
	d := h.dump(arrays)
	d.raw = b
	d.fields = append(d.fields, Field{"file", "chunks of BF.SCANDUMP"})
	return d, nil
}

// newRedisDump returns the filter of the value that b begins with, and what follows it.
// Arrays that are compressed are copied.
func newRedisDump(b []byte) (*RedisDump, []byte, error) {
	h, texts, rest, err := parseRDBValue(b)
	if err != nil {
		return nil, nil, err
	}
	d, err := h.dumpOf(texts)
	return d, rest, err
}

// dumpOf returns the filter whose arrays are the texts.
func (h redisHeader) dumpOf(texts []rdbText) (_ *RedisDump, err error) {
	arrays := make([][]byte, len(texts))
	for i := range texts {
		if arrays[i], err = texts[i].bytes(); err != nil {
			return nil, err
		}
	}
	return h.dump(arrays), nil
}

func (h redisHeader) dump(arrays [][]byte) *RedisDump {
	d := &RedisDump{header: h, arrays: arrays}
	for i := range h.shapes {
		d.links = append(d.links, h.shapes[i].bare())
	}
	return d
}

// Has reports whether key may have been added.
func (d *RedisDump) Has(key []byte) bool {
	h := redisHash(key, d.header.options)
	for i, l := range d.links {
		if l.hasIn(d.arrays[i], l.probe(h)) {
			return true
		}
	}
	return false
}

// hasIn is has for an array of bytes.
func (l *redisLink) hasIn(array []byte, p probe) bool {
	for range l.hashes {
		if array[p.at/8]>>(p.at%8)&1 == 0 {
			return false
		}
		p = l.advance(p)
	}
	return true
}

// Stats describes the filter; it reads all arrays.
func (d *RedisDump) Stats() bloom.Stats {
	ones := make([]uint64, len(d.arrays))
	for i, a := range d.arrays {
		ones[i] = redisOnes(a)
	}
	return redisStats(d.header.shapes, d.header.added, ones)
}

// Describe says what the header says.
func (d *RedisDump) Describe() Description {
	return d.header.describe(d.fields)
}

// KeyKind is KeyBytes.
func (d *RedisDump) KeyKind() KeyKind { return KeyBytes }

// WriteTo writes the bytes that the filter was parsed from. Of a filter in an RDB file
// it writes a payload.
func (d *RedisDump) WriteTo(w io.Writer) (int64, error) {
	if d.raw == nil {
		return (&redisWriter{d, redisPayload}).WriteTo(w)
	}
	n, err := w.Write(d.raw)
	return int64(n), err
}

// Clone returns a copy with memory of its own, to which keys can be added.
func (d *RedisDump) Clone() (*RedisFile, error) {
	f, err := d.header.filter(nil)
	if err != nil {
		return nil, err
	}
	for i, l := range f.chain() {
		l.setBytes(0, d.arrays[i])
	}
	form := redisPayload
	if d.raw != nil && !bytes.HasPrefix(d.raw, redisMark) {
		form = redisChunks
	}
	return &RedisFile{f, form}, nil
}

// RedisFile is a [RedisBloom] that is to become a file. What that type says about
// goroutines holds for it too.
type RedisFile struct {
	*RedisBloom
	form string
}

func createRedisBloom(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
	expansion, err := s.number("expansion", 0, math.MaxUint32)
	if err != nil {
		return nil, err
	}
	f, err := NewRedisBloom(RedisBloomConfig{Capacity: capacity, ErrorRate: errorRate, Expansion: uint32(expansion)})
	if err != nil {
		return nil, err
	}
	return &RedisFile{f, s.Params["form"]}, nil
}

// dump returns the filter as it is now, as a header and copies of the arrays.
func (f *RedisFile) dump() *RedisDump {
	links := f.chain()
	h := redisHeader{options: f.options, expansion: f.expansion}
	h.shapes, h.added = describe(links)
	arrays := make([][]byte, len(links))
	for i, l := range links {
		arrays[i] = l.appendBytes(nil, 0, l.bytes)
	}
	return h.dump(arrays)
}

// Stats describes the filter; it reads all arrays.
func (f *RedisFile) Stats() bloom.Stats { return f.dump().Stats() }

// Describe says what the header will say.
func (f *RedisFile) Describe() Description { return f.dump().Describe() }

// KeyKind is KeyBytes.
func (f *RedisFile) KeyKind() KeyKind { return KeyBytes }

// Clone returns a copy that shares nothing with f.
func (f *RedisFile) Clone() (*RedisFile, error) {
	c, err := f.RedisBloom.Clone()
	if err != nil {
		return nil, err
	}
	return &RedisFile{c, f.form}, nil
}

// WriteTo writes the filter as a payload of DUMP, or as chunks.
func (f *RedisFile) WriteTo(w io.Writer) (int64, error) {
	if f.form == redisChunks {
		return f.RedisBloom.WriteTo(w)
	}
	b, err := f.AppendDump(nil)
	if err != nil {
		return 0, err
	}
	n, err := w.Write(b)
	return int64(n), err
}

// Union adds the keys of other, a filter of RedisBloom whose sub-filters have the same
// sizes. A sub-filter then counts as many keys as its bits tell, since what the two
// have in common is not known.
func (f *RedisFile) Union(other Reader) error {
	var d *RedisDump
	switch g := other.(type) {
	case *RedisDump:
		d = g
	case *rdbFilter:
		d = g.RedisDump
	case *RedisFile:
		d = g.dump()
	default:
		return errUnlike(f, other)
	}
	links := f.chain()
	shapes, _ := describe(links)
	switch {
	case len(shapes) != len(d.header.shapes):
		return fmt.Errorf("%w: %d and %d sub-filters", bloom.ErrIncompatible, len(shapes), len(d.header.shapes))
	case f.options&redisForce64 != d.header.options&redisForce64:
		return fmt.Errorf("%w: hashes of 32 and of 64 bits", bloom.ErrIncompatible)
	}
	for i, s := range shapes {
		t := d.header.shapes[i]
		if s.bits != t.bits || s.hashes != t.hashes || s.power != t.power {
			return fmt.Errorf("%w: sub-filter %d has %d bits and %d probes, and the other %d and %d",
				bloom.ErrIncompatible, i, s.bits, s.hashes, t.bits, t.hashes)
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

// redisWriter writes a dump in a form other than its own.
type redisWriter struct {
	*RedisDump
	form string
}

func (w *redisWriter) WriteTo(to io.Writer) (int64, error) {
	f, err := w.Clone()
	if err != nil {
		return 0, err
	}
	defer f.Release()
	f.form = w.form
	return f.WriteTo(to)
}

// Chunker writes a filter in the pieces that BF.SCANDUMP gives.
type Chunker interface {
	// Chunks yields the pieces in order, the header first. A piece is valid until the
	// next. An error ends them.
	Chunks() iter.Seq2[[]byte, error]
}

// Chunks yields the pieces of a dump.
func (f *RedisFile) Chunks() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var b []byte
		iterator := int64(0)
		for {
			iterator, b = f.ScanDump(b[:0], iterator)
			if iterator == 0 || !yield(b, nil) {
				return
			}
		}
	}
}

// Chunks yields the pieces of a dump.
func (w *redisWriter) Chunks() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := w.Clone()
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Release()
		f.Chunks()(yield)
	}
}

// rewrapRedisBloom writes a filter of a payload, of chunks or of an RDB file as either
// of the first two.
func rewrapRedisBloom(f Foreign, s Spec) (io.WriterTo, error) {
	form := s.Params["form"]
	if form == "" {
		form = redisPayload
	}
	switch f := f.(type) {
	case *RedisDump:
		return &redisWriter{f, form}, nil
	case *rdbFilter:
		return &redisWriter{f.RedisDump, form}, nil
	case *RedisFile:
		return &RedisFile{f.RedisBloom, form}, nil
	}
	return nil, errConvert(f, "redisbloom")
}

// redisOnes returns the number of one bits of an array, whose length is a multiple of 8
// in all but the filters of early versions.
func redisOnes(b []byte) uint64 {
	n := 0
	for ; len(b) >= 8; b = b[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(b))
	}
	for _, c := range b {
		n += bits.OnesCount8(c)
	}
	return uint64(n)
}

// params is the layout of a sub-filter.
func (s *redisShape) params() sizing.Params {
	m := s.bits
	if s.power != 0 {
		m = 1 << s.power
	}
	return sizing.Params{Shape: sizing.Classic, M: m, K: int(s.hashes)}
}

// redisStats adds up what the sub-filters are like. A key lies in one of them, and one
// that was never added is found if any of them has it.
func redisStats(shapes []redisShape, added, ones []uint64) bloom.Stats {
	s := bloom.Stats{Type: "redisbloom", Layers: len(shapes)}
	right, rightAtCapacity := 0.0, 0.0
	layers := make([]sizing.Layer, len(shapes))
	for i := range shapes {
		p := shapes[i].params()
		s.Bits += p.M
		s.Probes = p.K
		s.Bytes += shapes[i].bytes
		s.Capacity += min(shapes[i].capacity, math.MaxUint64-s.Capacity)
		s.Added += added[i]
		s.Ones += ones[i]
		rate := math.Pow(float64(ones[i])/float64(p.M), float64(p.K))
		right += math.Log1p(-rate)
		rightAtCapacity += math.Log1p(-p.ErrorRate(shapes[i].capacity))
		layers[i] = sizing.Layer{Index: i, Keys: p.Cardinality(min(ones[i], p.M)), Rate: rate, Fill: float64(ones[i]) / float64(p.M), Probes: p.K}
		for j, older := range layers[:i] {
			if shapes[j].power != 0 && shapes[i].power != 0 { // a position in one is that in the other, cut short
				layers[i].Uneven += older.SameBits()
			}
		}
	}
	s.Cardinality = sizing.Layered(layers)
	s.Fill = float64(s.Ones) / float64(s.Bits)
	s.ErrorRate, s.ErrorRateAtCapacity = -math.Expm1(right), -math.Expm1(rightAtCapacity)
	if len(shapes) == 1 {
		s.Params = shapes[0].params()
		s.AskedErrorRate = shapes[0].errorRate
	}
	return s
}

func (h *redisHeader) describe(fields []Field) Description {
	d := Description{Format: "redisbloom", System: "RedisBloom", Hash: "MurmurHash64A, two of them", Fields: slices.Clone(fields)}
	if h.options&redisForce64 == 0 {
		d.Hash = "MurmurHash2 of 32 bits, two of them"
	}
	growth := "does not grow"
	if h.options&redisNoScaling == 0 {
		growth = fmt.Sprintf("grows, expansion %d", h.expansion)
	}
	d.Fields = append(d.Fields, Field{"growth", growth})
	for i, s := range h.shapes {
		d.Fields = append(d.Fields, Field{fmt.Sprintf("sub-filter %d", i), fmt.Sprintf("%d of %d keys, %d bits, %d probes, error rate %.3g",
			h.added[i], s.capacity, s.bits, s.hashes, s.errorRate)})
	}
	return d
}
