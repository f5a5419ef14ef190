package interop

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"

	"seen/bloom"
	"seen/sizing"
)

// pyCountMin is a CountMinSketch of the Python package pyprobables.
//
// The file is depth rows of width counters of 32 bits, signed, and a footer of 16
// bytes: width and depth in 32 bits each, and the sum of all that was added, signed,
// in 64. Numbers are little-endian; there is no hexadecimal form. Row i counts at hash
// i of the key modulo the width. A counter that is full stays so; one below zero,
// which removals can lead to, counts as zero here.
//
// Any number of goroutines may ask while none changes the sketch. The struct must not be
// copied.
type pyCountMin struct {
	width, depth uint32
	added        int64
	options      pyOptions
	counters     bitArray // 4 bytes each
}

const pyCountMinFooter = 16

// pyCountMinConfig says how large a pyCountMin is to be.
type pyCountMinConfig struct {
	// Width is the number of counters in a row, and Depth that of rows; each is at
	// least 1, and Depth at most 1000.
	Width, Depth uint32
	pyOptions
}

// pyCountMinFor returns the configuration that pyprobables derives from a confidence,
// between 0 and 1, that a count is too high by at most errorRate times the sum of all.
func pyCountMinFor(confidence, errorRate float64) (pyCountMinConfig, error) {
	width, depth := math.Ceil(2/errorRate), math.Ceil(-math.Log(1-confidence)/math.Ln2)
	if !(confidence > 0 && confidence < 1 && errorRate > 0) || width > math.MaxInt32 {
		return pyCountMinConfig{}, fmt.Errorf("a confidence of %v and an error rate of %v; confidence is between 0 and 1, and the error rate above 1e-9", confidence, errorRate)
	}
	return pyCountMinConfig{Width: uint32(width), Depth: uint32(depth)}, nil
}

func (c pyCountMinConfig) sketch() (*pyCountMin, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Width == 0 || c.Depth == 0 || c.Depth > foreignMaxProbes {
		return nil, fmt.Errorf("a width of %d and a depth of %d; both are at least 1, and the depth at most %d", c.Width, c.Depth, foreignMaxProbes)
	}
	return &pyCountMin{width: c.Width, depth: c.Depth, options: c.pyOptions}, nil
}

// size returns the bytes of the counters.
func (f *pyCountMin) size() uint64 { return 4 * uint64(f.width) * uint64(f.depth) }

// newPyCountMin returns an empty sketch.
func newPyCountMin(c pyCountMinConfig) (*pyCountMin, error) {
	f, err := c.sketch()
	if err != nil {
		return nil, err
	}
	if f.counters, err = newBitArray(lsbFirst, f.size()); err != nil {
		return nil, err
	}
	return f, nil
}

// openPyCountMin returns the sketch that b holds. It refers to b.
func openPyCountMin(b []byte, o pyOptions) (*pyCountMin, error) {
	return openPy("CountMinSketch", b, o, parsePyCountMin)
}

func parsePyCountMin(b []byte, o pyOptions) (*pyCountMin, error) {
	if len(b) < pyCountMinFooter {
		return nil, fmt.Errorf("%d bytes, but the footer has %d", len(b), pyCountMinFooter)
	}
	body, footer := b[:len(b)-pyCountMinFooter], b[len(b)-pyCountMinFooter:]
	f, err := pyCountMinConfig{binary.LittleEndian.Uint32(footer), binary.LittleEndian.Uint32(footer[4:]), o}.sketch()
	if err != nil {
		return nil, err
	}
	if uint64(len(body)) != f.size() {
		return nil, fmt.Errorf("%d bytes of counters, but %d rows of %d take %d", len(body), f.depth, f.width, f.size())
	}
	f.added = int64(binary.LittleEndian.Uint64(footer[8:]))
	f.counters = bitArray{order: lsbFirst, b: body}
	return f, nil
}

// cells appends where the counters of key are.
func (f *pyCountMin) cells(dst []uint64, key []byte) ([]uint64, error) {
	if err := f.options.checkKey(key); err != nil {
		return nil, err
	}
	dst = f.options.hashes(dst, key, int(f.depth))
	for row := range dst {
		dst[row] = 4 * (uint64(row)*uint64(f.width) + dst[row]%uint64(f.width))
	}
	return dst, nil
}

// Has reports whether key may have been added.
func (f *pyCountMin) Has(key []byte) bool { return f.Count(key) != 0 }

// Count returns how often key was added, or more: the least of its counters, as
// pyprobables does unless asked otherwise.
func (f *pyCountMin) Count(key []byte) uint64 {
	var buf [32]uint64
	cells, err := f.cells(buf[:0], key)
	if err != nil {
		return 0
	}
	least := int32(math.MaxInt32)
	for _, at := range cells {
		least = min(least, int32(binary.LittleEndian.Uint32(f.counters.b[at:])))
	}
	runtime.KeepAlive(f)
	return uint64(max(0, least))
}

// Add adds key once and reports whether it was certainly not there before. It fails for a
// key that is not text, and with [ErrReadOnly] if f was opened from bytes.
func (f *pyCountMin) Add(key []byte) (bool, error) {
	if err := f.counters.mayChange(); err != nil {
		return false, err
	}
	var buf [32]uint64
	cells, err := f.cells(buf[:0], key)
	if err != nil {
		return false, err
	}
	isNew := false
	for _, at := range cells {
		n := int32(binary.LittleEndian.Uint32(f.counters.b[at:]))
		isNew = isNew || n <= 0
		if n != math.MaxInt32 {
			binary.LittleEndian.PutUint32(f.counters.b[at:], uint32(n+1))
		}
	}
	runtime.KeepAlive(f)
	if f.added != math.MaxInt64 {
		f.added++
	}
	return isNew, nil
}

// Clone returns a copy in memory of its own, which can be changed.
func (f *pyCountMin) Clone() (*pyCountMin, error) {
	g := *f
	return &g, g.counters.detach(0)
}

// KeyKind returns what the bytes of a key are.
func (f *pyCountMin) KeyKind() KeyKind { return f.options.keyKind() }

// Stats describes the sketch. It reads all counters. The error rate is that of Has, the
// probability that all counters of a key that was never added are above zero.
func (f *pyCountMin) Stats() bloom.Stats {
	s := bloom.Stats{
		Type: "pyprobables", Bits: uint64(f.width) * uint64(f.depth), Probes: int(f.depth), Layers: 1, Bytes: f.size(),
		Added: uint64(max(0, f.added)), ErrorRate: 1, Cardinality: sizing.Estimate{Value: math.NaN(), StdErr: math.NaN()},
	}
	row := 4 * int(f.width)
	for at := 0; at < len(f.counters.b); at += row {
		ones := uint64(0)
		for i := at; i < at+row; i += 4 {
			switch n := int32(binary.LittleEndian.Uint32(f.counters.b[i:])); {
			case n == math.MaxInt32:
				s.Stuck++
				fallthrough
			case n > 0:
				ones++
			}
		}
		s.Ones += ones
		s.ErrorRate *= float64(ones) / float64(f.width)
		// Each row by itself counts distinct keys as an array of one probe does; all rows
		// have the same keys, so one row is enough.
		if at == 0 {
			s.Cardinality = sizing.Params{Shape: sizing.Classic, M: uint64(f.width), K: 1}.Cardinality(ones)
		}
	}
	runtime.KeepAlive(f)
	s.Fill = float64(s.Ones) / float64(s.Bits)
	return s
}

// Describe says what the sketch is.
func (f *pyCountMin) Describe() Description {
	return f.options.describe("countmin", "CountMinSketch", []Field{
		{"width", strconv.FormatUint(uint64(f.width), 10)}, {"depth", strconv.FormatUint(uint64(f.depth), 10)},
	}, nil)
}

// WriteTo writes the file.
func (f *pyCountMin) WriteTo(w io.Writer) (int64, error) {
	defer runtime.KeepAlive(f)
	c := &countingWriter{w: w}
	if _, err := c.Write(f.counters.b); err != nil {
		return c.n, err
	}
	footer := binary.LittleEndian.AppendUint32(nil, f.width)
	footer = binary.LittleEndian.AppendUint32(footer, f.depth)
	_, err := c.Write(binary.LittleEndian.AppendUint64(footer, uint64(f.added)))
	return c.n, err
}
