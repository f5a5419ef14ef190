package store

import (
	"encoding/binary"
	"fmt"
)

// kind is the kind of a value. Its numbers are part of the format of the data
// directory.
type kind uint8

const (
	kindBloom      kind = 1 // also windows
	kindRedisBloom kind = 2
	kindCuckoo     kind = 3
	kindCountMin   kind = 4
	kindTopK       kind = 5
	kindForeign    kind = 6
	// Count-min sketches and top-k with the counters of RedisBloom.
	kindRedisCountMin kind = 7
	kindRedisTopK     kind = 8
)

// typeNames are the types of the kinds, as the protocol names them.
var typeNames = [...]string{
	kindBloom: "MBbloom--", kindRedisBloom: "MBbloom--", kindForeign: "MBbloom--",
	kindCuckoo: "MBbloomCF", kindCountMin: "CMSk-TYPE", kindTopK: "TopK-TYPE",
	kindRedisCountMin: "CMSk-TYPE", kindRedisTopK: "TopK-TYPE",
}

// check returns an error about a kind that does not exist.
func (k kind) check() error {
	if k < kindBloom || k > kindRedisTopK {
		return fmt.Errorf("a value of kind %d, which this program does not know; use a newer one", k)
	}
	return nil
}

// opcode says what an operation of the log does. Its numbers are part of the
// format of the data directory.
type opcode uint8

const (
	opCreate  opcode = 1  // an image: a new value, also one that replaces all of an old one
	opDelete  opcode = 2  // nothing
	opFlush   opcode = 3  // nothing; of value 0: all that there are
	opRename  opcode = 4  // the new name
	opExpire  opcode = 5  // the deadline in Unix milliseconds, 0 for none
	opAdd     opcode = 6  // a layer and the hashes that it gets
	opGrow    opcode = 7  // the description of a new layer
	opClear   opcode = 8  // nothing
	opLoad    opcode = 9  // an offset in the body of a dump and the bytes that belong there
	opReplace opcode = 10 // an image: all of the contents anew
	// opChange is a change whose form belongs to the kind of the value.
	opChange opcode = 11
)

// opHeader is the length of what comes before the value number and the contents of an
// operation: four bytes of length, which do not count themselves, and the opcode.
const opHeader = 5

// operation is one entry of the log, taken apart.
type operation struct {
	code opcode
	id   uint64
	body []byte
}

// beginOp starts an operation in b, for endOp to complete.
func beginOp(b []byte, code opcode, id uint64) []byte {
	b = append(b, 0, 0, 0, 0, byte(code))
	return binary.AppendUvarint(b, id)
}

// endOp completes the operation that begins at start in b.
func endOp(b []byte, start int) []byte {
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// nextOp takes the first operation off b.
func nextOp(b []byte) (op operation, rest []byte, err error) {
	if len(b) < opHeader {
		return op, nil, fmt.Errorf("%d bytes are left where an operation should begin", len(b))
	}
	n := binary.LittleEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-4) {
		return op, nil, fmt.Errorf("an operation of %d bytes where %d are left", n, len(b)-4)
	}
	r := reader{b: b[4 : 4+n]}
	op.code = opcode(r.byte())
	op.id = r.uvarint()
	op.body = r.b
	return op, b[4+n:], r.err
}

// reader takes fields off the front of bytes. The first that is not there makes
// all that follow zero, and is kept in err.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s is cut off", what)
	}
	r.b = nil
}

// take returns the next n bytes, which are part of what is read; nil if there are fewer.
func (r *reader) take(n uint64, what string) []byte {
	if n > uint64(len(r.b)) {
		r.fail(what)
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.take(1, "a byte"); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4, "a number of 4 bytes"); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8, "a number of 8 bytes"); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	return number(r, v, n)
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	return number(r, v, n)
}

// number returns v, which was read from n bytes; 0 if n says that it could not be read.
func number[T uint64 | int64](r *reader, v T, n int) T {
	if n <= 0 {
		r.fail("a number")
		return 0
	}
	r.b = r.b[n:]
	return v
}

// bytes takes a length and as many bytes, which are part of what is read.
func (r *reader) bytes() []byte { return r.take(r.uvarint(), "a run of bytes") }

// end reports what is wrong after the last field: one that was cut off, or bytes
// that are left.
func (r *reader) end() error {
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("%d bytes follow the end", len(r.b))
	}
	return r.err
}

func appendBytes(b, what []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(what))), what...)
}
