package rdb

import (
	"encoding/binary"
	"strconv"
)

// Hash reads a hash of strings, one by one: a value of [KindHash].
func (r *Reader) Hash() (map[string]string, error) {
	all := make(map[string]string)
	for n := r.Length(); n > 0 && r.err == nil; n-- {
		name, value := r.Text(), r.Text()
		if r.err != nil {
			break
		}
		x, err := name.Bytes()
		if err != nil {
			return nil, err
		}
		y, err := value.Bytes()
		if err != nil {
			return nil, err
		}
		all[string(x)] = string(y)
	}
	return all, nil
}

// ParseListPack reads a small hash as Redis has it since version 7, the string of a value
// of [KindHashPack]: names and values in turn. It begins with its length in 32 bits and
// the number of texts in 16 bits, and ends with ff. The first bits of a text say whether
// it is a number or bytes; its length follows it, for readers that go backwards.
func ParseListPack(b []byte) (map[string]string, error) {
	const head = 6
	all := make(map[string]string)
	r := Reader{rest: b}
	r.Take(head)
	name, named := "", false
	for r.err == nil {
		before := len(r.rest)
		text, end := r.packed()
		switch {
		case end:
			return all, r.err
		case named:
			all[name] = text
		default:
			name = text
		}
		named = !named
		// One byte of seven bits, and one more for each seven more.
		for size := before - len(r.rest); size > 0; size >>= 7 {
			r.Take(1)
		}
	}
	return nil, r.err
}

// packed reads a text of a list pack, or its end.
func (r *Reader) packed() (text string, end bool) {
	signed := func(bytes int) string {
		n := uint64(0)
		for i, c := range r.Take(uint64(bytes)) {
			n |= uint64(c) << (8 * i)
		}
		shift := 64 - 8*bytes
		return strconv.FormatInt(int64(n<<shift)>>shift, 10)
	}
	switch c := r.Take(1)[0]; {
	case c < 0x80:
		return strconv.Itoa(int(c)), false
	case c < 0xc0:
		return string(r.Take(uint64(c & 0x3f))), false
	case c < 0xe0: // 13 bits with a sign
		n := int16(c&0x1f)<<8 | int16(r.Take(1)[0])
		return strconv.Itoa(int(n << 3 >> 3)), false
	case c < 0xf0:
		return string(r.Take(uint64(c&0x0f)<<8 | uint64(r.Take(1)[0]))), false
	case c == 0xf0:
		return string(r.Take(uint64(binary.LittleEndian.Uint32(r.Take(4))))), false
	case c <= 0xf3:
		return signed(int(c-0xf1) + 2), false
	case c == 0xf4:
		return signed(8), false
	case c == 0xff:
		return "", true
	default:
		r.Fail("a text of a hash begins with %#02x", c)
	}
	return "", false
}
