package interop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"

	"github.com/klauspost/compress/gzip"

	"seen/bloom"
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
// Any number of goroutines may ask while none changes the filter. The hash is public, so
// an attacker can choose keys that collide. The struct must not be copied.
type dcso struct {
	flags     uint64
	capacity  uint64
	errorRate float64
	k, m      uint64
	added     uint64
	bits      bitArray
	data      []byte
	gzip      bool
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

// dcsoConfig says how large a dcso is to be.
type dcsoConfig struct {
	// Capacity is the number of keys, at least 1, and ErrorRate the rate at capacity,
	// between 0 and 1, exclusively.
	Capacity  uint64
	ErrorRate float64
	// Data is written after the filter.
	Data []byte
	// Gzip says that the file is compressed.
	Gzip bool
}

// newDCSO returns an empty filter, with the size that the module gives it.
func newDCSO(c dcsoConfig) (*dcso, error) {
	bits, k := dcsoSize(float64(c.Capacity), c.ErrorRate)
	if err := checkSize(bits, c.Capacity, c.ErrorRate); err != nil {
		return nil, err
	}
	f := &dcso{
		flags: dcsoVersion, capacity: c.Capacity, errorRate: c.ErrorRate, k: uint64(k), m: uint64(bits),
		data: bytes.Clone(c.Data), gzip: c.Gzip,
	}
	if f.m == 0 {
		return nil, fmt.Errorf("dcso: %d keys at an error rate of %v need no bits; lower the error rate", c.Capacity, c.ErrorRate)
	}
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("dcso: %w", err)
	}
	var err error
	if f.bits, err = newBitArray(lsbFirst, 8*wordsOf(f.m)); err != nil {
		return nil, fmt.Errorf("dcso: %w", err)
	}
	return f, nil
}

// dcsoSize returns the m and k of the module for n keys.
func dcsoSize(n, errorRate float64) (m, k float64) {
	// The module rounds the negative number up, so this rounds down.
	m = math.Abs(math.Ceil(n * math.Log(errorRate) / math.Pow(math.Log(2), 2)))
	return m, math.Ceil(math.Log(2) * m / n)
}

// openDCSO returns the filter that b holds. A plain one refers to b, which must not
// change, and opening takes the same time for any length. One that is compressed gets
// memory of its own, no more than its header says and the bytes can hold, and can be
// changed.
func openDCSO(b []byte) (*dcso, error) {
	parse := parseDCSO
	if isGzip(b) {
		parse = parseDCSOGzip
	}
	return parseAs("dcso", b, parse)
}

func isGzip(b []byte) bool { return len(b) > 2 && b[0] == 0x1f && b[1] == 0x8b }

// parseDCSOHead returns a filter without its bits, and the length of these.
func parseDCSOHead(b []byte) (*dcso, uint64, error) {
	if len(b) < dcsoHeader {
		return nil, 0, fmt.Errorf("%d bytes, but the header has %d", len(b), dcsoHeader)
	}
	field := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	f := &dcso{flags: field(0), capacity: field(1), errorRate: math.Float64frombits(field(2)), k: field(3), m: field(4), added: field(5)}
	if f.m > 8*foreignMaxBytes {
		return nil, 0, fmt.Errorf("m = %d bits, more than the limit of %d", f.m, uint64(8*foreignMaxBytes))
	}
	return f, 8 * wordsOf(f.m), f.check()
}

func (f *dcso) check() error {
	switch {
	case f.flags != dcsoVersion:
		return fmt.Errorf("unknown flags %#x; seen reads version 1 without further flags", f.flags)
	case !(f.errorRate > 0 && f.errorRate < 1):
		return fmt.Errorf("error rate %v is not between 0 and 1", f.errorRate)
	case f.k == 0 || f.k > foreignMaxProbes:
		return fmt.Errorf("k = %d probes; seen reads 1 to %d", f.k, foreignMaxProbes)
	case f.m == 0:
		return errors.New("m = 0")
	}
	return nil
}

func parseDCSO(b []byte) (*dcso, error) {
	f, size, err := parseDCSOHead(b)
	if err != nil {
		return nil, err
	}
	rest := b[dcsoHeader:]
	if uint64(len(rest)) < size {
		return nil, fmt.Errorf("m = %d bits take %d bytes; there are %d", f.m, size, len(rest))
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
		return nil, fmt.Errorf("m = %d bits cannot come from %d compressed bytes", f.m, len(b))
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
func (f *dcso) hash(key []byte) uint64 {
	h := fnv.New64()
	h.Write(key) // never fails
	return h.Sum64() % dcsoPrime
}

// next returns the next position of a key, and makes x, its hash at first, what the one
// after that follows from.
func (f *dcso) next(x *uint64) uint64 {
	*x = *x * dcsoStep % dcsoPrime
	return *x % f.m
}

// Has reports whether key may have been added.
func (f *dcso) Has(key []byte) bool {
	x := f.hash(key)
	return f.bits.hasEach(f.k, func(uint64) uint64 { return f.next(&x) })
}

// Add adds key and reports whether it was certainly not there before. It fails with
// ErrReadOnly if f was opened from bytes.
func (f *dcso) Add(key []byte) (bool, error) {
	if err := f.bits.mayChange(); err != nil {
		return false, err
	}
	x := f.hash(key)
	isNew := f.bits.setEach(f.k, func(uint64) uint64 { return f.next(&x) })
	if isNew {
		f.added++
	}
	return isNew, nil
}

// Clone returns a copy that shares nothing with f, and can be changed. It fails if there
// is not enough memory.
func (f *dcso) Clone() (*dcso, error) {
	g := *f
	g.data = bytes.Clone(f.data)
	return &g, g.bits.detach(0)
}

// Union adds the keys of other, which must be a dcso with the same capacity, error rate,
// m and k. Otherwise it returns an error that wraps bloom.ErrIncompatible. The data of f
// stay.
func (f *dcso) Union(other Reader) error {
	if err := f.bits.mayChange(); err != nil {
		return err
	}
	g, err := sameSystem(f, other)
	if err != nil {
		return err
	}
	err = checkSame(same{"m", f.m, g.m}, same{"k", f.k, g.k}, same{"capacities", f.capacity, g.capacity}, same{"error rates", f.errorRate, g.errorRate})
	if err != nil {
		return err
	}
	f.bits.or(&g.bits)
	f.added += min(g.added, math.MaxUint64-f.added)
	return nil
}

// Stats describes the filter. It reads the whole array.
func (f *dcso) Stats() bloom.Stats {
	s := plainStats("dcso", f.m, f.k, f.bits.ones(f.m))
	s.Capacity, s.AskedErrorRate, s.Added = f.capacity, f.errorRate, f.added
	if s.Params.M != 0 {
		s.ErrorRateAtCapacity = s.Params.ErrorRate(f.capacity)
	}
	return s
}

// WriteTo writes the filter, and the data behind it, as the module does.
func (f *dcso) WriteTo(w io.Writer) (int64, error) {
	c := &countingWriter{w: w}
	if !f.gzip {
		return c.done(f.write(c))
	}
	z := gzip.NewWriter(c)
	if err := f.write(z); err != nil {
		return c.done(err)
	}
	err := z.Close()
	return c.done(err)
}

func (f *dcso) write(w io.Writer) error {
	var head []byte
	for _, field := range []uint64{f.flags, f.capacity, math.Float64bits(f.errorRate), f.k, f.m, f.added} {
		head = binary.LittleEndian.AppendUint64(head, field)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	if err := f.bits.writeTo(w, uint64(len(f.bits.b)), lsbFirst); err != nil {
		return err
	}
	_, err := w.Write(f.data)
	return err
}
