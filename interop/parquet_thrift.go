package interop

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// thriftReader reads the compact protocol of Thrift, in which Parquet has its metadata:
// structures of numbered fields. A reader skips fields that it does not know. After an
// error, which stays, all reads return nothing. A value has at most as many elements as
// bytes, so a false length does not take much memory.
type thriftReader struct {
	b     []byte // what is left
	depth int
	err   error
}

// Types of values. In a structure the two boolean types are values themselves.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
	thriftUUID   = 13
)

// thriftMaxDepth is how deep values may be nested; Parquet's are nested five deep.
const thriftMaxDepth = 32

func (r *thriftReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *thriftReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail(fmt.Errorf("the metadata say %d more bytes; there are %d", n, len(r.b)))
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *thriftReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *thriftReader) uvarint() uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail(errors.New("a number in the metadata is cut short or has more than 64 bits"))
		return 0
	}
	r.b = r.b[n:]
	return x
}

// number reads a number with a sign.
func (r *thriftReader) number() int64 {
	x := r.uvarint()
	return int64(x>>1) ^ -int64(x&1)
}

func (r *thriftReader) binary() []byte { return r.take(r.uvarint()) }

// enter counts how deep the reader is in values.
func (r *thriftReader) enter() bool {
	if r.depth++; r.depth > thriftMaxDepth {
		r.fail(fmt.Errorf("metadata are nested more than %d deep", thriftMaxDepth))
	}
	return r.err == nil
}

// fields reads a structure. For each field it calls read, which reads the value, or
// returns false to have it skipped.
func (r *thriftReader) fields(read func(id int64, typ byte) bool) {
	id := int64(0)
	for r.enter(); r.err == nil; {
		head := r.byte()
		if head == 0 {
			break
		}
		if delta := int64(head >> 4); delta != 0 {
			id += delta
		} else {
			id = r.number()
		}
		if typ := head & 15; r.err == nil && !read(id, typ) {
			r.skip(typ)
		}
	}
	r.depth--
}

// list reads a list or set, and calls read for each element.
func (r *thriftReader) list(read func(typ byte)) {
	head := r.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = r.uvarint()
	}
	if n > uint64(len(r.b)) {
		r.fail(fmt.Errorf("the metadata say %d elements; there are %d bytes", n, len(r.b)))
	}
	for r.enter(); n > 0 && r.err == nil; n-- {
		read(head & 15)
	}
	r.depth--
}

// skip skips the value of a field, where a boolean takes no bytes.
func (r *thriftReader) skip(typ byte) {
	if typ != thriftTrue && typ != thriftFalse {
		r.skipElement(typ)
	}
}

func (r *thriftReader) skipElement(typ byte) {
	switch typ {
	case thriftTrue, thriftFalse, thriftByte:
		r.byte()
	case thriftI16, thriftI32, thriftI64:
		r.uvarint()
	case thriftDouble:
		r.take(8)
	case thriftUUID:
		r.take(16)
	case thriftBinary:
		r.binary()
	case thriftList, thriftSet:
		r.list(r.skipElement)
	case thriftMap:
		r.skipMap()
	case thriftStruct:
		r.fields(func(int64, byte) bool { return false })
	default:
		r.fail(fmt.Errorf("metadata of the unknown type %d", typ))
	}
}

func (r *thriftReader) skipMap() {
	n := r.uvarint()
	if n == 0 {
		return
	}
	types := r.byte()
	if n > uint64(len(r.b)) {
		r.fail(fmt.Errorf("the metadata say %d pairs; there are %d bytes", n, len(r.b)))
	}
	for r.enter(); n > 0 && r.err == nil; n-- {
		r.skipElement(types >> 4)
		r.skipElement(types & 15)
	}
	r.depth--
}
