// Package split finds the ends of records that one byte delimits. It is the one
// loop of a stream that sees every byte, made for internal/stream, and knows
// nothing else of records: of quotes and of longer delimiters its user knows.
//
// A plain Go version is always compiled; faster ones are chosen in
// split_amd64.go and tested equal to it. Functions may be called concurrently.
package split

import "slices"

// chunk is how many bytes the fast versions look at together.
const chunk = 64

// AppendEnds appends to ends the position behind each delimiter in data, which is
// shorter than 4 GiB, and returns the longer slice. What stands in ends beyond its
// length may be overwritten.
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
