package interop

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"

	"seen/bloom"
	"seen/sizing"
)

// pyCountMin is a CountMinSketch of the Python package pyprobables.
//
// The file is depth rows of width counters of 32 bits, signed, and a footer of 16
// bytes: width and depth in 32 bits each, and the sum of all that was added, signed,
// in 64. Numbers are little-endian; there is no hexadecimal form. Row i counts at hash
// i of the key modulo the width.
//
// See plain for what goroutines may do.
type pyCountMin struct {
	pyCounters // of which m is the width and k the depth
	added      int64
}

const pyCountMinFooter = 16

// pyCountMinFor returns the width and the depth that pyprobables derives from a
// confidence, between 0 and 1, that a count is too high by at most errorRate times the sum
// of all.
func pyCountMinFor(confidence, errorRate float64) (width, depth uint64, err error) {
	w, d := math.Ceil(2/errorRate), math.Ceil(-math.Log(1-confidence)/math.Ln2)
	if !(confidence > 0 && confidence < 1 && errorRate > 0) || w > math.MaxInt32 {
		return 0, 0, fmt.Errorf("a confidence of %v and an error rate of %v; confidence is between 0 and 1, and the error rate above 1e-9", confidence, errorRate)
	}
	return uint64(w), uint64(d), nil
}

// sketch returns a sketch without counters.
func (o pyOptions) sketch(width, depth uint64) (*pyCountMin, error) {
	if width == 0 || depth == 0 || depth > foreignMaxProbes {
		return nil, fmt.Errorf("a width of %d and a depth of %d; both are at least 1, and the depth at most %d", width, depth, foreignMaxProbes)
	}
	return &pyCountMin{pyCounters: pyCounters{scheme: pyScheme{width, depth, o, true}}}, nil
}

// size returns the bytes of the counters.
func (f *pyCountMin) size() uint64 { return 4 * f.scheme.m * f.scheme.k }

// createPyCountMin returns an empty sketch.
func createPyCountMin(s Spec, errorRate float64) (Foreign, error) {
	if s.Params["form"] == "hex" {
		return nil, fmt.Errorf("%s: %w: a count-min sketch has no form=hex", s.Name, ErrSpec)
	}
	width, err := s.number("width", 1, math.MaxUint32)
	if err != nil {
		return nil, err
	}
	depth, err := s.number("depth", 1, foreignMaxProbes)
	if err != nil {
		return nil, err
	}
	if width == 0 && depth == 0 {
		confidence, err := strconv.ParseFloat(s.Params["confidence"], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: confidence=%s is not a number between 0 and 1", s.Name, ErrSpec, s.Params["confidence"])
		}
		if width, depth, err = pyCountMinFor(confidence, errorRate); err != nil {
			return nil, err
		}
	}
	f, err := pyOptionsOf(s).sketch(width, depth)
	if err != nil {
		return nil, err
	}
	f.bits, err = newBitArray(lsbFirst, f.size())
	return foreign(f, err)
}

// parsePyCountMin returns the sketch that b holds. It refers to b.
func parsePyCountMin(b []byte, s Spec) (*pyCountMin, error) {
	if len(b) < pyCountMinFooter {
		return nil, fmt.Errorf("%d bytes, but the footer has %d", len(b), pyCountMinFooter)
	}
	body, footer := b[:len(b)-pyCountMinFooter], b[len(b)-pyCountMinFooter:]
	f, err := pyOptionsOf(s).sketch(uint64(binary.LittleEndian.Uint32(footer)), uint64(binary.LittleEndian.Uint32(footer[4:])))
	if err != nil {
		return nil, err
	}
	if uint64(len(body)) != f.size() {
		return nil, fmt.Errorf("%d bytes of counters, but %d rows of %d take %d", len(body), f.scheme.k, f.scheme.m, f.size())
	}
	f.added = int64(binary.LittleEndian.Uint64(footer[8:]))
	f.bits = bitArray{order: lsbFirst, b: body}
	return f, nil
}

// Add adds key once and reports whether it was certainly not there before. It fails for a
// key that is not text, and with [ErrReadOnly] if f was opened from bytes.
func (f *pyCountMin) Add(key []byte) (bool, error) {
	isNew, err := f.add(key)
	if err == nil && f.added != math.MaxInt64 {
		f.added++
	}
	return isNew, err
}

// Stats describes the sketch. It reads all counters. The error rate is that of Has, the
// probability that all counters of a key that was never added are above zero.
func (f *pyCountMin) Stats() bloom.Stats {
	width := f.scheme.m
	s := bloom.Stats{
		Type: "pyprobables", Bits: width * f.scheme.k, Probes: int(f.scheme.k), Layers: 1, Bytes: f.size(),
		Added: uint64(max(0, f.added)), ErrorRate: 1,
	}
	for row := range f.scheme.k {
		ones, stuck := f.filled(row*width, width)
		s.Ones += ones
		s.Stuck += stuck
		s.ErrorRate *= float64(ones) / float64(width)
		// Each row by itself counts distinct keys as an array of one probe does; all rows
		// have the same keys, so one row is enough.
		if row == 0 {
			s.Cardinality = sizing.Params{Shape: sizing.Classic, M: width, K: 1}.Cardinality(ones)
		}
	}
	s.Fill = float64(s.Ones) / float64(s.Bits)
	return s
}

// Describe says what the sketch is.
func (f *pyCountMin) Describe() Description {
	return f.scheme.describeAs("countmin", "CountMinSketch", []Field{
		{"width", strconv.FormatUint(f.scheme.m, 10)}, {"depth", strconv.FormatUint(f.scheme.k, 10)},
	})
}

// WriteTo writes the file.
func (f *pyCountMin) WriteTo(w io.Writer) (int64, error) {
	footer := binary.LittleEndian.AppendUint32(nil, uint32(f.scheme.m))
	footer = binary.LittleEndian.AppendUint32(footer, uint32(f.scheme.k))
	return f.bits.writeBetween(w, nil, binary.LittleEndian.AppendUint64(footer, uint64(f.added)))
}
