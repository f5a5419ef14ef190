package frame

import (
	"fmt"
	"math/bits"
)

// Layout says where everything is in a frame.
type Layout struct {
	Header  uint64   // length of the header, where the body begins
	Offsets []uint64 // of each part
	BodyEnd uint64   // end of the body, where the checksum table begins
	Chunks  uint64   // number of checksums
	Total   uint64   // length of the whole frame
}

// Layout computes where everything is. It returns an error if there are too many
// parts or if the frame would be too long for a file.
func (h *Header) Layout() (Layout, error) {
	if len(h.Parts) > MaxParts {
		return Layout{}, fmt.Errorf("%d parts are more than the %d a frame can hold", len(h.Parts), MaxParts)
	}
	l := Layout{Header: headerLength(len(h.Parts), h.rulesLength()), Offsets: make([]uint64, len(h.Parts))}
	end := l.Header
	for i := range h.Parts {
		l.Offsets[i] = end
		n := h.Parts[i].Length
		if n > maxTotal-end-PageSize {
			return Layout{}, fmt.Errorf("part %d of %d bytes makes the frame larger than 2^62 bytes", i, n)
		}
		end = roundUp(end + n)
	}
	l.BodyEnd = end
	l.Chunks = (end - l.Header + ChunkSize - 1) / ChunkSize
	l.Total = end + l.Chunks*crcSize + crcSize
	if l.Total > maxTotal {
		return Layout{}, fmt.Errorf("%d bytes make the frame larger than 2^62 bytes", l.Total)
	}
	return l, nil
}

// Chunk returns the bytes of the frame [start, end) that checksum i covers.
func (l *Layout) Chunk(i uint64) (start, end uint64) {
	start = l.Header + i*ChunkSize
	return start, min(start+ChunkSize, l.BodyEnd)
}

// headerLength returns the length of a header with a number of parts and bytes of rules.
func headerLength(parts, rules int) uint64 {
	return roundUp(uint64(partsOffset + parts*partSize + rules + crcSize))
}

func roundUp(n uint64) uint64 { return (n + PageSize - 1) &^ (PageSize - 1) }

// WordBytes returns the length in bytes of n cells of width bits, packed into
// whole 64-bit words, and whether it fits in a uint64.
func WordBytes(n uint64, width uint8) (uint64, bool) {
	hi, lo := bits.Mul64(n, uint64(width))
	if hi != 0 {
		return 0, false
	}
	words := lo / 64
	if lo%64 != 0 {
		words++
	}
	return words * 8, true
}
