package sketch

import (
	"io"

	"seen/internal/frame"
	"seen/internal/keyhash"
)

// A count-min sketch with counters of 32 bits is a frame of type 14 with one part of
// kind 4, counters. It is like type 10 except for the width of the counters.
//
//	field 0  width, the counters of a row
//	field 1  depth, the number of rows, 1 to 1024
//	field 2  total, up to 2^63-1, which means that or more
//
// A counter of 2^32-1 means that or more.
func (c *CountMin32) encode() (h frame.Header, body, tail []byte) {
	body = frame.Bytes(c.words)
	p := frame.Part{
		Kind: frame.KindCounters, CounterBits: 32, K: uint32(c.depth),
		M: c.width * uint64(c.depth), Length: uint64(len(body)),
	}
	return header(frame.TypeCountMin32, c.hash, p, c.width, uint64(c.depth), c.Total()), body, nil
}

func (c *CountMin32) frameType() frame.Type { return frame.TypeCountMin32 }

func (c *CountMin32) decode(h *frame.Header, body []byte, hash keyhash.Hash) error {
	p := &h.Parts[0]
	if p.Kind != frame.KindCounters || p.CounterBits != 32 {
		return bad(h, "part of %v with %d bits instead of 32-bit counters", p.Kind, p.CounterBits)
	}
	width, depth := h.Fields[0], h.Fields[1]
	// Divided, since the product may overflow.
	if depth < 1 || depth > maxDepth32 || width < 1 || p.M/width != depth || p.M%width != 0 {
		return bad(h, "%d counters with width %d and depth %d", p.M, width, depth)
	}
	if h.Fields[2] > maxTotal32 {
		return bad(h, "total %d", h.Fields[2])
	}
	c.width, c.depth, c.hash, c.total = width, int(depth), hash, h.Fields[2]
	words, _ := frame.Words(body)
	if last := words[len(words)-1]; p.M%2 != 0 && last>>32 != 0 {
		return bad(h, "a counter beyond the last, number %d", p.M-1)
	}
	return c.fill(words)
}

// AppendBinary appends the sketch in the format of docs/FORMAT.md to b.
func (c *CountMin32) AppendBinary(b []byte) ([]byte, error) { return appendBinary(c, b) }

// MarshalBinary returns the sketch in the format of docs/FORMAT.md.
func (c *CountMin32) MarshalBinary() ([]byte, error) { return appendBinary(c, nil) }

// UnmarshalBinary replaces c by the count-min sketch in b. After an error c is
// unchanged. If its keys are hashed with SipHash, c must have been made with the same
// secret; see [bloom.SecretError].
func (c *CountMin32) UnmarshalBinary(b []byte) error { return unmarshal(c, b) }

// WriteTo writes what AppendBinary appends, with little memory of its own.
func (c *CountMin32) WriteTo(w io.Writer) (int64, error) { return writeTo(c, w) }

// ReadFrom replaces c by the count-min sketch in r, which it reads to the end; see
// UnmarshalBinary.
func (c *CountMin32) ReadFrom(r io.Reader) (int64, error) { return readFrom(c, r) }
