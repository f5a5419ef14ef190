package redisbloom

import "seen/internal/rdb"

// The payload of DUMP and RESTORE is a value as in an RDB file, the version of the
// RDB format in two bytes, and a CRC-64 of all that. All numbers of the value are
// RDB lengths: 6 bits, or 14 bits big-endian, or a byte that says that 32 or 64 bits
// big-endian follow. The value of a module is
//
//	7, the type of such values
//	module id: nine characters of 6 bits, and 10 bits of encoding version
//	numbers (2 and an RDB length), doubles (4 and 8 bytes, little-endian) and
//	strings (5 and an RDB string), in an order of the module's
//	0
//
// The order here: keys added, number of sub-filters, options, expansion; then of each
// sub-filter capacity, error rate (double), probes, bits per key (double), bits,
// logarithm of the bits in use, array (string), keys added. Encodings 2 and 3 have no
// expansion, which is 2; encoding 1 has no options either, which are 0.

// AppendDump appends the filter as a payload for RESTORE, as DUMP gives it.
func (f *Filter) AppendDump(dst []byte) []byte { return f.appendDump(dst, rdb.Version) }

func (f *Filter) appendDump(dst []byte, version uint16) []byte {
	start := len(dst)
	links := f.chain()
	h := f.headerOf(links)
	dst = Bloom.begin(dst)
	dst = rdb.AppendNumber(dst, h.total())
	dst = rdb.AppendNumber(dst, uint64(len(h.shapes)))
	dst = rdb.AppendNumber(dst, uint64(h.options))
	dst = rdb.AppendNumber(dst, uint64(h.expansion))
	for i, s := range h.shapes {
		dst = rdb.AppendNumber(dst, s.capacity)
		dst = rdb.AppendDouble(dst, s.errorRate)
		dst = rdb.AppendNumber(dst, uint64(s.hashes))
		dst = rdb.AppendDouble(dst, s.bitsPerKey)
		dst = rdb.AppendNumber(dst, s.bits)
		dst = rdb.AppendNumber(dst, uint64(s.power))
		dst = rdb.AppendTextHead(dst, s.bytes)
		dst = links[i].appendBytes(dst, 0, s.bytes)
		dst = rdb.AppendNumber(dst, h.added[i])
	}
	return seal(dst, start, version)
}

// IsPayload reports whether b begins as the payload of a filter.
func IsPayload(b []byte) bool {
	f, ok := FamilyOf(b)
	return ok && f == Bloom
}

// Restore returns the filter of a payload that DUMP gave.
func Restore(payload []byte, reserve func(bytes uint64) error) (*Filter, error) {
	v, err := open(payload, ReadValue)
	if err != nil {
		return nil, err
	}
	f, err := v.header.filter(reserve)
	if err != nil {
		return nil, err
	}
	for i, l := range f.chain() {
		array, err := v.arrays[i].Bytes()
		if err != nil {
			f.Release()
			return nil, err
		}
		l.setBytes(0, array)
	}
	return f, nil
}

// Value is a filter as it is in an RDB file, where few bytes may stand for many. It
// refers to the bytes that it was read from.
type Value struct {
	header header
	arrays []rdb.Text
}

// ReadValue reads the value that follows the kind and the key.
func ReadValue(r *rdb.Reader) (*Value, error) {
	v := new(Value)
	h := &v.header
	version, err := Bloom.encodingOf(r)
	if err != nil {
		return nil, err
	}
	total, n := r.Number(), r.Number()
	h.expansion = 2
	if version >= 2 {
		h.options = r.Number32()
	}
	if version >= 4 {
		h.expansion = r.Number32()
	}
	if n == 0 || n > maxLinks {
		r.Fail("%d sub-filters; there are 1 to %d", n, maxLinks)
	}
	for i := uint64(0); i < n && r.Err() == nil; i++ {
		var s shape
		s.capacity = r.Number()
		s.errorRate = r.Double()
		s.hashes = r.Number32()
		s.bitsPerKey = r.Double()
		s.bits = r.Number()
		power := r.Number()
		text := r.ModuleText()
		added := r.Number()
		if power > 63 {
			r.Fail("2^%d bits in use", power)
		}
		s.power, s.bytes = uint8(power), text.Len()
		h.shapes, h.added, v.arrays = append(h.shapes, s), append(h.added, added), append(v.arrays, text)
	}
	r.End()
	if r.Err() != nil {
		return nil, r.Err()
	}
	if err := h.check(total); err != nil {
		return nil, err
	}
	return v, nil
}
