package stream

import "bytes"

// appendEnds appends to ends the position behind each delimiter in data. This
// is the one loop that sees every byte of the input.
func appendEnds(ends []uint32, data []byte, delimiter byte) []uint32 {
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], delimiter)
		if i < 0 {
			return ends
		}
		at += i + 1
		ends = append(ends, uint32(at))
	}
}

// appendEndsRef is appendEnds as it is defined, for tests of faster ones.
func appendEndsRef(ends []uint32, data []byte, delimiter byte) []uint32 {
	for i, c := range data {
		if c == delimiter {
			ends = append(ends, uint32(i+1))
		}
	}
	return ends
}
