package sketch

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"

	"seen/bloom"
	"seen/internal/frame"
	"seen/internal/keyhash"
)

// encoder is a sketch that describes itself as a frame of one part: the bytes of body, then
// those of tail. They may be the memory of the sketch.
type encoder interface {
	encode() (h frame.Header, body, tail []byte)
	Rules() string
}

// encodeWhole is encode with the rules of keys.
func encodeWhole(s encoder) (h frame.Header, body, tail []byte) {
	h, body, tail = s.encode()
	h.Rules = s.Rules()
	return h, body, tail
}

func appendBinary(s encoder, b []byte) ([]byte, error) {
	h, body, tail := encodeWhole(s)
	b, err := frame.AppendPieces(b, &h, pieces(body, tail))
	runtime.KeepAlive(s)
	return b, err
}

func writeTo(s encoder, w io.Writer) (int64, error) {
	h, body, tail := encodeWhole(s)
	written, err := frame.WritePieces(w, &h, pieces(body, tail))
	runtime.KeepAlive(s)
	return written, err
}

// pieces returns pieces of the only part of a frame.
func pieces(body, tail []byte) func(part int, off, n uint64) []byte {
	return func(_ int, off, n uint64) []byte {
		whole := uint64(len(body))
		switch end := off + n; {
		case end <= whole:
			return body[off:end]
		case off >= whole:
			return tail[off-whole : end-whole]
		default:
			return slices.Concat(body[off:], tail[:end-whole])
		}
	}
}

// header makes the frame header of a sketch.
func header(t frame.Type, h keyhash.Hash, p frame.Part, fields ...uint64) frame.Header {
	f := frame.Header{Type: t, Parts: []frame.Part{p}}
	f.SetHash(h, h.KeyID())
	copy(f.Fields[:], fields)
	return f
}

// decoder is a pointer to a sketch of type S.
type decoder[S any] interface {
	*S
	encoder
	Hash() bloom.Hash
	SetRules(rules string) error
	frameType() frame.Type
	// decode sets a sketch that is a zero value. After an error its state is undefined. The
	// sketch does not refer to body.
	decode(h *frame.Header, body []byte, hash keyhash.Hash) error
}

func unmarshal[S any, P decoder[S]](s P, b []byte) error {
	h, parts, err := frame.Parse(b)
	if err != nil {
		return err
	}
	return replace(s, h, parts)
}

func readFrom[S any, P decoder[S]](s P, r io.Reader) (int64, error) {
	h, parts, n, err := frame.ReadAll(r)
	if err != nil {
		return 0, err
	}
	return n, replace(s, h, parts)
}

// replace replaces s by the sketch in a frame.
func replace[S any, P decoder[S]](s P, h *frame.Header, parts [][]byte) error {
	if h.Type != s.frameType() {
		return fmt.Errorf("the bytes hold a %v, not a %v", h.Type, s.frameType())
	}
	if len(parts) != 1 {
		return bad(h, "%d parts instead of one", len(parts))
	}
	hash := h.Hash()
	if hash.Algorithm == keyhash.SipHash {
		hash = keyOf(s.Hash())
		if hash.Algorithm != keyhash.SipHash || hash.KeyID() != h.HashKeyID {
			return &bloom.SecretError{KeyID: h.HashKeyID, Given: hash.Algorithm == keyhash.SipHash}
		}
	}
	var d S
	if err := P(&d).decode(h, parts[0], hash); err != nil {
		return err
	}
	if err := P(&d).SetRules(h.Rules); err != nil {
		return err
	}
	if !sameHeader(h, P(&d)) {
		return bad(h, "a field that is not in use is not zero, or two that must agree do not")
	}
	*s = d
	return nil
}

// sameHeader reports whether s would write h.
func sameHeader(h *frame.Header, s encoder) bool {
	again, _, _ := encodeWhole(s)
	a, errA := frame.AppendHeader(nil, h)
	b, errB := frame.AppendHeader(nil, &again)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// flag is a field that says yes or no.
func flag(on bool) uint64 {
	if on {
		return 1
	}
	return 0
}

// bad reports a header or body that is well formed but impossible for its type.
func bad(h *frame.Header, format string, args ...any) error {
	return &bloom.CorruptError{Reason: fmt.Sprintf("impossible %v: ", h.Type) + fmt.Sprintf(format, args...)}
}

// A count-min sketch is a frame of type 10 with one part of kind 4, counters, of
// 64 bits: k is the number of rows, m the number of all counters. The part has row after
// row, and in each row column after column.
//
//	field 0  width, the counters of a row
//	field 1  depth, the number of rows, 1 to 32
//	field 2  1 for conservative update, 0 for plain
//	field 3  sum of all counts added; 2^64-1 means that or more
//
// The column of a key with hash h in row i, from 0, is the high half of the
// 128-bit product of the width and x, where
//
//	x = h + (i+1) * 0x9e3779b97f4a7c15 mod 2^64
//	x = (x xor (x >> 30)) * 0xbf58476d1ce4e5b9 mod 2^64
//	x = (x xor (x >> 27)) * 0x94d049bb133111eb mod 2^64
//	x = x xor (x >> 31)
//
// The count of a key is the least of its counters. A counter of 2^64-1 means that
// or more. The counters of a row add up to field 3, or with conservative update to
// at most that (sums above 2^64-1 count as 2^64-1).
func (c *CountMin) encode() (h frame.Header, body, tail []byte) {
	body = frame.Bytes(c.counters)
	p := frame.Part{
		Kind: frame.KindCounters, CounterBits: 64, K: uint32(c.depth),
		M: uint64(len(c.counters)), Length: uint64(len(body)),
	}
	return header(frame.TypeCountMin, c.hash, p, c.width, uint64(c.depth), flag(c.conservative), c.total), body, nil
}

func (c *CountMin) frameType() frame.Type { return frame.TypeCountMin }

func (c *CountMin) decode(h *frame.Header, body []byte, hash keyhash.Hash) error {
	p := &h.Parts[0]
	if p.Kind != frame.KindCounters || p.CounterBits != 64 {
		return bad(h, "part of %v with %d bits instead of 64-bit counters", p.Kind, p.CounterBits)
	}
	width, depth, update, total := h.Fields[0], h.Fields[1], h.Fields[2], h.Fields[3]
	// Divided, since the product may overflow.
	if depth < 1 || depth > maxDepth || width < 1 || p.M/width != depth || p.M%width != 0 {
		return bad(h, "%d counters with width %d and depth %d", p.M, width, depth)
	}
	if update > 1 {
		return bad(h, "update %d", update)
	}
	c.width, c.depth, c.conservative, c.hash, c.total = width, int(depth), update == 1, hash, total
	counters, _ := frame.Words(body)
	c.counters = slices.Clone(counters)
	for row := range slices.Chunk(c.counters, int(width)) {
		sum := uint64(0)
		for _, n := range row {
			sum = addSaturating(sum, n)
		}
		if sum > total || !c.conservative && sum < total {
			return bad(h, "a row of counters adds up to %d, the total is %d", sum, total)
		}
	}
	return nil
}

// AppendBinary appends the sketch in the format of docs/FORMAT.md to b.
func (c *CountMin) AppendBinary(b []byte) ([]byte, error) { return appendBinary(c, b) }

// MarshalBinary returns the sketch in the format of docs/FORMAT.md.
func (c *CountMin) MarshalBinary() ([]byte, error) { return appendBinary(c, nil) }

// UnmarshalBinary replaces c by the count-min sketch in b. After an error c is
// unchanged. If its keys are hashed with SipHash, c must have been made with the same
// secret; see [bloom.SecretError].
func (c *CountMin) UnmarshalBinary(b []byte) error { return unmarshal(c, b) }

// WriteTo writes what AppendBinary appends, with little memory of its own.
func (c *CountMin) WriteTo(w io.Writer) (int64, error) { return writeTo(c, w) }

// ReadFrom replaces c by the count-min sketch in r, which it reads to the end; see
// UnmarshalBinary.
func (c *CountMin) ReadFrom(r io.Reader) (int64, error) { return readFrom(c, r) }

// A HyperLogLog sketch is a frame of type 11 with one part.
//
//	field 0  precision p, 4 to 18
//
// With up to 2^p / 8 distinct keys the part is of kind 6, fingerprints: their
// hashes as 64-bit numbers in ascending order without duplicates; m is their
// number, which may be 0. The cardinality is m.
//
// With more it is of kind 7, registers: 2^p of one byte each; m is 2^p. A key with
// hash h belongs to register h >> (64-p); it raises it to at least the number of
// zeros before the first one bit in the other 64-p bits of h, read from the
// highest, plus 1, or to 64-p+1 if they are all zero.
func (s *HyperLogLog) encode() (h frame.Header, body, tail []byte) {
	p := frame.Part{Kind: frame.KindRegisters, M: 1 << s.precision}
	if s.exact != nil {
		hashes := slices.Sorted(maps.Keys(s.exact))
		p.Kind, p.M = frame.KindFingerprints, uint64(len(hashes))
		body = frame.Bytes(hashes)
	} else {
		body = s.registers()
	}
	p.Length = uint64(len(body))
	return header(frame.TypeHyperLogLog, s.hash, p, uint64(s.precision)), body, nil
}

func (s *HyperLogLog) frameType() frame.Type { return frame.TypeHyperLogLog }

func (s *HyperLogLog) decode(h *frame.Header, body []byte, hash keyhash.Hash) error {
	if h.Fields[0] < minPrecision || h.Fields[0] > maxPrecision {
		return bad(h, "precision %d", h.Fields[0])
	}
	s.hash, s.precision = hash, int(h.Fields[0])
	switch h.Parts[0].Kind {
	case frame.KindFingerprints:
		return s.decodeExact(h, body)
	case frame.KindRegisters:
		return s.decodeDense(h, body)
	}
	return bad(h, "part of %v", h.Parts[0].Kind)
}

func (s *HyperLogLog) decodeExact(h *frame.Header, body []byte) error {
	hashes, _ := frame.Words(body)
	if len(body)%8 != 0 || len(hashes) > s.maxExact() {
		return bad(h, "%d bytes of hashes with precision %d", len(body), s.precision)
	}
	s.exact = make(map[uint64]struct{}, len(hashes))
	for i, x := range hashes {
		if i > 0 && x <= hashes[i-1] {
			return bad(h, "hash %d does not follow the one before it in order", i)
		}
		s.exact[x] = struct{}{}
	}
	return nil
}

func (s *HyperLogLog) decodeDense(h *frame.Header, body []byte) error {
	if len(body) != 1<<s.precision {
		return bad(h, "%d registers with precision %d", len(body), s.precision)
	}
	highest := byte(64 - s.precision + 1)
	for i, r := range body {
		if r > highest {
			return bad(h, "register %d is %d, above the highest possible, %d", i, r, highest)
		}
	}
	s.dense = newDense(s.precision)
	copy(s.registers(), body)
	return nil
}

// AppendBinary appends the sketch in the format of docs/FORMAT.md to b.
func (s *HyperLogLog) AppendBinary(b []byte) ([]byte, error) { return appendBinary(s, b) }

// MarshalBinary returns the sketch in the format of docs/FORMAT.md.
func (s *HyperLogLog) MarshalBinary() ([]byte, error) { return appendBinary(s, nil) }

// UnmarshalBinary replaces s by the HyperLogLog sketch in b; see [CountMin.UnmarshalBinary].
func (s *HyperLogLog) UnmarshalBinary(b []byte) error { return unmarshal(s, b) }

// WriteTo writes what AppendBinary appends, with little memory of its own.
func (s *HyperLogLog) WriteTo(w io.Writer) (int64, error) { return writeTo(s, w) }

// ReadFrom replaces s by the HyperLogLog sketch in r, which it reads to the end; see
// UnmarshalBinary.
func (s *HyperLogLog) ReadFrom(r io.Reader) (int64, error) { return readFrom(s, r) }

// A Flajolet-Martin sketch is a frame of type 12 with one part of kind 7,
// registers: 2^b bitmaps of 64 bits, 0 <= b <= 16; m is 2^b.
//
//	field 0  2^b, the number of bitmaps
//
// A key with hash h belongs to bitmap h mod 2^b, and sets there the bit whose
// number is that of zeros below the lowest one bit of h >> b. If h >> b is zero
// the number is 64-b, or 63 if b is 0. The estimate of the cardinality follows in
// the documentation of FlajoletMartin.
func (s *FlajoletMartin) encode() (h frame.Header, body, tail []byte) {
	body = frame.Bytes(s.maps)
	n := uint64(len(s.maps))
	p := frame.Part{Kind: frame.KindRegisters, M: n, Length: uint64(len(body))}
	return header(frame.TypeFlajoletMartin, s.hash, p, n), body, nil
}

func (s *FlajoletMartin) frameType() frame.Type { return frame.TypeFlajoletMartin }

func (s *FlajoletMartin) decode(h *frame.Header, body []byte, hash keyhash.Hash) error {
	if kind := h.Parts[0].Kind; kind != frame.KindRegisters {
		return bad(h, "part of %v", kind)
	}
	if len(body)%8 != 0 || !validMaps(len(body)/8) {
		return bad(h, "%d bytes of bitmaps", len(body))
	}
	s.hash = hash
	maps, _ := frame.Words(body)
	s.maps = slices.Clone(maps)
	for i, m := range s.maps {
		if m>>s.topBit()>>1 != 0 {
			return bad(h, "bitmap %d has a bit above the highest possible, %d", i, s.topBit())
		}
	}
	return nil
}

// AppendBinary appends the sketch in the format of docs/FORMAT.md to b.
func (s *FlajoletMartin) AppendBinary(b []byte) ([]byte, error) { return appendBinary(s, b) }

// MarshalBinary returns the sketch in the format of docs/FORMAT.md.
func (s *FlajoletMartin) MarshalBinary() ([]byte, error) { return appendBinary(s, nil) }

// UnmarshalBinary replaces s by the Flajolet-Martin sketch in b; see [CountMin.UnmarshalBinary].
func (s *FlajoletMartin) UnmarshalBinary(b []byte) error { return unmarshal(s, b) }

// WriteTo writes what AppendBinary appends, with little memory of its own.
func (s *FlajoletMartin) WriteTo(w io.Writer) (int64, error) { return writeTo(s, w) }

// ReadFrom replaces s by the Flajolet-Martin sketch in r, which it reads to the end; see
// UnmarshalBinary.
func (s *FlajoletMartin) ReadFrom(r io.Reader) (int64, error) { return readFrom(s, r) }

// A count-min sketch with counters of 32 bits is a frame of type 14 with one part of
// kind 4, counters. It is like type 10 except for the width of the counters.
//
//	field 0  width, the counters of a row
//	field 1  depth, the number of rows, 1 to 1024
//	field 2  total, up to 2^63-1, which means that or more
//	field 3  1 for the columns of RedisBloom, else 0
//
// A counter of 2^32-1 means that or more. In RedisBloom the column of a key in row i is
// its MurmurHash2 of 32 bits with the seed i, modulo the width; the hash in the header is
// then XXH3 with seed 0, and is not used.
func (c *CountMin32) encode() (h frame.Header, body, tail []byte) {
	body = frame.Bytes(c.words)
	p := frame.Part{
		Kind: frame.KindCounters, CounterBits: 32, K: uint32(c.depth),
		M: c.width * uint64(c.depth), Length: uint64(len(body)),
	}
	return header(frame.TypeCountMin32, c.hash, p, c.width, uint64(c.depth), c.Total(), flag(c.redis)), body, nil
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
	c.redis = h.Fields[3] == 1
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

// UnmarshalBinary replaces c by the count-min sketch in b; see [CountMin.UnmarshalBinary].
func (c *CountMin32) UnmarshalBinary(b []byte) error { return unmarshal(c, b) }

// WriteTo writes what AppendBinary appends, with little memory of its own.
func (c *CountMin32) WriteTo(w io.Writer) (int64, error) { return writeTo(c, w) }

// ReadFrom replaces c by the count-min sketch in r, which it reads to the end; see
// UnmarshalBinary.
func (c *CountMin32) ReadFrom(r io.Reader) (int64, error) { return readFrom(c, r) }
