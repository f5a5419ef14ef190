// Package rdb reads and writes the encoding of Redis in RDB files and in payloads of DUMP:
// lengths, strings, the parts of a module's value, records and checksums. It is for
// packages redisbloom and interop, which know what the values mean.
//
// Everything that it reads may be damaged or hostile: it returns a value or an error, and
// takes memory only for strings that are compressed. It does no I/O but on writers that it
// is given. A [Reader] is for one goroutine.
package rdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// ErrBadData is wrapped by the error for bytes that are not what they should be.
var ErrBadData = errors.New("bad data")

// Bad returns an error that wraps [ErrBadData].
func Bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBadData, fmt.Sprintf(format, args...))
}

// Kinds of parts in the value of a module.
const (
	moduleEnd    = 0
	moduleSigned = 1
	moduleNumber = 2
	moduleFloat  = 3
	moduleDouble = 4
	moduleText   = 5
)

// Reader reads the parts of a value. After the first failure it reads zeros.
type Reader struct {
	rest    []byte
	err     error
	expires int64
}

// Expires returns when the value of a file that [Walk] is at expires, in Unix milliseconds,
// and 0 if it does not.
func (r *Reader) Expires() int64 { return r.expires }

// Fail makes the reader fail with an error that wraps [ErrBadData].
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = Bad(format, args...)
	}
}

// NewReader returns a reader of b.
func NewReader(b []byte) *Reader { return &Reader{rest: b} }

// Rest returns what was not read.
func (r *Reader) Rest() []byte { return r.rest }

// Err returns the first failure.
func (r *Reader) Err() error { return r.err }

// Take returns the next n bytes, zeros if they are not there and n is small.
func (r *Reader) Take(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.rest)) {
		r.Fail("the value ends early")
	}
	if r.err != nil {
		return make([]byte, min(n, 8))
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *Reader) opcode(want byte) {
	if got := r.Take(1)[0]; got != want {
		r.Fail("a part of kind %d instead of kind %d", got, want)
	}
}

// rawLength reads an RDB length, or the number of a special form of string.
func (r *Reader) rawLength() (n uint64, special bool) {
	first := r.Take(1)[0]
	switch {
	case first>>6 == 0:
		return uint64(first), false
	case first>>6 == 1:
		return uint64(first&0x3f)<<8 | uint64(r.Take(1)[0]), false
	case first == 0x80:
		return uint64(binary.BigEndian.Uint32(r.Take(4))), false
	case first == 0x81:
		return binary.BigEndian.Uint64(r.Take(8)), false
	case first>>6 == 3:
		return uint64(first & 0x3f), true
	}
	r.Fail("a length begins with %#02x", first)
	return 0, false
}

// Length reads a length.
func (r *Reader) Length() uint64 {
	n, special := r.rawLength()
	if special {
		r.Fail("a special form %d of a string instead of a length", n)
	}
	return n
}

// Number reads a number in the value of a module.
func (r *Reader) Number() uint64 {
	r.opcode(moduleNumber)
	return r.Length()
}

// Number32 is Number for one that has 32 bits.
func (r *Reader) Number32() uint32 {
	n := r.Number()
	if n > math.MaxUint32 {
		r.Fail("%d instead of a number of 32 bits", n)
	}
	return uint32(n)
}

// Double reads a floating-point number in the value of a module.
func (r *Reader) Double() float64 {
	r.opcode(moduleDouble)
	return math.Float64frombits(binary.LittleEndian.Uint64(r.Take(8)))
}

// Text is a string: as it is, or compressed.
type Text struct {
	raw        []byte
	size       uint64
	compressed bool
}

// lzfMost is the most that three bytes of compressed text, the longest unit with the
// longest output, become.
const lzfMost = 264

// End reads the end of the value of a module.
func (r *Reader) End() { r.opcode(moduleEnd) }

// ModuleText reads a string in the value of a module.
func (r *Reader) ModuleText() Text {
	r.opcode(moduleText)
	return r.Text()
}

// Text reads a string outside the values of modules.
func (r *Reader) Text() Text {
	n, special := r.rawLength()
	switch {
	case !special:
		return Text{raw: r.Take(n), size: n}
	case n <= 2: // a number of 8, 16 or 32 bits that stands for its digits
		var number int64
		switch b := r.Take(1 << n); n {
		case 0:
			number = int64(int8(b[0]))
		case 1:
			number = int64(int16(binary.LittleEndian.Uint16(b)))
		case 2:
			number = int64(int32(binary.LittleEndian.Uint32(b)))
		}
		digits := strconv.AppendInt(nil, number, 10)
		return Text{raw: digits, size: uint64(len(digits))}
	case n == 3:
		packed, plain := r.Length(), r.Length()
		t := Text{raw: r.Take(packed), size: plain, compressed: true}
		if plain/lzfMost > uint64(len(t.raw)) || plain > math.MaxInt/2 {
			r.Fail("%d compressed bytes cannot become %d", packed, plain)
		}
		if r.err != nil {
			return Text{} // whose length is not to be believed
		}
		return t
	}
	r.Fail("an unknown form %d of a string", n)
	return Text{}
}

// Len returns the length of the string.
func (t Text) Len() uint64 { return t.size }

// Bytes returns the string. It refers to the bytes that were read, unless they are
// compressed.
func (t Text) Bytes() ([]byte, error) {
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
				return nil, Bad("compressed bytes end early")
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
			return nil, Bad("compressed bytes end early")
		}
		from := len(out) - (control&31<<8 | int(in[0])) - 1
		in = in[1:]
		if from < 0 {
			return nil, Bad("compressed bytes refer to bytes before the first")
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
		return nil, Bad("compressed bytes become %d or more instead of %d", len(out), t.size)
	}
	return out, nil
}
