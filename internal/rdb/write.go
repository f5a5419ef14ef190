package rdb

import (
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"io"
)

// Value is a key of an RDB file that is to be written, and what is under it: the byte
// before the key, and the parts of the value behind it.
type Value struct {
	Kind    byte
	Key     string
	Expires int64 // Unix milliseconds, 0 for never
	Parts   [][]byte
}

// WriteFile writes an RDB file: its version, one database, its values, and a checksum. It
// returns the number of bytes that were written.
func WriteFile(w io.Writer, db uint64, values []Value) (written int64, err error) {
	sum := ^uint64(0)
	write := func(b []byte) {
		if err == nil {
			var n int
			sum = crc64.Update(sum, table, b)
			n, err = w.Write(b)
			written += int64(n)
		}
	}
	write(fmt.Appendf(nil, "REDIS%04d", Version))
	write(AppendLength([]byte{opDatabase}, db))
	for _, v := range values {
		if v.Expires != 0 {
			write(binary.LittleEndian.AppendUint64([]byte{opExpiryMS}, uint64(v.Expires)))
		}
		write(append(AppendLength([]byte{v.Kind}, uint64(len(v.Key))), v.Key...))
		for _, part := range v.Parts {
			write(part)
		}
	}
	write([]byte{opFinish})
	write(binary.LittleEndian.AppendUint64(nil, ^sum))
	return written, err
}
