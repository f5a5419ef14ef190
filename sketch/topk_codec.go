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
//	field 5  number of slots, at most k
//	field 6  1 for slots of a tree of k, 0 for those of a tree without empty slots
//	field 7  1 for the buckets and counts of RedisBloom, else 0
//
// The buckets come first, row by row: 8 bytes each, the count in the low half and the
// fingerprint in the high one. Then come the slots with the keys that are kept: the count
// in 8 bytes, the length in 8 bytes, and the key, for each. A length of 2^64-1 says that
// the slot is empty; its count is 0.
//
// The slots are those of a binary tree of which all levels are full, except for the last,
// which is filled from the left. With field 6 it has k slots, in post-order, those after
// the last in the file being empty; without, which early versions wrote, it has
// as many slots as field 5 says, level by level, each with a key. A slot does not have
// a lower count than the one above it, except with field 7, where a key may lose counts.
//
// A key with hash h has the fingerprint h mod 2^32, and in each row the column that it
// has in a count-min sketch of the same width. With field 7 the fingerprint is the
// MurmurHash2 of 32 bits with the seed 1919, the columns are those of such a sketch with
// the columns of RedisBloom, and the hash in the header, XXH3 with seed 0, is not used.
func (t *TopK) encode() (h frame.Header, body, tail []byte) {
	body = frame.Bytes(t.buckets)
	tail = make([]byte, 0, slotSize*len(t.best.slots)+int(t.best.bytes))
	for _, e := range t.best.slots {
		length := uint64(len(e.key))
		if !e.kept {
			length = emptySlot
		}
		tail = binary.LittleEndian.AppendUint64(tail, uint64(e.count))
		tail = binary.LittleEndian.AppendUint64(tail, length)
		tail = append(tail, e.key...)
	}
	p := frame.Part{Kind: frame.KindBytes, M: uint64(len(t.buckets)), Length: uint64(len(body) + len(tail))}
	return header(frame.TypeTopK, t.hash, p, uint64(t.k), uint64(t.width), uint64(t.depth),
		math.Float64bits(t.decay), t.random, uint64(len(t.best.slots)), 1, flag(t.redis)), body, tail
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
	t.redis = h.Fields[7] == 1
	t.setChances()
	buckets, _ := frame.Words(body[:8*n])
	if err := t.fill(buckets); err != nil {
		return err
	}
	t.best = best{k: t.k, place: map[string]int{}}
	slots, err := decodeSlots(h, body[8*n:], kept)
	if err != nil {
		return err
	}
	return t.putSlots(h, slots)
}

const (
	slotSize  = 16 // without the key
	emptySlot = math.MaxUint64
)

// decodeSlots reads slots, which are all of b.
func decodeSlots(h *frame.Header, b []byte, n uint64) ([]entry, error) {
	if n > uint64(len(b))/slotSize {
		return nil, bad(h, "%d keys in %d bytes", n, len(b))
	}
	slots := make([]entry, n)
	for i := range slots {
		if len(b) < slotSize {
			return nil, bad(h, "the bytes end before key %d", i)
		}
		count, length := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		b = b[slotSize:]
		if length == emptySlot && count == 0 {
			continue
		}
		if length > uint64(len(b)) {
			return nil, bad(h, "key %d of %d bytes, %d are there", i, length, len(b))
		}
		if count > math.MaxUint32 {
			return nil, bad(h, "key %d has a count of %d", i, count)
		}
		slots[i] = entry{string(b[:length]), uint32(count), true}
		b = b[length:]
	}
	if len(b) != 0 {
		return nil, bad(h, "%d bytes follow the last key", len(b))
	}
	return slots, nil
}

// putSlots gives t, which has no keys, those of slots.
func (t *TopK) putSlots(h *frame.Header, slots []entry) error {
	for i, e := range slots {
		if !t.redis && e.count == 0 {
			return bad(h, "key %d has a count of 0", i)
		}
		if above := (i - 1) / 2; h.Fields[6] == 0 && i > 0 && slots[above].count > e.count {
			return bad(h, "key %d has a lower count than key %d", i, above)
		}
	}
	if h.Fields[6] == 0 {
		h.Fields[6] = 1 // what is written from now on
		slots = t.best.spread(slots)
	}
	if err := t.best.fill(slots, !t.redis); err != nil {
		return bad(h, "%v", err)
	}
	return nil
}

// AppendBinary appends the sketch in the format of docs/FORMAT.md to b.
func (t *TopK) AppendBinary(b []byte) ([]byte, error) { return appendBinary(t, b) }

// MarshalBinary returns the sketch in the format of docs/FORMAT.md.
func (t *TopK) MarshalBinary() ([]byte, error) { return appendBinary(t, nil) }

// UnmarshalBinary replaces t by the top-k sketch in b; see [CountMin.UnmarshalBinary].
func (t *TopK) UnmarshalBinary(b []byte) error { return unmarshal(t, b) }

// WriteTo writes what AppendBinary appends.
func (t *TopK) WriteTo(w io.Writer) (int64, error) { return writeTo(t, w) }

// ReadFrom replaces t by the top-k sketch in r, which it reads to the end; see
// UnmarshalBinary.
func (t *TopK) ReadFrom(r io.Reader) (int64, error) { return readFrom(t, r) }
