package interop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"strconv"

	"github.com/klauspost/compress/gzip"
)

// dcso is a filter of the Go module and command github.com/DCSO/bloom, which flor
// (Python), fleur (C) and the first version of poppy (Rust) read and write too, and in
// which threat intelligence is passed on. It answers as they do for the same bytes.
//
// The bytes are numbers of 64 bits, little-endian: flags, whose low byte is the version
// 1; the capacity n; the error rate p (a float); the probes k of a key; the length m in
// bits; and the number of keys that changed a bit when they were added. The words of the
// array follow, little-endian, so that bit i is bit i mod 8 of byte i/8; the user's data
// follow. A file may be compressed with gzip as a whole.
//
// The positions of a key come from its FNV-1 hash of 64 bits, modulo the prime
// 2^64 - 59: it is multiplied by 2^64 - 1469, modulo 2^64 and then the prime, for each
// position, which is the result modulo m.
//
// Keys are bytes. Lists of known files have hashes in hexadecimal digits, mostly in upper
// case, and the case matters.
//
// See plain for what goroutines may do.
type dcso struct {
	plain[dcsoScheme]
	data []byte
	gzip bool
}

// dcsoScheme is how the module maps a key to positions, and what else filters that are
// merged must have in common.
type dcsoScheme struct {
	m, k      uint64
	capacity  uint64
	errorRate float64
}

const (
	dcsoHeader  = 48
	dcsoVersion = 1
	dcsoPrime   = 1<<64 - 59
	dcsoStep    = 1<<64 - 1469
	// dcsoMostData is the most user data after a compressed array.
	dcsoMostData = 16 << 20
	// gzipMost is above the number of bytes that a compressed byte can stand for.
	gzipMost = 1040
)

// createDCSO returns an empty filter, with the size that the module gives it.
func createDCSO(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
	bits, k := dcsoSize(float64(capacity), errorRate)
	if err := checkSize(bits, capacity, errorRate); err != nil {
		return nil, err
	}
	d := dcsoScheme{uint64(bits), uint64(k), capacity, errorRate}
	if d.m == 0 {
		return nil, fmt.Errorf("dcso: %d keys at an error rate of %v need no bits; lower the error rate", capacity, errorRate)
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("dcso: %w", err)
	}
	p, err := newPlain(d, lsbFirst, 8*wordsOf(d.m), capacity, errorRate)
	return foreign(&dcso{p, []byte(s.Params["data"]), s.Params["form"] == "gzip"}, err)
}

// dcsoSize returns the m and k of the module for n keys.
func dcsoSize(n, errorRate float64) (m, k float64) {
	// The module rounds the negative number up, so this rounds down.
	m = math.Abs(math.Ceil(n * math.Log(errorRate) / math.Pow(math.Log(2), 2)))
	return m, math.Ceil(math.Log(2) * m / n)
}

// parseDCSO returns the filter that b holds. A plain one refers to b, which must not
// change, and opening takes the same time for any length. One that is compressed gets
// memory of its own, no more than its header says and the bytes can hold, and can be
// changed.
func parseDCSO(b []byte, _ Spec) (*dcso, error) {
	if isGzip(b) {
		return parseDCSOGzip(b)
	}
	return parseDCSOPlain(b)
}

func isGzip(b []byte) bool { return len(b) > 2 && b[0] == 0x1f && b[1] == 0x8b }

// parseDCSOHead returns a filter without its bits, and the length of these.
func parseDCSOHead(b []byte) (*dcso, uint64, error) {
	if len(b) < dcsoHeader {
		return nil, 0, fmt.Errorf("%d bytes, but the header has %d", len(b), dcsoHeader)
	}
	field := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	s := dcsoScheme{field(4), field(3), field(1), math.Float64frombits(field(2))}
	if s.m > 8*foreignMaxBytes {
		return nil, 0, fmt.Errorf("m = %d bits, more than the limit of %d", s.m, uint64(8*foreignMaxBytes))
	}
	if flags := field(0); flags != dcsoVersion {
		return nil, 0, fmt.Errorf("unknown flags %#x; seen reads version 1 without further flags", flags)
	}
	return &dcso{plain: plain[dcsoScheme]{scheme: s, capacity: s.capacity, added: field(5), rate: s.errorRate}}, 8 * wordsOf(s.m), s.check()
}

func (f dcsoScheme) check() error {
	switch {
	case !(f.errorRate > 0 && f.errorRate < 1):
		return fmt.Errorf("error rate %v is not between 0 and 1", f.errorRate)
	case f.k == 0 || f.k > foreignMaxProbes:
		return fmt.Errorf("k = %d probes; seen reads 1 to %d", f.k, foreignMaxProbes)
	case f.m == 0:
		return errors.New("m = 0")
	}
	return nil
}

func parseDCSOPlain(b []byte) (*dcso, error) {
	f, size, err := parseDCSOHead(b)
	if err != nil {
		return nil, err
	}
	rest := b[dcsoHeader:]
	if uint64(len(rest)) < size {
		return nil, fmt.Errorf("m = %d bits take %d bytes; there are %d", f.scheme.m, size, len(rest))
	}
	f.bits = bitArray{order: lsbFirst, b: rest[:size]}
	f.data = rest[size:]
	return f, nil
}

func parseDCSOGzip(b []byte) (*dcso, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	var head [dcsoHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("the header in gzip: %w", err)
	}
	f, size, err := parseDCSOHead(head[:])
	if err != nil {
		return nil, err
	}
	if size/gzipMost > uint64(len(b)) {
		return nil, fmt.Errorf("m = %d bits cannot come from %d compressed bytes", f.scheme.m, len(b))
	}
	if f.bits, err = newBitArray(lsbFirst, size); err != nil {
		return nil, err
	}
	if n, err := io.ReadFull(r, f.bits.b); err != nil {
		return nil, fmt.Errorf("%d of %d bytes of bits: %w", n, size, err)
	}
	if f.data, err = io.ReadAll(io.LimitReader(r, dcsoMostData+1)); err != nil {
		return nil, fmt.Errorf("the data after the bits: %w", err)
	}
	if len(f.data) > dcsoMostData {
		return nil, fmt.Errorf("more than %d bytes of compressed data after the bits; decompress the file with gunzip", dcsoMostData)
	}
	f.gzip = true
	return f, nil
}

// As returns f with its file compressed, or plain. Both have the same bits.
func (f *dcso) As(gzip bool) *dcso {
	g := *f
	g.gzip = gzip
	return &g
}

// hash returns what the positions of a key follow from.
func (dcsoScheme) hash(key []byte) uint64 {
	h := fnv.New64()
	h.Write(key) // never fails
	return h.Sum64() % dcsoPrime
}

// next returns the next position of a key, and makes x, its hash at first, what the one
// after that follows from.
func (f dcsoScheme) next(x *uint64) uint64 {
	*x = *x * dcsoStep % dcsoPrime
	return *x % f.m
}

func (f dcsoScheme) positions(dst []uint64, key []byte) ([]uint64, error) {
	x := f.hash(key)
	for range f.k {
		dst = append(dst, f.next(&x))
	}
	return dst, nil
}

func (f dcsoScheme) size() (m, k uint64) { return f.m, f.k }
func (dcsoScheme) keyKind() KeyKind      { return KeyBytes }
func (dcsoScheme) name() string          { return "dcso" }

func (f dcsoScheme) params() []Field {
	return []Field{
		{"m", strconv.FormatUint(f.m, 10)}, {"k", strconv.FormatUint(f.k, 10)},
		{"capacities", strconv.FormatUint(f.capacity, 10)}, {"error rates", fmt.Sprint(f.errorRate)},
	}
}

// Has reports whether key may have been added. Unlike that of plain it calculates no
// position after a zero bit.
func (f *dcso) Has(key []byte) bool {
	x, yes := f.scheme.hash(key), true
	for i := uint64(0); yes && i < f.scheme.k; i++ {
		yes = f.bits.has(f.scheme.next(&x))
	}
	return yes
}

// Clone returns a copy that shares nothing with f, and can be changed. It fails if there
// is not enough memory.
func (f *dcso) Clone() (*dcso, error) {
	g := *f
	g.data = bytes.Clone(f.data)
	return &g, g.bits.detach(0)
}

// WriteTo writes the filter, and the data behind it, as the module does.
func (f *dcso) WriteTo(w io.Writer) (int64, error) {
	var head []byte
	for _, field := range []uint64{dcsoVersion, f.capacity, math.Float64bits(f.rate), f.scheme.k, f.scheme.m, f.added} {
		head = binary.LittleEndian.AppendUint64(head, field)
	}
	if !f.gzip {
		return f.bits.writeBetween(w, head, f.data)
	}
	c := &countingWriter{w: w}
	z := gzip.NewWriter(c)
	if _, err := f.bits.writeBetween(z, head, f.data); err != nil {
		return c.n, err
	}
	err := z.Close()
	return c.n, err
}
