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

// bitmap is an array of bits without a header, as a string of Redis or as what a library
// of bit sets dumps. Only the user knows which program wrote it.
//
// See plain for what goroutines may do.
type bitmap struct {
	plain[bitmapSystem]
	least int  // bytes to write, although they may be zero
	place Spec // of the RDB file that has the filter
}

// bitmapSystem is what wrote a bitmap.
type bitmapSystem interface {
	scheme
	order() bitOrder
	// trims reports whether the system leaves out zero bytes at the end.
	trims() bool
	// spreads reports whether all keys set bits evenly over the array.
	spreads() bool
	check() error
}

// newBitmap makes an empty filter. Capacity and error rate are as in newPlain.
func newBitmap(s bitmapSystem, capacity uint64, rate float64) (*bitmap, error) {
	if err := checkBitmap(s); err != nil {
		return nil, err
	}
	m, _ := s.size()
	p, err := newPlain(s, s.order(), bytesOf(m), capacity, rate)
	if err != nil {
		return nil, err
	}
	f := &bitmap{plain: p}
	if !s.trims() {
		f.least = len(f.bits.b)
	}
	return f, nil
}

func checkBitmap(s bitmapSystem) error {
	if err := s.check(); err != nil {
		return fmt.Errorf("%s: %w", s.name(), err)
	}
	m, k := s.size()
	if m == 0 || m > math.MaxInt64 {
		return fmt.Errorf("%s: m = %d bits; give 1 to 2^63-1", s.name(), m)
	}
	if k == 0 || k > foreignMaxProbes {
		return fmt.Errorf("%s: k = %d probes; give 1 to %d", s.name(), k, foreignMaxProbes)
	}
	return nil
}

// openBitmap returns the filter whose bits are b, to which it refers. Bytes at the end may
// be missing if the system leaves out zeros, and up to 8 more may follow.
func openBitmap(b []byte, s bitmapSystem) (*bitmap, error) {
	if err := checkBitmap(s); err != nil {
		return nil, err
	}
	m, _ := s.size()
	if want := bytesOf(m); !s.trims() && uint64(len(b)) != want || uint64(len(b)) > want+8 {
		return nil, fmt.Errorf("%s: %w: %d bytes, but m = %d bits take %d", s.name(), ErrBadData, len(b), m, want)
	}
	if s.spreads() {
		if err := checkSpread(bytesOf(m), b); err != nil {
			return nil, fmt.Errorf("%s: %w; m = %d bits is too many", s.name(), err, m)
		}
	}
	return &bitmap{plain: opened(s, s.order(), b), least: len(b)}, nil
}

// checkSpread refuses arrays that have 64 ones or more and none in the second half of the
// given length. That happens to one in 2^64 filters of this length, and to all filters of
// less than half the length, which would say no to their own keys.
func checkSpread(bytes uint64, arrays ...[]byte) error {
	ones := uint64(0)
	for _, b := range arrays {
		if uint64(len(b)) > bytes/2 {
			return nil
		}
		const piece = 1 << 16
		for ; len(b) > 0 && ones < 64; b = b[min(len(b), piece):] {
			ones += frame.Ones(b[:min(len(b), piece)])
		}
	}
	if ones < 64 {
		return nil
	}
	return fmt.Errorf("%w: no bit is set in the second half of up to %d bytes", ErrBadData, bytes)
}

// Clone returns a copy in memory of its own, which can be changed.
func (f *bitmap) Clone() (*bitmap, error) {
	g := *f
	g.place = Spec{}
	m, _ := f.scheme.size()
	return &g, g.bits.detach(bytesOf(m))
}

// Describe says what the filter is.
func (f *bitmap) Describe() Description {
	d := f.plain.Describe()
	if s, err := ParseSpec(d.Format); err == nil && f.place.Name != "" {
		for _, p := range stringParams {
			if value, ok := f.place.Params[p.name]; ok {
				s = s.with(p.name, value)
			}
		}
		d.Format = s.String()
	}
	d.Fields = append(f.scheme.params(), d.Fields...)
	return d
}

// WriteTo writes the bytes of the array, without zeros at its end where the system leaves
// them out, unless the opened bytes had them.
func (f *bitmap) WriteTo(w io.Writer) (int64, error) {
	defer runtime.KeepAlive(f)
	return bytes.NewReader(f.content()).WriteTo(w)
}

// content returns what WriteTo writes.
func (f *bitmap) content() []byte {
	if len(f.bits.b) <= f.least {
		return f.bits.b
	}
	return f.bits.b[:max(f.least, len(trimZeros(f.bits.b)))]
}

// trimZeros returns b without the zeros at its end.
func trimZeros(b []byte) []byte {
	for len(b) >= 8 && binary.LittleEndian.Uint64(b[len(b)-8:]) == 0 {
		b = b[:len(b)-8]
	}
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}

// bitmapOf returns what wrote the bitmap of a specification. Without a capacity, which is 0
// for content to open, s must tell the size.
type bitmapOf func(s Spec, capacity uint64, errorRate float64) (bitmapSystem, error)

func (of bitmapOf) open(b []byte, s Spec) (Foreign, error) {
	system, err := of(s, 0, 0)
	if err != nil {
		return nil, err
	}
	return foreign(openBitmap(b, system))
}

func (of bitmapOf) create(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
	system, err := of(s, capacity, errorRate)
	if err != nil {
		return nil, err
	}
	return foreign(newBitmap(system, capacity, errorRate))
}

// createFixed is create for a size that does not follow from the capacity.
func (of bitmapOf) createFixed(s Spec, _ uint64, _ float64) (Foreign, error) {
	return of.create(s, 0, 0)
}

// rewrapBitmap is the rewrap function of the formats of a bitmap: the same bytes, without
// the RDB file around them.
func rewrapBitmap(f Foreign, s Spec) (io.WriterTo, error) {
	g, ok := f.(*bitmap)
	if !ok || g.scheme.name() != s.Name {
		return nil, errConvert(f, s.Name)
	}
	if key, given := s.Params["rdb"]; given {
		err := fmt.Errorf("%s: %w: an RDB file has its own format", s.Name, ErrSpec)
		return nil, &SpecError{Err: err, Try: []string{Spec{Name: "rdb"}.with("key", key).String()}, Target: true}
	}
	return g, nil
}

// bitsAndProbes reads the parameters m and k of a format whose content does not tell
// them. If they are needed, both must be given; otherwise both or neither.
func (s Spec) bitsAndProbes(most uint64, needed bool) (m, k uint64, err error) {
	if m, err = s.number("m", 1, most); err != nil {
		return 0, 0, err
	}
	if k, err = s.number("k", 1, foreignMaxProbes); err != nil {
		return 0, 0, err
	}
	if m == 0 && (needed || k != 0) || k == 0 && (needed || m != 0) {
		err := fmt.Errorf("%s: %w: the content does not tell the number of bits and of probes", s.Name, ErrSpec)
		return 0, 0, &SpecError{Err: err, Try: []string{s.with("m", "BITS").with("k", "PROBES").String()}}
	}
	return m, k, nil
}
