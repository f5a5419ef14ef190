package interop

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"seen/bloom"
)

// bitsAndBloomsForm is a form of the bytes of a bitsAndBlooms. All hold the same.
type bitsAndBloomsForm string

// What the module writes: its binary form, its JSON, and that after its switch
// Base64StdEncoding.
const (
	bitsAndBloomsBinary  bitsAndBloomsForm = "binary"
	bitsAndBloomsJSON    bitsAndBloomsForm = "json"
	bitsAndBloomsJSONStd bitsAndBloomsForm = "json-std"
)

// bitsAndBlooms is a filter of the Go module github.com/bits-and-blooms/bloom, as
// versions 2.0.3 and all of 3 write it. It answers as that does for the same bytes.
//
// The binary form is three numbers of 64 bits, big-endian: the modulus m of the
// positions, the probes k of a key, and the length L of the array in bits. Words of
// 64 bits follow, big-endian, as many as L needs; bit i is bit i mod 64 of word i/64.
// A switch of that module makes L and the words little-endian, but not m and k; which
// it is shows in the number of words. JSON has m, k and, as b, the base64 of L and
// the words. L is m, unless the filter was made from an array; bits from L on are 0.
//
// The positions of a key come from four numbers h0 to h3, the halves of MurmurHash3 for
// x64 of the key and of the key with a byte 1 appended, and are h(i mod 2) + i*h(2 or 3)
// modulo 2^64 and then m.
//
// See plain for what goroutines may do.
type bitsAndBlooms struct {
	plain[bitsAndBloomsScheme]
	length uint64 // L
	form   bitsAndBloomsForm
	order  bitOrder // of L and the words in what WriteTo writes
}

// bitsAndBloomsScheme is how the module maps a key to positions.
type bitsAndBloomsScheme struct{ m, k uint64 }

const bitsAndBloomsHeader = 24

// createBitsAndBlooms returns an empty filter, of the m and k of the module's
// NewWithEstimates unless s has them.
func createBitsAndBlooms(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
	var given [3]uint64
	for i, p := range []struct {
		name string
		most uint64
	}{{"m", math.MaxUint64}, {"k", foreignMaxProbes}, {"length", math.MaxUint64}} {
		var err error
		if given[i], err = s.number(p.name, 1, p.most); err != nil {
			return nil, err
		}
	}
	m, k, length := given[0], given[1], given[2]
	if (m == 0) != (k == 0) || m == 0 && length != 0 {
		return nil, fmt.Errorf("bits-and-blooms: %w: m, k and length go together: give m and k, or leave out all three", ErrSpec)
	}
	if m == 0 {
		bits := math.Ceil(-1 * float64(capacity) * math.Log(errorRate) / math.Pow(math.Log(2), 2))
		if err := checkSize(bits, capacity, errorRate); err != nil {
			return nil, err
		}
		m, k = max(1, uint64(bits)), max(1, uint64(math.Ceil(math.Log(2)*bits/float64(capacity))))
	}
	scheme := bitsAndBloomsScheme{m, k}
	if err := scheme.check(); err != nil {
		return nil, fmt.Errorf("bits-and-blooms: %w", err)
	}
	f := (&bitsAndBlooms{length: max(m, length)}).as(s)
	var err error
	f.plain, err = newPlain(scheme, f.order, 8*wordsOf(f.length), 0, 0)
	return foreign(f, err)
}

// as returns f in the form and the byte order that s names. Both have the same bits.
func (f *bitsAndBlooms) as(s Spec) *bitsAndBlooms {
	g := *f
	g.form, g.order = cmp.Or(bitsAndBloomsForm(s.Params["form"]), bitsAndBloomsBinary), bigWords
	if s.Params["order"] == "little" {
		g.order = lsbFirst
	}
	return &g
}

// wordsOf returns the number of 64-bit words for so many bits.
func wordsOf(bits uint64) uint64 {
	n := bits / 64
	if bits%64 != 0 {
		n++
	}
	return n
}

// parseBitsAndBlooms returns the filter that b holds in any form. A binary one refers to
// b, which must not change, and opening takes the same time for any length; the base64 of
// JSON is decoded, into memory of at most twice the length of b.
func parseBitsAndBlooms(b []byte, _ Spec) (*bitsAndBlooms, error) {
	if text := bytes.TrimLeft(b, " \t\r\n"); len(text) > 0 && text[0] == '{' {
		return parseBitsAndBloomsJSON(text)
	}
	if len(b) < bitsAndBloomsHeader {
		return nil, fmt.Errorf("%d bytes, but the header has %d", len(b), bitsAndBloomsHeader)
	}
	f := &bitsAndBlooms{form: bitsAndBloomsBinary}
	if err := f.setArray(b[16:]); err != nil {
		return nil, err
	}
	f.scheme = bitsAndBloomsScheme{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
	return f, f.scheme.check()
}

// setArray makes b, which is L and the words, the array of f.
func (f *bitsAndBlooms) setArray(b []byte) error {
	if len(b) < 8 {
		return fmt.Errorf("%d bytes for the array; its length alone takes 8", len(b))
	}
	for _, order := range []bitOrder{bigWords, lsbFirst} {
		f.length = order.words().Uint64(b)
		if words := uint64(len(b)-8) / 8; len(b)%8 == 0 && wordsOf(f.length) == words {
			f.order, f.bits = order, bitArray{order: order, b: b[8:]}
			return nil
		}
	}
	return fmt.Errorf("%d bytes of words; the header says %d bits or, little-endian, %d", len(b)-8,
		binary.BigEndian.Uint64(b), binary.LittleEndian.Uint64(b))
}

func (f bitsAndBloomsScheme) check() error {
	if f.m == 0 {
		return errors.New("m = 0")
	}
	if f.k == 0 || f.k > foreignMaxProbes {
		return fmt.Errorf("k = %d probes; seen reads 1 to %d", f.k, foreignMaxProbes)
	}
	return nil
}

func parseBitsAndBloomsJSON(b []byte) (*bitsAndBlooms, error) {
	var doc struct {
		M, K *uint64
		B    *string
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	if doc.M == nil || doc.K == nil || doc.B == nil {
		return nil, errors.New("the JSON lacks m, k or b")
	}
	f := &bitsAndBlooms{form: bitsAndBloomsJSON}
	alphabet := base64.URLEncoding
	if strings.ContainsAny(*doc.B, "+/") {
		f.form, alphabet = bitsAndBloomsJSONStd, base64.StdEncoding
	}
	array, err := alphabet.Strict().DecodeString(*doc.B)
	if err != nil {
		return nil, fmt.Errorf("b: %w", err)
	}
	if err := f.setArray(array); err != nil {
		return nil, err
	}
	f.scheme = bitsAndBloomsScheme{*doc.M, *doc.K}
	return f, f.scheme.check()
}

// bitsAndBloomsHash is what the positions of a key come from.
type bitsAndBloomsHash [4]uint64

func (bitsAndBloomsScheme) hash(key []byte) (h bitsAndBloomsHash) {
	h[0], h[1] = murmur3Of(key)
	h[2], h[3] = murmur3Of1(key)
	return h
}

// position returns the i-th position of a key: the steps are h2, h3, h3, h2, h2 and
// so on.
func (h *bitsAndBloomsHash) position(i, m uint64) uint64 {
	return (h[i%2] + i*h[2+(i+i%2)%4/2]) % m
}

func (f bitsAndBloomsScheme) positions(dst []uint64, key []byte) ([]uint64, error) {
	h := f.hash(key)
	for i := range f.k {
		dst = append(dst, h.position(i, f.m))
	}
	return dst, nil
}

func (f bitsAndBloomsScheme) size() (m, k uint64) { return f.m, f.k }
func (bitsAndBloomsScheme) keyKind() KeyKind      { return KeyBytes }
func (bitsAndBloomsScheme) name() string          { return "bits-and-blooms" }

func (f bitsAndBloomsScheme) params() []Field {
	return []Field{{"m", strconv.FormatUint(f.m, 10)}, {"k", strconv.FormatUint(f.k, 10)}}
}

// Has reports whether key may have been added.
func (f *bitsAndBlooms) Has(key []byte) bool {
	h := f.scheme.hash(key)
	for i := range f.scheme.k {
		if at := h.position(i, f.scheme.m); at >= f.length || !f.bits.has(at) {
			return false
		}
	}
	return true
}

// Add adds key and reports whether it was certainly not there before. It fails with
// ErrReadOnly if f was opened from bytes.
func (f *bitsAndBlooms) Add(key []byte) (bool, error) {
	if err := f.bits.mayChange(); err != nil {
		return false, err
	}
	h := f.scheme.hash(key)
	isNew := false
	for i := range f.scheme.k {
		at := h.position(i, f.scheme.m)
		isNew = f.bits.set(at) || isNew
		f.length = max(f.length, at+1) // as the module does, which makes room when it must
	}
	return isNew, nil
}

// Clone returns a copy that shares nothing with f, and can be changed. It fails if there
// is not enough memory, or if f's array is much shorter than m, which does not happen in
// real filters.
func (f *bitsAndBlooms) Clone() (*bitsAndBlooms, error) {
	const slack = 1 << 20 // what a few bytes may make us allocate
	if have := uint64(len(f.bits.b)); f.scheme.m/8 > have+slack {
		return nil, fmt.Errorf("bits-and-blooms: the array has %d bytes for m = %d bits; such a filter can be asked but not changed", have, f.scheme.m)
	}
	g := *f
	if err := g.bits.detach(8 * wordsOf(f.scheme.m)); err != nil {
		return nil, err
	}
	if last, _, inside := g.lastWord(); last != nil {
		g.bits.order.words().PutUint64(last, inside)
	}
	return &g, nil
}

// lastWord returns the word in which the array ends, if it does, its value, and that
// value without the bits after the end. Those have no effect until the array gets longer.
func (f *bitsAndBlooms) lastWord() (last []byte, value, inside uint64) {
	if f.length%64 == 0 {
		return nil, 0, 0
	}
	last = f.bits.b[f.length/64*8:][:8]
	value = f.bits.order.words().Uint64(last)
	return last, value, value & (1<<(f.length%64) - 1)
}

// Union adds the keys of other, which must be a bitsAndBlooms with the same m and k, in
// any form. Otherwise it returns an error that wraps bloom.ErrIncompatible.
func (f *bitsAndBlooms) Union(other Reader) error {
	if _, err := f.alike(other); err != nil {
		return err
	}
	g := other.(*bitsAndBlooms)
	if _, value, inside := g.lastWord(); value != inside {
		var err error
		if g, err = g.Clone(); err != nil {
			return err
		}
	}
	f.bits.or(&g.bits)
	f.length = max(f.length, min(g.length, 8*uint64(len(f.bits.b))))
	return nil
}

// Stats describes the filter. It reads the whole array.
func (f *bitsAndBlooms) Stats() bloom.Stats {
	return plainStats("bits-and-blooms", f.scheme.m, f.scheme.k, f.bits.ones(min(f.scheme.m, f.length)))
}

// WriteTo writes the filter in its form, as the module does.
func (f *bitsAndBlooms) WriteTo(w io.Writer) (int64, error) {
	c := &countingWriter{w: w}
	if f.form == bitsAndBloomsBinary {
		head := binary.BigEndian.AppendUint64(nil, f.scheme.m)
		if _, err := c.Write(binary.BigEndian.AppendUint64(head, f.scheme.k)); err != nil {
			return c.n, err
		}
		err := f.writeArray(c)
		return c.n, err
	}
	if _, err := fmt.Fprintf(c, `{"m":%d,"k":%d,"b":"`, f.scheme.m, f.scheme.k); err != nil {
		return c.n, err
	}
	alphabet := base64.URLEncoding
	if f.form == bitsAndBloomsJSONStd {
		alphabet = base64.StdEncoding
	}
	text := base64.NewEncoder(alphabet, c)
	if err := f.writeArray(text); err != nil {
		return c.n, err
	}
	if err := text.Close(); err != nil {
		return c.n, err
	}
	_, err := io.WriteString(c, `"}`)
	return c.n, err
}

// writeArray writes L and the words.
func (f *bitsAndBlooms) writeArray(w io.Writer) error {
	length := make([]byte, 8)
	f.order.words().PutUint64(length, f.length)
	if _, err := w.Write(length); err != nil {
		return err
	}
	return f.bits.writeTo(w, 8*wordsOf(f.length), f.order)
}
