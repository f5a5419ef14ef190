package interop

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// tutorialPage is the filter of a well-known page that explains Bloom filters, as
// textbooks show it: m boxes, 15 on the page, and two hashes, called fnv and murmur. The
// page stores nothing; the file has the numbers of the filled boxes, one per line.
//
// Both hashes are calculated with a browser's numbers, and match their names only for the
// shortest texts. It is a demonstration, and can only be asked.
//
// Any number of goroutines may ask. The struct must not be copied.
type tutorialPage struct{ plain[tutorialScheme] }

// tutorialMaxBits is the most boxes of a page.
const tutorialMaxBits = 1 << 20

// tutorialScheme is the page with m boxes.
type tutorialScheme struct{ m uint64 }

// openTutorialPage returns the filter of m boxes, 1 to 2^20, whose filled ones are listed
// in b.
func openTutorialPage(b []byte, m uint64) (*tutorialPage, error) {
	if m == 0 || m > tutorialMaxBits {
		return nil, fmt.Errorf("tutorial-page: m = %d boxes; give 1 to %d", m, tutorialMaxBits)
	}
	array := bitArray{order: lsbFirst, b: make([]byte, bytesOf(m))}
	for line := range bytes.Lines(b) {
		at, err := strconv.ParseUint(string(bytes.TrimRight(line, "\r\n")), 10, 64)
		if err != nil || at >= m {
			return nil, fmt.Errorf("tutorial-page: %w: %.40q is not a box of %d", ErrBadData, line, m)
		}
		array.set(at)
	}
	return &tutorialPage{opened(tutorialScheme{m}, lsbFirst, array.b)}, nil
}

func (s tutorialScheme) positions(dst []uint64, key []byte) ([]uint64, error) {
	if !utf8.Valid(key) {
		return nil, errNoText
	}
	units := utf16.Encode([]rune(string(key)))
	return append(dst, uint64(math.Abs(tutorialFNV(units)))%s.m, uint64(tutorialMurmur(units))%s.m), nil
}

// tutorialFNV is the page's first hash: FNV-1 of 32 bits, with products rounded to
// floating-point numbers of 53 bits.
func tutorialFNV(units []uint16) float64 {
	h := 2166136261.0
	mix := func(b uint16) { h = float64(int32(uint32(int64(h*16777619))) ^ int32(b)) }
	for _, u := range units {
		if u > 255 {
			mix(u >> 8)
		}
		mix(u & 255)
	}
	return h
}

// tutorialMurmur is the page's second hash: MurmurHash2 of 32 bits over code units, where
// those above 255 run into their neighbours.
func tutorialMurmur(units []uint16) uint32 {
	const mul = 0x5bd1e995
	join := func(n int) (k uint32) {
		for i, u := range units[:n] {
			k += uint32(u) << (8 * i)
		}
		units = units[n:]
		return k
	}
	h := uint32(len(units))
	for len(units) >= 4 {
		k := join(4) * mul
		h = h*mul ^ (k^k>>24)*mul
	}
	if len(units) == 3 {
		h ^= join(2)
		h = (h ^ uint32(units[0])<<16) * mul
	} else if len(units) > 0 {
		h = (h ^ join(len(units))) * mul
	}
	h = (h ^ h>>13) * mul
	return h ^ h>>15
}

func (s tutorialScheme) size() (m, k uint64) { return s.m, 2 }
func (tutorialScheme) keyKind() KeyKind      { return KeyText }
func (s tutorialScheme) params() []Field     { return []Field{{"m", strconv.FormatUint(s.m, 10)}} }
func (tutorialScheme) name() string          { return "tutorial-page" }

func (s tutorialScheme) describe() Description {
	return Description{
		Format: specOf(s),
		System: "tutorial page with two hashes", Hash: "fnv and murmur in the arithmetic of a browser",
		Notes: []string{"a demonstration from a textbook page, not for use"},
	}
}

// WriteTo writes the list of boxes.
func (f *tutorialPage) WriteTo(w io.Writer) (int64, error) {
	defer runtime.KeepAlive(f)
	c := &countingWriter{w: w}
	buf := bufio.NewWriter(c)
	for i := range f.scheme.m {
		if f.bits.has(i) {
			fmt.Fprintln(buf, i)
		}
	}
	err := buf.Flush()
	return c.n, err
}

var tutorialPageFormat = format{
	name:     "tutorial-page",
	system:   "the boxes of a tutorial page with fnv and murmur, as textbooks show them",
	params:   []param{{name: "m", meaning: "the number of boxes", preset: "15"}},
	verified: "answers of the functions of the page, run in node 20",
	noWrite:  "the page is a demonstration and stores nothing",
	open: func(b []byte, s Spec) (Foreign, error) {
		m, err := s.number("m", 1, tutorialMaxBits)
		if err != nil {
			return nil, err
		}
		return foreign(openTutorialPage(b, m))
	},
}
