package cluster

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"unsafe"

	"seen/internal/kernel"
	"seen/sizing"
)

// A slice is one string value. It begins with a header of one line; docs/CLUSTER.md
// describes both.
const (
	lineBytes   = sizing.LineBits / 8
	headerBytes = lineBytes

	// headerRead is the part of the header that is read with keys: the epoch, the
	// state and the count.
	headerRead = 16

	epochChars = 7
	// Offsets in bits, as BITFIELD takes them.
	epochAt = "0"   // u56, and with the state an i64
	stateAt = "56"  // u8
	countAt = "64"  // i64
	layerAt = "128" // u32
	indexAt = "160" // u32

	stateSealed = 1
)

// epochLetters are the characters of an epoch: readable, and without a meaning in a key.
const epochLetters = "abcdefghijklmnopqrstuvwxyz234567"

// newEpoch returns a random name for new slices. It is in their keys and headers.
func newEpoch() string {
	var b [epochChars]byte
	for i := range b {
		b[i] = epochLetters[rand.IntN(len(epochLetters))]
	}
	return string(b[:])
}

// headOf returns the first eight bytes of the header of an open slice.
func headOf(epoch string) int64 {
	var b [8]byte
	copy(b[:epochChars], epoch)
	return int64(binary.BigEndian.Uint64(b[:]))
}

// shape is the form of a layer: its slices, and the lines and bits that a key has in its
// slice. It is in the record, so that no reader has to derive it.
type shape struct {
	Capacity    uint64  `json:"capacity"`
	ErrorRate   float64 `json:"error_rate"`
	Slices      uint64  `json:"slices"`
	RegionLines uint64  `json:"region_lines"` // of one slice
	Lines       int     `json:"lines"`
	Lanes       int     `json:"lanes"`
}

func (s shape) layout() kernel.Layout {
	return kernel.Layout{RegionLines: s.RegionLines, Lines: s.Lines, Lanes: s.Lanes}
}

// params returns the layer as one blocked array. Its mathematics applies, since a key
// hits each line of a region with the same probability.
func (s shape) params() sizing.Params { return s.paramsOf(s.Slices) }

// paramsOf returns the given number of slices as one array.
func (s shape) paramsOf(slices uint64) sizing.Params {
	return sizing.Params{
		Shape: sizing.Blocked, M: uint64(s.Lines) * s.RegionLines * slices * sizing.LineBits,
		K: s.Lines * s.Lanes, Lines: s.Lines, Lanes: s.Lanes,
	}
}

// sliceBytes returns the length of a slice, header included.
func (s shape) sliceBytes() uint64 { return headerBytes + uint64(s.Lines)*s.RegionLines*lineBytes }

// sliceOf returns the slice of a key. It is chosen by the hash that would choose the line
// in a region beyond the last.
func (s shape) sliceOf(h uint64) uint32 {
	if s.Slices == 1 {
		return 0
	}
	for range sizing.MaxLines {
		h = kernel.Next(h)
	}
	return uint32(kernel.Line(h, s.Slices))
}

// lineAt returns where in the slice the line of h in region j begins, h being the
// hash of that region.
func lineAt(l kernel.Layout, j int, h uint64) uint64 {
	return headerBytes + (uint64(j)*l.RegionLines+kernel.Line(h, l.RegionLines))*lineBytes
}

// lineHas reports whether a line, as GETRANGE returns it, has all bits of a key.
func lineHas(line string, bits *[kernel.LineWords]uint64) bool {
	b := unsafe.Slice(unsafe.StringData(line), lineBytes)
	var missing uint64
	for i, w := range bits {
		missing |= w &^ binary.LittleEndian.Uint64(b[i*8:])
	}
	return missing == 0
}

// bitAt returns the offset, as the engine counts bits, of bit b of word i of the line that
// begins at the given byte. The engine counts from the highest bit of each byte, a word
// from its lowest.
func bitAt(line uint64, i, b int) uint64 { return line*8 + uint64(i)*64 + uint64(b^7) }

// text makes the strings of commands with few allocations. Its bytes are never written
// twice, so the strings stay valid.
type text struct{ buf []byte }

const (
	leastText = 256
	mostText  = 8192
	// mostDigits is the length of the largest number.
	mostDigits = 20
)

// number returns n in decimal.
func (t *text) number(n uint64) string { return t.join("", n) }

// join returns prefix followed by n.
func (t *text) join(prefix string, n uint64) string {
	if n := len(prefix) + mostDigits; cap(t.buf)-len(t.buf) < n {
		t.buf = make([]byte, 0, max(n, min(max(leastText, 2*cap(t.buf)), mostText)))
	}
	from := len(t.buf)
	t.buf = append(t.buf, prefix...)
	t.buf = strconv.AppendUint(t.buf, n, 10)
	return unsafe.String(unsafe.SliceData(t.buf[from:]), len(t.buf)-from)
}
