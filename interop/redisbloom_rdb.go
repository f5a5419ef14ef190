package interop

import (
	"encoding/binary"
	"hash/crc64"
	"math"
	"strconv"
)

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
const (
	rdbModuleValue = 7
	rdbEnd         = 0
	rdbSigned      = 1
	rdbNumber      = 2
	rdbFloat       = 3
	rdbDouble      = 4
	rdbString      = 5

	redisModuleName = "MBbloom--"
	redisEncoding   = 4
	// rdbVersion is the one that is written: that of Redis 5, which all later ones
	// read.
	rdbVersion  = 9
	rdbTailSize = 10
)

// rdbTable is of the CRC-64 of Redis, whose start and final value are not inverted as
// they are in package crc64.
var rdbTable = crc64.MakeTable(0x95ac9329ac4bc9b5)

func rdbChecksum(b []byte) uint64 { return ^crc64.Update(^uint64(0), rdbTable, b) }

// rdbModuleID returns the id of a module type with the given name.
func rdbModuleID(name string, version uint64) uint64 {
	id := uint64(0)
	for _, c := range []byte(name) {
		switch {
		case c >= 'A' && c <= 'Z':
			c -= 'A'
		case c >= 'a' && c <= 'z':
			c -= 'a' - 26
		case c >= '0' && c <= '9':
			c += 52 - '0'
		case c == '-':
			c = 62
		default:
			c = 63
		}
		id = id<<6 | uint64(c)
	}
	return id<<10 | version
}

// AppendDump appends the filter as a payload for RESTORE, as DUMP gives it.
func (f *RedisBloom) AppendDump(dst []byte) ([]byte, error) { return f.appendDump(dst, rdbVersion) }

func (f *RedisBloom) appendDump(dst []byte, version uint16) ([]byte, error) {
	start := len(dst)
	links := f.chain()
	shapes, added := describe(links)
	total := uint64(0)
	for _, n := range added {
		total += n
	}
	dst = append(dst, rdbModuleValue)
	dst = appendRDBLength(dst, rdbModuleID(redisModuleName, redisEncoding))
	number := func(n uint64) { dst = appendRDBLength(append(dst, rdbNumber), n) }
	double := func(x float64) {
		dst = binary.LittleEndian.AppendUint64(append(dst, rdbDouble), math.Float64bits(x))
	}
	number(total)
	number(uint64(len(shapes)))
	number(uint64(f.options))
	number(uint64(f.expansion))
	for i, s := range shapes {
		number(s.capacity)
		double(s.errorRate)
		number(uint64(s.hashes))
		double(s.bitsPerKey)
		number(s.bits)
		number(uint64(s.power))
		dst = appendRDBLength(append(dst, rdbString), s.bytes)
		dst = links[i].appendBytes(dst, 0, s.bytes)
		number(added[i])
	}
	dst = append(dst, rdbEnd)
	dst = binary.LittleEndian.AppendUint16(dst, version)
	return binary.LittleEndian.AppendUint64(dst, rdbChecksum(dst[start:])), nil
}

func appendRDBLength(dst []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(dst, byte(n))
	case n < 1<<14:
		return binary.BigEndian.AppendUint16(dst, 1<<14|uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, 0x80), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0x81), n)
}

// RestoreRedisBloom returns the filter of a payload that DUMP gave.
func RestoreRedisBloom(payload []byte, reserve func(bytes uint64) error) (*RedisBloom, error) {
	value, err := openPayload(payload)
	if err != nil {
		return nil, err
	}
	f, rest, err := readRDBValue(value, reserve)
	if err == nil && len(rest) != 0 {
		f.Release()
		return nil, badRedis("%d bytes follow the value", len(rest))
	}
	return f, err
}

// openPayload checks the checksum of a payload and returns the value in it.
func openPayload(payload []byte) ([]byte, error) {
	end := len(payload) - rdbTailSize
	if end < 0 {
		return nil, badRedis("a payload of %d bytes, which has at least %d", len(payload), rdbTailSize)
	}
	if sum := binary.LittleEndian.Uint64(payload[end+2:]); sum != rdbChecksum(payload[:end+2]) {
		return nil, badRedis("the payload does not match its checksum")
	}
	return payload[:end], nil
}

// readRDBValue returns the filter whose value b begins with, and what follows it.
func readRDBValue(b []byte, reserve func(bytes uint64) error) (*RedisBloom, []byte, error) {
	if len(b) == 0 || b[0] != rdbModuleValue {
		return nil, nil, badRedis("not the value of a module")
	}
	h, arrays, rest, err := parseRDBValue(b[1:])
	if err != nil {
		return nil, nil, err
	}
	f, err := h.filter(reserve)
	if err != nil {
		return nil, nil, err
	}
	for i, l := range f.chain() {
		array, err := arrays[i].bytes()
		if err != nil {
			f.Release()
			return nil, nil, err
		}
		l.setBytes(0, array)
	}
	return f, rest, nil
}

// parseRDBValue returns the header and the arrays of the value that b begins with, but
// for its type, and what follows it.
func parseRDBValue(b []byte) (h redisHeader, arrays []rdbText, rest []byte, err error) {
	fail := func(err error) (redisHeader, []rdbText, []byte, error) { return redisHeader{}, nil, nil, err }
	r := rdbReader{rest: b}
	id := r.length()
	version := id & (1<<10 - 1)
	switch {
	case r.err != nil:
		return fail(r.err)
	case id != rdbModuleID(redisModuleName, version):
		return fail(badRedis("the value of another module, id %016x", id))
	case version < 1 || version > redisEncoding:
		return fail(badRedis("encoding %d, of which 1 to %d are known", version, redisEncoding))
	}
	total, n := r.number(), r.number()
	h.expansion = 2
	if version >= 2 {
		h.options = r.number32()
	}
	if version >= 4 {
		h.expansion = r.number32()
	}
	if n == 0 || n > redisMaxLinks {
		r.fail("%d sub-filters instead of 1 to %d", n, redisMaxLinks)
	}
	for i := uint64(0); i < n && r.err == nil; i++ {
		var s redisShape
		s.capacity = r.number()
		s.errorRate = r.double()
		s.hashes = r.number32()
		s.bitsPerKey = r.double()
		s.bits = r.number()
		power := r.number()
		text := r.text()
		added := r.number()
		if power > 63 {
			r.fail("2^%d bits in use", power)
		}
		s.power, s.bytes = uint8(power), text.size
		h.shapes, h.added, arrays = append(h.shapes, s), append(h.added, added), append(arrays, text)
	}
	r.opcode(rdbEnd)
	if r.err != nil {
		return fail(r.err)
	}
	if err := h.check(total); err != nil {
		return fail(err)
	}
	return h, arrays, r.rest, nil
}

// rdbReader reads the parts of a value. After the first failure it reads zeros.
type rdbReader struct {
	rest []byte
	err  error
}

func (r *rdbReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = badRedis(format, args...)
	}
}

// take returns the next n bytes, zeros if they are not there and n is small.
func (r *rdbReader) take(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.rest)) {
		r.fail("the value ends early")
	}
	if r.err != nil {
		return make([]byte, min(n, 8))
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *rdbReader) opcode(want byte) {
	if got := r.take(1)[0]; got != want {
		r.fail("a part of kind %d where one of kind %d belongs", got, want)
	}
}

// rawLength reads an RDB length, or the number of a special form of string.
func (r *rdbReader) rawLength() (n uint64, special bool) {
	first := r.take(1)[0]
	switch {
	case first>>6 == 0:
		return uint64(first), false
	case first>>6 == 1:
		return uint64(first&0x3f)<<8 | uint64(r.take(1)[0]), false
	case first == 0x80:
		return uint64(binary.BigEndian.Uint32(r.take(4))), false
	case first == 0x81:
		return binary.BigEndian.Uint64(r.take(8)), false
	case first>>6 == 3:
		return uint64(first & 0x3f), true
	}
	r.fail("a length that begins with %#02x", first)
	return 0, false
}

func (r *rdbReader) length() uint64 {
	n, special := r.rawLength()
	if special {
		r.fail("a special form %d of a string where a length belongs", n)
	}
	return n
}

func (r *rdbReader) number() uint64 {
	r.opcode(rdbNumber)
	return r.length()
}

func (r *rdbReader) number32() uint32 {
	n := r.number()
	if n > math.MaxUint32 {
		r.fail("%d where a number of 32 bits belongs", n)
	}
	return uint32(n)
}

func (r *rdbReader) double() float64 {
	r.opcode(rdbDouble)
	return math.Float64frombits(binary.LittleEndian.Uint64(r.take(8)))
}

// rdbText is a string: as it is, or compressed.
type rdbText struct {
	raw        []byte
	size       uint64
	compressed bool
}

// lzfMost is the most that three bytes of compressed text, the longest unit with the
// longest output, become.
const lzfMost = 264

func (r *rdbReader) text() rdbText {
	r.opcode(rdbString)
	return r.plainText()
}

// plainText reads a string as it stands outside the values of modules.
func (r *rdbReader) plainText() rdbText {
	n, special := r.rawLength()
	switch {
	case !special:
		return rdbText{raw: r.take(n), size: n}
	case n <= 2: // a number of 8, 16 or 32 bits that stands for its digits
		var number int64
		switch b := r.take(1 << n); n {
		case 0:
			number = int64(int8(b[0]))
		case 1:
			number = int64(int16(binary.LittleEndian.Uint16(b)))
		case 2:
			number = int64(int32(binary.LittleEndian.Uint32(b)))
		}
		digits := strconv.AppendInt(nil, number, 10)
		return rdbText{raw: digits, size: uint64(len(digits))}
	case n == 3:
		packed, plain := r.length(), r.length()
		t := rdbText{raw: r.take(packed), size: plain, compressed: true}
		if plain/lzfMost > uint64(len(t.raw)) || plain > math.MaxInt/2 {
			r.fail("%d compressed bytes that should become %d", packed, plain)
		}
		if r.err != nil {
			return rdbText{} // whose length is not to be believed
		}
		return t
	}
	r.fail("an unknown form %d of a string", n)
	return rdbText{}
}

// bytes returns the string.
func (t rdbText) bytes() ([]byte, error) {
	if !t.compressed {
		return t.raw, nil
	}
	out := make([]byte, 0, t.size)
	for in := t.raw; len(in) > 0; {
		control := int(in[0])
		in = in[1:]
		if control < 32 { // literal bytes
			n := control + 1
			if n > len(in) {
				return nil, badRedis("compressed bytes end early")
			}
			out = append(out, in[:n]...)
			in = in[n:]
			continue
		}
		n := control>>5 + 2
		if n == 7+2 && len(in) > 0 {
			n += int(in[0])
			in = in[1:]
		}
		if len(in) == 0 {
			return nil, badRedis("compressed bytes end early")
		}
		from := len(out) - (control&31<<8 | int(in[0])) - 1
		in = in[1:]
		if from < 0 {
			return nil, badRedis("compressed bytes refer to what is before them")
		}
		for ; n > 0; n-- { // one by one, since the two may overlap
			out = append(out, out[from])
			from++
		}
		if uint64(len(out)) > t.size {
			break
		}
	}
	if uint64(len(out)) != t.size {
		return nil, badRedis("compressed bytes become %d or more instead of %d", len(out), t.size)
	}
	return out, nil
}
