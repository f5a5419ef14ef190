package interop

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"unicode/utf8"
)

// pyHash is the family of hash functions of a filter of pyprobables. The files do
// not say which it is.
type pyHash uint8

const (
	// pyFNV is the default: for the i-th hash FNV-1a of 64 bits whose basis is larger
	// by 31 i.
	pyFNV pyHash = iota
	// pyMD5 takes the first 8 bytes of a digest, little-endian; the first digest is
	// that of the key, each further one that of the digest before it.
	pyMD5
	// pySHA256 is pyMD5 with SHA-256.
	pySHA256
)

// String returns the name of the family in a [Spec]: fnv, md5 or sha256.
func (h pyHash) String() string {
	switch h {
	case pyFNV:
		return "fnv"
	case pyMD5:
		return "md5"
	case pySHA256:
		return "sha256"
	}
	return fmt.Sprintf("hash(%d)", uint8(h))
}

// pyOptions is what the program chose and the file does not tell.
type pyOptions struct {
	Hash pyHash
	// Bytes says that the keys were bytes objects. Otherwise they were of type str, and
	// pyFNV mixes in whole code points, also those above 255, where it mixes in bytes
	// here. The two agree only for ASCII. Keys that are not UTF-8 are not str.
	Bytes bool
}

func (o pyOptions) check() error {
	if o.Hash > pySHA256 {
		return fmt.Errorf("unknown hash %d of pyprobables", o.Hash)
	}
	return nil
}

// checkKey returns an error if such a filter cannot have key.
func (o pyOptions) checkKey(key []byte) error {
	if !o.Bytes && !utf8.Valid(key) {
		return fmt.Errorf("the key %q is not UTF-8, and the keys of this filter are text", key)
	}
	return nil
}

func (o pyOptions) keyKind() KeyKind {
	if o.Bytes {
		return KeyBytes
	}
	return KeyText
}

// hashes appends k hashes of key to dst.
func (o pyOptions) hashes(dst []uint64, key []byte, k int) []uint64 {
	switch o.Hash {
	case pyMD5:
		digest := md5.Sum(key)
		for range k {
			dst = append(dst, binary.LittleEndian.Uint64(digest[:]))
			digest = md5.Sum(digest[:])
		}
	case pySHA256:
		digest := sha256.Sum256(key)
		for range k {
			dst = append(dst, binary.LittleEndian.Uint64(digest[:]))
			digest = sha256.Sum256(digest[:])
		}
	default:
		for i := range uint64(k) {
			dst = append(dst, o.fnv(pyBasis+31*i, key))
		}
	}
	return dst
}

const (
	pyBasis = 14695981039346656037
	pyPrime = 1099511628211
)

// fnv is FNV-1a from a basis, over the bytes of key or its code points.
func (o pyOptions) fnv(h uint64, key []byte) uint64 {
	if o.Bytes {
		for _, b := range key {
			h = (h ^ uint64(b)) * pyPrime
		}
		return h
	}
	for r := range runes(key) {
		h = (h ^ uint64(r)) * pyPrime
	}
	return h
}

// pySize returns the bits m and probes k that pyprobables computes from the capacity
// and the error rate, in single precision, whenever it reads a file: it stores neither.
func pySize(capacity uint64, rate float32) (m, k uint64, err error) {
	if capacity == 0 || !(rate > 0 && rate < 1) {
		return 0, 0, fmt.Errorf("a capacity of %d keys at an error rate of %v; capacity is 1 or more, and the error rate between 0 and 1", capacity, rate)
	}
	bits := math.Ceil(-float64(capacity) * math.Log(float64(rate)) / 0.4804530139182)
	if bits > 8*foreignMaxBytes {
		return 0, 0, fmt.Errorf("%d keys at an error rate of %v take %.3g bytes, more than the limit of %d", capacity, rate, bits/8, uint64(foreignMaxBytes))
	}
	m, k = uint64(bits), uint64(math.RoundToEven(math.Ln2*bits/float64(capacity)))
	if k == 0 {
		return 0, 0, fmt.Errorf("an error rate of %v gives a key no probes; lower it", rate)
	}
	return m, k, nil
}

// pyFooter are the numbers at the end of a file: the capacity, the keys added and the
// error rate.
type pyFooter struct {
	capacity, added uint64
	rate            float32
}

const pyFooterSize = 20

// count counts an addition.
func (f *pyFooter) count() {
	if f.added != math.MaxUint64 {
		f.added++
	}
}

// byteOrder is one of those of package binary.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// pyOrder returns the order of the bytes of a footer.
func pyOrder(hex bool) byteOrder {
	if hex {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (f pyFooter) append(b []byte, hex bool) []byte {
	order := pyOrder(hex)
	b = order.AppendUint64(b, f.capacity)
	b = order.AppendUint64(b, f.added)
	return order.AppendUint32(b, math.Float32bits(f.rate))
}

// pyFile is a file, of which only the footer has been looked at.
type pyFile struct {
	footer pyFooter
	body   []byte // all before the footer, in the file's form
	hex    bool
}

// readPyFile reads the footer of a file in either form. A footer of nothing but digits
// cannot be binary: a capacity of so many keys has no size.
func readPyFile(b []byte) (pyFile, error) {
	if len(b) < pyFooterSize {
		return pyFile{}, fmt.Errorf("%d bytes, but the footer has %d", len(b), pyFooterSize)
	}
	f := pyFile{body: b}
	footer := b[len(b)-pyFooterSize:]
	if text := bytes.TrimRight(b, "\r\n"); len(text) >= 2*pyFooterSize {
		tail := make([]byte, pyFooterSize)
		if _, err := hex.Decode(tail, text[len(text)-2*pyFooterSize:]); err == nil {
			footer, f.body, f.hex = tail, text[:len(text)-pyFooterSize], true
		}
	}
	f.body = f.body[:len(f.body)-pyFooterSize]
	order := pyOrder(f.hex)
	f.footer = pyFooter{order.Uint64(footer), order.Uint64(footer[8:]), math.Float32frombits(order.Uint32(footer[16:]))}
	return f, nil
}

// holds reports whether the body has so many bytes.
func (f *pyFile) holds(bytes uint64) bool {
	if f.hex {
		return uint64(len(f.body))/2 == bytes && len(f.body)%2 == 0
	}
	return uint64(len(f.body)) == bytes
}

// errSize says that the body has not so many bytes.
func (f *pyFile) errSize(bytes uint64) error {
	have := len(f.body)
	if f.hex {
		have /= 2
	}
	return fmt.Errorf("%d bytes, but %d keys at an error rate of %v take %d", have, f.footer.capacity, f.footer.rate, bytes)
}

// bytes returns the body as bytes, those of the file itself unless it is hexadecimal.
func (f *pyFile) bytes() ([]byte, error) {
	if !f.hex {
		return f.body, nil
	}
	decoded := make([]byte, hex.DecodedLen(len(f.body)))
	_, err := hex.Decode(decoded, f.body)
	return decoded, err
}

// writePyFile writes an array, as long as it is, and a footer.
func writePyFile(w io.Writer, a *bitArray, footer pyFooter, asHex bool) (int64, error) {
	defer runtime.KeepAlive(a)
	c := &countingWriter{w: w}
	w = c
	if asHex {
		w = hex.NewEncoder(c)
	}
	if _, err := w.Write(a.b); err != nil {
		return c.n, err
	}
	_, err := w.Write(footer.append(nil, asHex))
	return c.n, err
}

// pyConfig says how large a filter of pyprobables is to be.
type pyConfig struct {
	// Capacity is the number of keys, at least 1, and ErrorRate the rate at capacity,
	// between 0 and 1, exclusively. It is rounded to single precision, as there.
	Capacity  uint64
	ErrorRate float64
	pyOptions
	// Hex says that WriteTo writes what export_hex does.
	Hex bool
}

// footer returns what a new filter writes at the end of its file.
func (c pyConfig) footer() pyFooter {
	return pyFooter{capacity: c.Capacity, rate: float32(c.ErrorRate)}
}

// scheme returns how a filter with such a footer maps keys.
func (o pyOptions) scheme(footer pyFooter) (pyScheme, error) {
	if err := o.check(); err != nil {
		return pyScheme{}, err
	}
	m, k, err := pySize(footer.capacity, footer.rate)
	return pyScheme{m, k, o}, err
}

// openPy returns the filter of a class of pyprobables that parse finds in b.
func openPy[F any](class string, b []byte, o pyOptions, parse func(b []byte, o pyOptions) (*F, error)) (*F, error) {
	return parseAs("pyprobables "+class, b, func(b []byte) (*F, error) { return parse(b, o) })
}

// parse returns the bits of the filter in b, of which it has so many for each of its m
// positions, and their scheme and footer.
func (o pyOptions) parse(b []byte, each uint64) (pyFile, pyScheme, bitArray, error) {
	f, err := readPyFile(b)
	if err != nil {
		return pyFile{}, pyScheme{}, bitArray{}, err
	}
	s, err := o.scheme(f.footer)
	if err != nil {
		return pyFile{}, pyScheme{}, bitArray{}, err
	}
	if want := bytesOf(each * s.m); !f.holds(want) {
		return pyFile{}, pyScheme{}, bitArray{}, f.errSize(want)
	}
	body, err := f.bytes()
	return f, s, bitArray{order: lsbFirst, b: body}, err
}

// pyScheme is how pyprobables maps a key to positions: hashes modulo m.
type pyScheme struct {
	m, k uint64
	pyOptions
}

func (s pyScheme) positions(dst []uint64, key []byte) ([]uint64, error) {
	if err := s.checkKey(key); err != nil {
		return nil, err
	}
	dst = s.hashes(dst, key, int(s.k))
	for i := range dst {
		dst[i] %= s.m
	}
	return dst, nil
}

func (s pyScheme) size() (m, k uint64) { return s.m, s.k }

func (s pyScheme) params() []Field {
	return append([]Field{{"m", strconv.FormatUint(s.m, 10)}, {"k", strconv.FormatUint(s.k, 10)}}, s.fields()...)
}

// fields lists the options for a user.
func (o pyOptions) fields() []Field {
	keys := "str"
	if o.Bytes {
		keys = "bytes"
	}
	return []Field{{"hash", o.Hash.String()}, {"keys", keys}}
}

// describe describes a filter of one of the classes of pyprobables.
func (o pyOptions) describe(kind, class string, fields []Field, notes []string) Description {
	spec := Spec{Name: "pyprobables"}.with("type", kind).with("hash", o.Hash.String())
	if o.Bytes {
		spec = spec.with("keys", "bytes")
	}
	hash := fmt.Sprintf("a chain of %s digests", o.Hash)
	switch {
	case o.Hash == pyFNV && o.Bytes:
		hash = "FNV-1a of 64 bits over bytes, each probe with its own basis"
	case o.Hash == pyFNV:
		hash = "FNV-1a of 64 bits over code points, each probe with its own basis"
	}
	return Description{
		Format: spec.String(), System: "pyprobables " + class, Hash: hash, Fields: append(o.fields(), fields...), Notes: notes,
	}
}
