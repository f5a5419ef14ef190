package frame

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"seen/internal/keyhash"
)

// Offsets of the header's fields.
const (
	atVersion      = 8
	atHeaderLength = 12
	atType         = 16
	atAlgorithm    = 18
	atSeed         = 24
	atKeyID        = 32
	atCapacity     = 40
	atErrorRate    = 48
	atFields       = 56
	atParts        = 184
	atChunkSize    = 188
	atTotal        = 192
	atBodyEnd      = 200
	atSecret       = 208
	atRules        = 224

	partAtLines       = 2
	partAtLanes       = 3
	partAtCounterBits = 4
	partAtK           = 8
	partAtM           = 16
	partAtAdded       = 24
	partAtCapacity    = 32
	partAtErrorRate   = 40
	partAtFields      = 48
	partAtOffset      = 80
	partAtLength      = 88
)

// AppendHeader appends the header of h, with a clean state area, to dst. It
// returns an error if a field is out of its range.
func AppendHeader(dst []byte, h *Header) ([]byte, error) {
	b, _, err := encodeHeader(h)
	if err != nil {
		return nil, err
	}
	return append(dst, b...), nil
}

func encodeHeader(h *Header) ([]byte, Layout, error) {
	l, err := h.Layout()
	if err != nil {
		return nil, Layout{}, err
	}
	if e := h.validate(); e != nil {
		return nil, Layout{}, fmt.Errorf("cannot write header: %s", e.Reason)
	}
	le := binary.LittleEndian
	b := make([]byte, l.Header)
	copy(b, magic)
	version, tag := h.version()
	le.PutUint32(b[atVersion:], version)
	le.PutUint32(b[atHeaderLength:], uint32(l.Header))
	le.PutUint16(b[atType:], uint16(h.Type))
	b[atAlgorithm] = h.HashAlgorithm
	le.PutUint64(b[atSeed:], h.HashSeed)
	le.PutUint64(b[atKeyID:], h.HashKeyID)
	le.PutUint64(b[atCapacity:], h.Capacity)
	le.PutUint64(b[atErrorRate:], math.Float64bits(h.ErrorRate))
	for i, f := range h.Fields {
		if i == tagField {
			f = tag
		}
		le.PutUint64(b[atFields+8*i:], f)
	}
	le.PutUint32(b[atParts:], uint32(len(h.Parts)))
	le.PutUint32(b[atChunkSize:], ChunkSize)
	le.PutUint64(b[atTotal:], l.Total)
	le.PutUint64(b[atBodyEnd:], l.BodyEnd)
	copy(b[atSecret:], h.HashSecret[:])
	if version == 2 {
		le.PutUint32(b[atRules:], uint32(len(h.Rules)))
		copy(b[partsOffset+partSize*len(h.Parts):], h.Rules)
	}
	for i := range h.Parts {
		p, r := &h.Parts[i], b[partsOffset+i*partSize:]
		le.PutUint16(r, uint16(p.Kind))
		r[partAtLines] = p.Lines
		r[partAtLanes] = p.Lanes
		r[partAtCounterBits] = p.CounterBits
		le.PutUint32(r[partAtK:], p.K)
		le.PutUint64(r[partAtM:], p.M)
		le.PutUint64(r[partAtAdded:], p.Added)
		le.PutUint64(r[partAtCapacity:], p.Capacity)
		le.PutUint64(r[partAtErrorRate:], math.Float64bits(p.ErrorRate))
		for j, f := range p.Fields {
			le.PutUint64(r[partAtFields+8*j:], f)
		}
		le.PutUint64(r[partAtOffset:], l.Offsets[i])
		le.PutUint64(r[partAtLength:], p.Length)
	}
	le.PutUint32(b[len(b)-crcSize:], headerChecksum(b))
	return b, l, nil
}

// headerChecksum is the CRC-32 of a header without its last four bytes. The state
// area counts as zeros, because it changes without the rest.
func headerChecksum(b []byte) uint32 {
	var zero [StateSize]byte
	crc := crc32.ChecksumIEEE(b[:StateOffset])
	crc = crc32.Update(crc, crc32.IEEETable, zero[:])
	return crc32.Update(crc, crc32.IEEETable, b[StateOffset+StateSize:len(b)-crcSize])
}

// HeaderLength returns the length of the header that b starts with. The first
// PageSize bytes of a frame suffice; fewer are an error.
func HeaderLength(b []byte) (int, error) {
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return 0, notMagic(b)
	}
	if len(b) < PageSize {
		return 0, truncated(uint64(len(b)), PageSize)
	}
	n := binary.LittleEndian.Uint32(b[atHeaderLength:])
	if n < PageSize || n > maxHeader || n%PageSize != 0 {
		return 0, corrupt(atHeaderLength, "header length %d is not a multiple of %d up to %d", n, PageSize, maxHeader)
	}
	return int(n), nil
}

// notMagic returns what is wrong with b, which does not start with the magic.
func notMagic(b []byte) error {
	name := magic[:5]
	switch {
	case len(b) < len(magic) && string(b) == magic[:len(b)]:
		return truncated(uint64(len(b)), PageSize)
	case len(b) >= len(name) && string(b[:len(name)]) == name:
		return corrupt(uint64(len(name)), "line ends were translated; transfer the file in binary mode")
	}
	return fmt.Errorf("%w: it does not begin as one", ErrNotFrame)
}

// ParseHeader decodes and validates the header that b starts with. It ignores what
// follows the header. The state area is for ParseState.
func ParseHeader(b []byte) (*Header, error) {
	n, err := HeaderLength(b)
	if err != nil {
		return nil, err
	}
	if len(b) < n {
		return nil, truncated(uint64(len(b)), uint64(n))
	}
	b = b[:n]
	le := binary.LittleEndian
	if le.Uint32(b[n-crcSize:]) != headerChecksum(b) {
		return nil, corrupt(0, "the header, bytes 0 to %d, does not match its checksum", n-1)
	}
	// After the checksum, so that a flipped bit does not look like a newer version.
	version := le.Uint32(b[atVersion:])
	switch {
	case version > Version:
		return nil, fmt.Errorf("%w %d; this program reads up to version %d, use a newer one", ErrVersion, version, Version)
	case version == 0:
		return nil, corrupt(atVersion, "format version 0")
	}
	parts := le.Uint32(b[atParts:])
	if parts > MaxParts || version == 1 && headerLength(int(parts), 0) != uint64(n) {
		return nil, corrupt(atParts, "%d parts do not belong to a header of %d bytes", parts, n)
	}
	h := &Header{
		Version:       version,
		Type:          Type(le.Uint16(b[atType:])),
		HashAlgorithm: b[atAlgorithm],
		HashSeed:      le.Uint64(b[atSeed:]),
		HashKeyID:     le.Uint64(b[atKeyID:]),
		Capacity:      le.Uint64(b[atCapacity:]),
		ErrorRate:     math.Float64frombits(le.Uint64(b[atErrorRate:])),
		Parts:         make([]Part, parts),
	}
	copy(h.HashSecret[:], b[atSecret:])
	for i := range h.Fields {
		h.Fields[i] = le.Uint64(b[atFields+8*i:])
	}
	if err := h.parseRules(b); err != nil {
		return nil, err
	}
	for i := range h.Parts {
		h.Parts[i] = parsePart(b[partsOffset+i*partSize:])
	}
	if err := h.validate(); err != nil {
		return nil, err
	}
	if err := h.checkLayout(b); err != nil {
		return nil, err
	}
	return h, nil
}

func parsePart(r []byte) Part {
	le := binary.LittleEndian
	p := Part{
		Kind:        Kind(le.Uint16(r)),
		Lines:       r[partAtLines],
		Lanes:       r[partAtLanes],
		CounterBits: r[partAtCounterBits],
		K:           le.Uint32(r[partAtK:]),
		M:           le.Uint64(r[partAtM:]),
		Added:       le.Uint64(r[partAtAdded:]),
		Capacity:    le.Uint64(r[partAtCapacity:]),
		ErrorRate:   math.Float64frombits(le.Uint64(r[partAtErrorRate:])),
		Length:      le.Uint64(r[partAtLength:]),
	}
	for i := range p.Fields {
		p.Fields[i] = le.Uint64(r[partAtFields+8*i:])
	}
	return p
}

// checkLayout compares the sizes in the encoded header with those that follow from its
// parts, and all other bytes that have one right value (reserved bytes, chunk size)
// with that.
func (h *Header) checkLayout(b []byte) error {
	want, l, err := encodeHeader(h)
	if err != nil {
		return corrupt(partsOffset, "the lengths of the parts add up to more than 2^62 bytes")
	}
	le := binary.LittleEndian
	if got := le.Uint64(b[atTotal:]); got != l.Total {
		return corrupt(atTotal, "total length %d, but the parts make %d", got, l.Total)
	}
	for i := range b[:len(b)-crcSize] {
		if (i < StateOffset || i >= StateOffset+StateSize) && b[i] != want[i] {
			return corrupt(uint64(i), "byte %#02x where only %#02x is possible", b[i], want[i])
		}
	}
	return nil
}

// validate checks each field by itself and the fields of each part together.
func (h *Header) validate() *CorruptError {
	if !h.Type.known() {
		return corrupt(atType, "unknown type %d", uint16(h.Type))
	}
	if e := h.validateHash(); e != nil {
		return e
	}
	if e := h.validateRules(); e != nil {
		return e
	}
	if !isRate(h.ErrorRate) {
		return corrupt(atErrorRate, "error rate %v is not between 0 and 1", h.ErrorRate)
	}
	if k := h.Type.onlyKind(); k != 0 {
		if len(h.Parts) != 1 {
			return corrupt(atParts, "%d parts in a %v filter, which has one", len(h.Parts), h.Type)
		}
		if h.Parts[0].Kind != k {
			return corrupt(partsOffset, "a part of %v in a %v filter", h.Parts[0].Kind, h.Type)
		}
	}
	for i := range h.Parts {
		if e := h.Parts[i].validate(); e != nil {
			e.Offset += int64(partsOffset + i*partSize)
			e.Reason = fmt.Sprintf("part %d: %s", i, e.Reason)
			return e
		}
	}
	return nil
}

func (h *Header) validateHash() *CorruptError {
	hash := h.Hash()
	switch hash.Algorithm {
	case keyhash.XXH3, keyhash.Murmur64A:
		if h.HashKeyID != 0 {
			return corrupt(atKeyID, "key id %#x with %v, which has no secret", h.HashKeyID, hash.Algorithm)
		}
	case keyhash.SipHash, keyhash.NH:
		if h.HashSeed != 0 {
			return corrupt(atSeed, "seed %d with %v, which has none", h.HashSeed, hash.Algorithm)
		}
	default:
		return corrupt(atAlgorithm, "unknown hash algorithm %d", h.HashAlgorithm)
	}
	zero := hash.Secret == [keyhash.SecretSize]byte{}
	switch isNH := hash.Algorithm == keyhash.NH; {
	case isNH && zero:
		return corrupt(atSecret, "no secret with nh")
	case isNH && hash.KeyID() != h.HashKeyID:
		return corrupt(atKeyID, "key id %#x does not belong to the secret", h.HashKeyID)
	case !isNH && !zero:
		return corrupt(atSecret, "a secret with %v, which keeps none in a file", hash.Algorithm)
	}
	return nil
}

// Hash returns the key hash of h. A SipHash has no secret there: files do not contain it.
func (h *Header) Hash() keyhash.Hash {
	return keyhash.Hash{Algorithm: keyhash.Algorithm(h.HashAlgorithm), Seed: h.HashSeed, Secret: h.HashSecret}
}

// SetHash makes hash the key hash of h. keyID is that of hash, even if its secret is
// unknown.
func (h *Header) SetHash(hash keyhash.Hash, keyID uint64) {
	h.HashAlgorithm, h.HashSeed, h.HashKeyID = uint8(hash.Algorithm), hash.Seed, keyID
	h.HashSecret = [keyhash.SecretSize]byte{}
	if hash.Algorithm == keyhash.NH {
		h.HashSecret = hash.Secret
	}
}

func isRate(p float64) bool { return p >= 0 && p <= 1 }

// validate returns damage with an offset inside the part's record.
func (p *Part) validate() *CorruptError {
	if !p.Kind.known() {
		return corrupt(0, "unknown kind %d", uint16(p.Kind))
	}
	if !isRate(p.ErrorRate) {
		return corrupt(partAtErrorRate, "error rate %v is not between 0 and 1", p.ErrorRate)
	}
	if p.Kind > KindCounters {
		return nil
	}
	if p.K < 1 || p.K > MaxProbes {
		return corrupt(partAtK, "k = %d is not between 1 and %d", p.K, MaxProbes)
	}
	if p.M == 0 {
		return corrupt(partAtM, "m = 0")
	}
	width := uint8(1)
	lines, lanes := p.Lines == 0, p.Lanes == 0
	counters := p.CounterBits == 0
	switch p.Kind {
	case KindBlocked:
		lines, lanes = p.Lines >= 1 && p.Lines <= 3, p.Lanes >= 1 && p.Lanes <= 8
		if lines && lanes && p.K != uint32(p.Lines)*uint32(p.Lanes) {
			return corrupt(partAtK, "k = %d is not %d lines of %d lanes", p.K, p.Lines, p.Lanes)
		}
		if lines && p.M%(uint64(p.Lines)*512) != 0 {
			return corrupt(partAtM, "m = %d does not divide into %d equal regions of 512-bit lines", p.M, p.Lines)
		}
	case KindPartitioned:
		if p.M%uint64(p.K) != 0 {
			return corrupt(partAtM, "m = %d does not divide into %d equal slices", p.M, p.K)
		}
	case KindCounters:
		width = p.CounterBits
		switch width {
		case 4, 8, 16, 32, 64:
			counters = true
		default:
			counters = false
		}
	}
	switch {
	case !lines:
		return corrupt(partAtLines, "%d lines in %v", p.Lines, p.Kind)
	case !lanes:
		return corrupt(partAtLanes, "%d lanes in %v", p.Lanes, p.Kind)
	case !counters:
		return corrupt(partAtCounterBits, "%d counter bits in %v", p.CounterBits, p.Kind)
	}
	if n, ok := WordBytes(p.M, width); !ok || n != p.Length {
		return corrupt(partAtLength, "%d bytes cannot hold m = %d of %v", p.Length, p.M, p.Kind)
	}
	return nil
}
