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
	"strconv"
	"unicode/utf8"
)

// pyHash is the family of hash functions of a filter of pyprobables, by its name in a
// [Spec]. The files do not say which it is.
type pyHash string

const (
	// pyFNV is the default: for the i-th hash FNV-1a of 64 bits whose basis is larger
	// by 31 i.
	pyFNV pyHash = "fnv"
	// pyMD5 takes the first 8 bytes of a digest, little-endian; the first digest is
	// that of the key, each further one that of the digest before it.
	pyMD5 pyHash = "md5"
	// pySHA256 is pyMD5 with SHA-256.
	pySHA256 pyHash = "sha256"
)

// pyOptions is what the program chose and the file does not tell.
type pyOptions struct {
	Hash pyHash
	// Bytes says that the keys were bytes objects. Otherwise they were of type str, and
	// pyFNV mixes in whole code points, also those above 255, where it mixes in bytes
	// here. The two agree only for ASCII. Keys that are not UTF-8 are not str.
	Bytes bool
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
	tail := footer.append(nil, asHex)
	if !asHex {
		return a.writeBetween(w, nil, tail)
	}
	c := &countingWriter{w: w}
	_, err := a.writeBetween(hex.NewEncoder(c), nil, tail)
	return c.n, err
}

// create returns an empty array of so many bits for each position of a filter, and its
// scheme and footer. The error rate is rounded to single precision, as there.
func (o pyOptions) create(capacity uint64, errorRate float64, each uint64) (plain[pyScheme], pyFooter, error) {
	footer := pyFooter{capacity: capacity, rate: float32(errorRate)}
	s, err := o.scheme(footer)
	if err != nil {
		return plain[pyScheme]{}, footer, err
	}
	p, err := newPlain(s, lsbFirst, bytesOf(each*s.m), capacity, float64(footer.rate))
	return p, footer, err
}

// scheme returns how a filter with such a footer maps keys.
func (o pyOptions) scheme(footer pyFooter) (pyScheme, error) {
	m, k, err := pySize(footer.capacity, footer.rate)
	return pyScheme{m: m, k: k, pyOptions: o}, err
}

// parsePy returns the file b, and the filter in it, which has so many bits for each of its
// m positions. The filter refers to b, which must not change, unless b is hexadecimal.
func parsePy(b []byte, s Spec, each uint64) (f pyFile, p plain[pyScheme], err error) {
	if f, err = readPyFile(b); err != nil {
		return f, p, err
	}
	scheme, err := pyOptionsOf(s).scheme(f.footer)
	if err != nil {
		return f, p, err
	}
	if want := bytesOf(each * scheme.m); !f.holds(want) {
		return f, p, f.errSize(want)
	}
	body, err := f.bytes()
	p = opened(scheme, lsbFirst, body)
	p.capacity, p.added, p.rate = f.footer.capacity, f.footer.added, float64(f.footer.rate)
	return f, p, err
}

// pyScheme is how pyprobables maps a key to positions: hashes modulo m.
type pyScheme struct {
	m, k uint64
	pyOptions
	rows bool // each hash has m positions of its own
}

func (s pyScheme) positions(dst []uint64, key []byte) ([]uint64, error) {
	if err := s.checkKey(key); err != nil {
		return nil, err
	}
	dst = s.hashes(dst, key, int(s.k))
	for i := range dst {
		if dst[i] %= s.m; s.rows {
			dst[i] += uint64(i) * s.m
		}
	}
	return dst, nil
}

func (s pyScheme) size() (m, k uint64) { return s.m, s.k }
func (pyScheme) name() string          { return "pyprobables" }

// describe describes a BloomFilter.
func (s pyScheme) describe() Description { return s.describeAs("bloom", "BloomFilter", nil) }

func (s pyScheme) params() []Field {
	return append([]Field{{"m", strconv.FormatUint(s.m, 10)}, {"k", strconv.FormatUint(s.k, 10)}}, s.fields()...)
}

// fields lists the options for a user.
func (o pyOptions) fields() []Field {
	keys := "str"
	if o.Bytes {
		keys = "bytes"
	}
	return []Field{{"hash", string(o.Hash)}, {"keys", keys}}
}

// describeAs describes a filter of one of the classes of pyprobables.
func (o pyOptions) describeAs(kind, class string, fields []Field) Description {
	spec := Spec{Name: "pyprobables"}.with("type", kind).with("hash", string(o.Hash))
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
		Format: spec.String(), System: "pyprobables " + class, Hash: hash, Fields: append(o.fields(), fields...),
	}
}
