package rdb

import (
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"math"
)

// Version is the version of the format that is written: that of Redis 5, which all later
// ones read.
const Version = 9

// TailSize is the length of what follows the value in a payload: a version in two bytes,
// and a checksum.
const TailSize = 10

// table is that of the CRC-64 of Redis, which does not invert its start and final value
// as package crc64 does.
var table = crc64.MakeTable(0x95ac9329ac4bc9b5)

// Checksum is the one at the end of payloads and files.
func Checksum(b []byte) uint64 { return ^crc64.Update(^uint64(0), table, b) }

// ModuleID returns the id of a module type with the given name.
func ModuleID(name string, version uint64) uint64 {
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

// AppendLength appends a length.
func AppendLength(dst []byte, n uint64) []byte {
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

// newest is the latest version of the format that is read: Redis has versions up to 13,
// Valkey 9 has 80. A later one may have other encodings.
const newest = 80

// ErrPayload is matched by errors about the checksum and the version of a payload, for which
// Redis has another reply than for what is in it. Such an error is an [ErrBadData], too.
var ErrPayload = fmt.Errorf("%w: not a payload of DUMP that can be read", ErrBadData)

// OpenPayload checks the checksum and the version of a payload and returns the value in it.
func OpenPayload(payload []byte) ([]byte, error) {
	end := len(payload) - TailSize
	if end < 0 {
		return nil, fmt.Errorf("%w: %d bytes; it has at least %d", ErrPayload, len(payload), TailSize)
	}
	if sum := binary.LittleEndian.Uint64(payload[end+2:]); sum != Checksum(payload[:end+2]) {
		return nil, fmt.Errorf("%w: it does not match its checksum", ErrPayload)
	}
	if v := binary.LittleEndian.Uint16(payload[end:]); v > newest {
		return nil, fmt.Errorf("%w: RDB version %d; seen reads up to %d", ErrPayload, v, newest)
	}
	return payload[:end], nil
}

// AppendNumber appends a number in the value of a module.
func AppendNumber(dst []byte, n uint64) []byte { return AppendLength(append(dst, moduleNumber), n) }

// AppendDouble appends a floating-point number in the value of a module.
func AppendDouble(dst []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, moduleDouble), math.Float64bits(x))
}

// AppendTextHead appends what is before the n bytes of a string in the value of a module.
func AppendTextHead(dst []byte, n uint64) []byte { return AppendLength(append(dst, moduleText), n) }

// AppendEnd appends the end of the value of a module.
func AppendEnd(dst []byte) []byte { return append(dst, moduleEnd) }
