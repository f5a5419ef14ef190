// Package split finds the ends of records, and of fields within them, that one byte
// delimits. It is the one loop of a stream that sees every byte, made for internal/stream,
// which handles quotes and longer delimiters.
//
// A plain Go version is always compiled; faster ones are chosen in
// split_amd64.go and tested equal to it. Functions may be called concurrently.
package split

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// chunk is how many bytes the fast versions look at together.
const chunk = 64

// AppendEnds appends to ends the position behind each delimiter in data, which is
// shorter than 4 GiB, and returns the longer slice. It may overwrite the elements of ends
// beyond its length.
func AppendEnds(ends []uint32, data []byte, delimiter byte) []uint32 {
	at := 0
	for len(data)-at >= chunk {
		if cap(ends)-len(ends) < chunk {
			// One record per cache line; if that is not enough, Grow takes more
			// the next time.
			ends = slices.Grow(ends, chunk+(len(data)-at)/chunk)
		}
		var count int
		count, at = find(ends[len(ends):cap(ends)], data, at, delimiter)
		ends = ends[:len(ends)+count]
	}
	for ; at < len(data); at++ {
		if data[at] == delimiter {
			ends = append(ends, uint32(at+1))
		}
	}
	return ends
}

// Nth returns the index of the delimiter in data with the given number, counted
// from 1, or len(data) when there are fewer.
func Nth(data []byte, delimiter byte, number int) int { return nth(data, delimiter, number) }

// nthRef is Nth. Fields are short, so that looking at eight bytes at a time and
// counting is faster than a search for each delimiter.
func nthRef(data []byte, delimiter byte, number int) int {
	const (
		ones = 0x0101010101010101
		low  = 0x7f7f7f7f7f7f7f7f
	)
	i := 0
	for ; i+8 <= len(data); i += 8 {
		x := binary.LittleEndian.Uint64(data[i:]) ^ ones*uint64(delimiter)
		// The high bit of each byte of m is set where data has a delimiter.
		m := ^(x&low + low | x | low)
		if k := bits.OnesCount64(m); k < number {
			number -= k
			continue
		}
		for ; number > 1; number-- {
			m &= m - 1
		}
		return i + bits.TrailingZeros64(m)/8
	}
	for ; i < len(data); i++ {
		if data[i] == delimiter {
			if number--; number == 0 {
				return i
			}
		}
	}
	return len(data)
}

// findRef stores in ends the position behind each delimiter in data from byte from
// on. It goes from chunk to chunk, as long as data holds a whole one and ends has
// room for all positions it can have, and returns how many it stored and up to
// where it looked.
func findRef(ends []uint32, data []byte, from int, delimiter byte) (count, scanned int) {
	for ; len(data)-from >= chunk && len(ends)-count >= chunk; from += chunk {
		for i, c := range data[from : from+chunk] {
			if c == delimiter {
				ends[count] = uint32(from + i + 1)
				count++
			}
		}
	}
	return count, from
}
