package input

import (
	"bufio"
	"bytes"
	"encoding/binary"
)

// Format is how the bytes of a file are stored.
type Format uint8

// The formats, in the order in which their magic numbers are compared.
const (
	Plain Format = iota
	Gzip         // RFC 1952, any number of members
	Zstd         // RFC 8878, any number of frames, skippable ones among them
	XZ           // The .xz File Format 1.1, any number of streams
	Bzip2        // any number of concatenated files
	LZ4          // LZ4 Frame Format 1.6 and the legacy format of lz4 -l
)

// String returns the name of the usual tool for the format.
func (f Format) String() string {
	return [...]string{"plain", "gzip", "zstd", "xz", "bzip2", "lz4"}[f]
}

// magics holds what a file of each format starts with. bzip2 is text up to its
// fourth byte ("BZh9" could well begin a line), so the block magic behind it is
// part of the comparison; sniff lets the level digit be any of 1 to 9.
var magics = []struct {
	format Format
	bytes  string
}{
	{Gzip, "\x1f\x8b\x08"},
	{Zstd, "\x28\xb5\x2f\xfd"},
	{XZ, "\xfd7zXZ\x00"},
	{Bzip2, "BZh1\x31\x41\x59\x26\x53\x59"}, // the first block
	{Bzip2, "BZh1\x17\x72\x45\x38\x50\x90"}, // no block: an empty file
	{LZ4, "\x04\x22\x4d\x18"},
	{LZ4, "\x02\x21\x4c\x18"},
}

// Skippable frames, which zstd and lz4 share, have the magics 0x184D2A50 to
// 0x184D2A5F, then a length; pzstd starts its files with one.
const skippableHeader = 8

func skippable(p []byte) bool {
	return len(p) >= 4 && p[0]&0xf0 == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18
}

// Compressed reports whether a file that begins with start is taken for compressed.
func Compressed(start []byte) bool {
	f, _ := match(start)
	return f != Plain
}

// match compares the start of a file with the magics. more reports that p is
// too short to tell: it is a proper prefix of a magic.
func match(p []byte) (f Format, more bool) {
	for _, m := range magics {
		n := min(len(p), len(m.bytes))
		equal := true
		for i := 0; i < n && equal; i++ {
			if m.format == Bzip2 && i == 3 {
				equal = '1' <= p[3] && p[3] <= '9'
			} else {
				equal = p[i] == m.bytes[i]
			}
		}
		if equal && n == len(m.bytes) {
			return m.format, false
		}
		more = more || equal
	}
	return Plain, more
}

// sniff recognises the format of what r is about to deliver and consumes
// nothing. It waits for no more bytes than it takes to decide, so that the
// first line of a slow pipe is not held back.
func sniff(r *bufio.Reader) Format {
	n := 1
	skip := 0 // bytes of leading skippable frames
	for {
		p, err := r.Peek(n)
		if err != nil && len(p) < n {
			// The file, or the room to look ahead in, ended before a magic did.
			if skip > 0 {
				return Zstd
			}
			return Plain
		}
		p = p[skip:]
		f, more := match(p)
		switch {
		case f != Plain:
			return f
		case skippable(p):
			if len(p) < skippableHeader {
				n = skip + skippableHeader
				continue
			}
			size := binary.LittleEndian.Uint32(p[4:])
			if int64(size) > int64(r.Size()) {
				return Zstd
			}
			skip += skippableHeader + int(size)
			n = skip + 1
		case more, len(p) < 4 && bytes.HasPrefix([]byte("\x2a\x4d\x18"), p[1:]) && p[0]&0xf0 == 0x50:
			n++
		case skip > 0:
			return Zstd
		default:
			return Plain
		}
	}
}
