package rdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
)

// An RDB file is "REDIS", four digits, and records until one that ends it. A record is
// a byte and what belongs to it: of the operation, or of the value whose key follows
// the byte.
const (
	opSlots     = 0xf4
	opFunction  = 0xf5
	opModuleAux = 0xf7
	opIdle      = 0xf8
	opFrequency = 0xf9
	opAux       = 0xfa
	opSizes     = 0xfb
	opExpiryMS  = 0xfc
	opExpiry    = 0xfd
	opDatabase  = 0xfe
	opFinish    = 0xff

	headSize = 9
)

// IsFile reports whether b begins as an RDB file.
func IsFile(b []byte) bool {
	if len(b) < headSize || !bytes.HasPrefix(b, []byte("REDIS")) {
		return false
	}
	_, err := strconv.ParseUint(string(b[5:headSize]), 10, 16)
	return err == nil
}

// sumSize returns the length of the checksum at the end of an RDB file, which came with
// version 5.
func sumSize(b []byte) int {
	if FileVersion(b) < "0005" {
		return 0
	}
	return 8
}

// Walk calls value for each value of the file, which is to read its key and the value.
func Walk(b []byte, value func(r *Reader, kind byte, db uint64) error) error {
	if !IsFile(b) {
		return Bad("not an RDB file, which begins with REDIS and four digits")
	}
	r := Reader{rest: b[headSize:]}
	db := uint64(0)
	for r.err == nil {
		op := r.Take(1)[0]
		if r.err != nil {
			break
		}
		switch op {
		case opFinish:
			// In a log of commands, what follows changes what is before it.
			if n, want := len(r.rest), sumSize(b); n != want {
				return Bad("%d bytes follow the end instead of %d; if this is a log of commands that begins as an RDB file, save an RDB file with BGSAVE", n, want)
			}
			return nil
		case opDatabase:
			db = r.Length()
		case opSizes:
			r.Length()
			r.Length()
		case opSlots:
			r.Length()
			r.Length()
			r.Length()
		case opAux:
			r.Text()
			r.Text()
		case opExpiryMS:
			r.expires = int64(binary.LittleEndian.Uint64(r.Take(8)))
		case opExpiry:
			r.expires = 1000 * int64(int32(binary.LittleEndian.Uint32(r.Take(4))))
		case opIdle:
			r.Length()
		case opFrequency:
			r.Take(1)
		case opFunction:
			r.Text()
		case opModuleAux:
			r.Length()
			r.Number() // when it was saved
			r.skipModule()
		default:
			if err := value(&r, op, db); err != nil {
				r.err = err // it may say more than r.err, such as the key
			}
			r.expires = 0
		}
	}
	return fmt.Errorf("%w (at byte %d)", r.err, len(b)-len(r.rest))
}

// Verify checks the checksum of a file that [Walk] has walked. A server may have been
// told to write none, which is 0.
func Verify(b []byte) error {
	end := len(b) - sumSize(b)
	if end == len(b) {
		return nil
	}
	if sum := binary.LittleEndian.Uint64(b[end:]); sum != 0 && sum != Checksum(b[:end]) {
		return Bad("the RDB file does not match its checksum")
	}
	return nil
}

// FileVersion returns the four digits of a file that [IsFile] accepts.
func FileVersion(b []byte) string { return string(b[5:headSize]) }
