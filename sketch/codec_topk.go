package sketch

import (
	"encoding/binary"
	"io"
	"math"

	"seen/internal/frame"
	"seen/internal/keyhash"
)

// A top-k sketch is a frame of type 15 with one part of kind 8, bytes; m is the number
// of buckets.
//
//	field 0  k
//	field 1  width, the buckets of a row
//	field 2  depth, the number of rows, 1 to 1024
//	field 3  decay, a double
//	field 4  state of the random numbers
//	field 5  number of keys kept, at most k
//
// The buckets come first, row by row: 8 bytes each, the count in the low half and the
// fingerprint in the high one. Then come the keys that are kept: the count in 8 bytes,
// the length in 8 bytes, and the key, for each. They are in the order of a binary heap:
// number i, from 0, does not have a lower count than number (i-1)/2.
//
// A key with hash h has the fingerprint h mod 2^32, and in each row the column that it
// has in a count-min sketch of the same width.
func (t *TopK) encode() (h frame.Header, body, tail []byte) {
	body = frame.Bytes(t.buckets)
	tail = make([]byte, 0, 16*len(t.heap)+int(t.keyBytes))
	for _, e := range t.heap {
		tail = binary.LittleEndian.AppendUint64(tail, uint64(e.count))
		tail = binary.LittleEndian.AppendUint64(tail, uint64(len(e.key)))
		tail = append(tail, e.key...)
	}
	p := frame.Part{Kind: frame.KindBytes, M: uint64(len(t.buckets)), Length: uint64(len(body) + len(tail))}
	return header(frame.TypeTopK, t.hash, p, uint64(t.k), uint64(t.width), uint64(t.depth),
		math.Float64bits(t.decay), t.random, uint64(len(t.heap))), body, tail
}

func (t *TopK) frameType() frame.Type { return frame.TypeTopK }

func (t *TopK) decode(h *frame.Header, body []byte, hash keyhash.Hash) error {
	if kind := h.Parts[0].Kind; kind != frame.KindBytes {
		return bad(h, "part of %v", kind)
	}
	k, width, depth, kept := h.Fields[0], h.Fields[1], h.Fields[2], h.Fields[5]
	decay := math.Float64frombits(h.Fields[3])
	if k > maxTopK || width > math.MaxInt || depth > maxTopKDepth {
		return bad(h, "k = %d, width %d, depth %d", k, width, depth)
	}
	if err := checkTopK(int(k), int(width), int(depth), decay); err != nil {
		return bad(h, "%v", err)
	}
	n := width * depth
	if n > uint64(len(body))/8 || kept > k {
		return bad(h, "%d buckets and %d of %d keys in %d bytes", n, kept, k, len(body))
	}
	t.k, t.width, t.depth, t.decay, t.hash, t.random = int(k), int(width), int(depth), decay, hash, h.Fields[4]
	t.setChances()
	buckets, _ := frame.Words(body[:8*n])
	if err := t.fill(buckets); err != nil {
		return err
	}
	return t.decodeKeys(h, body[8*n:], kept)
}

// decodeKeys reads the keys that are kept.
func (t *TopK) decodeKeys(h *frame.Header, b []byte, kept uint64) error {
	const headSize = 16
	if kept > uint64(len(b))/headSize {
		return bad(h, "%d keys in %d bytes", kept, len(b))
	}
	t.heap = make([]entry, kept)
	t.place = make(map[string]int, kept)
	for i := range t.heap {
		if len(b) < headSize {
			return bad(h, "the bytes end before key %d", i)
		}
		count, length := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		if b = b[headSize:]; length > uint64(len(b)) {
			return bad(h, "key %d of %d bytes, %d are there", i, length, len(b))
		}
		key := string(b[:length])
		b = b[length:]
		if count == 0 || count > math.MaxUint32 {
			return bad(h, "key %d has a count of %d", i, count)
		}
		if above := (i - 1) / 2; i > 0 && t.heap[above].count > uint32(count) {
			return bad(h, "key %d has a lower count than key %d", i, above)
		}
		if _, twice := t.place[key]; twice {
			return bad(h, "key %d is there twice", i)
		}
		t.put(i, entry{key, uint32(count)})
		t.keyBytes += length
	}
	if len(b) != 0 {
		return bad(h, "%d bytes follow the last key", len(b))
	}
	return nil
}

// AppendBinary appends the sketch in the format of docs/FORMAT.md to b.
func (t *TopK) AppendBinary(b []byte) ([]byte, error) { return appendBinary(t, b) }

// MarshalBinary returns the sketch in the format of docs/FORMAT.md.
func (t *TopK) MarshalBinary() ([]byte, error) { return appendBinary(t, nil) }

// UnmarshalBinary replaces t by the top-k sketch in b. After an error t is unchanged.
// If its keys are hashed with SipHash, t must have been made with the same secret; see
// [bloom.SecretError].
func (t *TopK) UnmarshalBinary(b []byte) error { return unmarshal(t, b) }

// WriteTo writes what AppendBinary appends.
func (t *TopK) WriteTo(w io.Writer) (int64, error) { return writeTo(t, w) }

// ReadFrom replaces t by the top-k sketch in r, which it reads to the end; see
// UnmarshalBinary.
func (t *TopK) ReadFrom(r io.Reader) (int64, error) { return readFrom(t, r) }
