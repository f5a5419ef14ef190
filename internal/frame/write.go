package frame

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"math"
	"slices"
)

// Append appends the frame of h and its parts to dst. The parts must have the
// lengths that h gives them.
func Append(dst []byte, h *Header, parts [][]byte) ([]byte, error) {
	if err := checkParts(h, parts); err != nil {
		return nil, err
	}
	return AppendPieces(dst, h, pieceOf(parts))
}

// AppendPieces is Append for parts that are not in memory as a whole; see [WritePieces].
func AppendPieces(dst []byte, h *Header, piece func(part int, off, n uint64) []byte) ([]byte, error) {
	l, err := h.Layout()
	if err != nil {
		return nil, err
	}
	if l.Total > math.MaxInt-uint64(len(dst)) {
		return nil, fmt.Errorf("%d bytes do not fit in memory; write to a file", l.Total)
	}
	a := appender{slices.Grow(dst, int(l.Total))}
	if _, err := WritePieces(&a, h, piece); err != nil {
		return nil, err
	}
	return a.b, nil
}

// pieceOf returns pieces of parts that are in memory.
func pieceOf(parts [][]byte) func(part int, off, n uint64) []byte {
	return func(part int, off, n uint64) []byte { return parts[part][off : off+n] }
}

type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// Write writes the frame of h and its parts to w and returns the number of bytes
// written. The parts must have the lengths that h gives them; they are not
// copied. It needs four more bytes for each 64 KiB.
func Write(w io.Writer, h *Header, parts [][]byte) (int64, error) {
	if err := checkParts(h, parts); err != nil {
		return 0, err
	}
	return WritePieces(w, h, pieceOf(parts))
}

// WritePieces is Write for parts that are not in memory as a whole, or that change
// while they are written. It calls piece for bytes [off, off+n) of a part, in order
// and at most ChunkSize at a time. What piece returns has to stay until its next
// call. The checksums are those of the bytes that are written.
func WritePieces(w io.Writer, h *Header, piece func(part int, off, n uint64) []byte) (int64, error) {
	head, l, err := encodeHeader(h)
	if err != nil {
		return 0, err
	}
	out := writer{w: w}
	if err := out.write(head); err != nil {
		return out.written, err
	}
	for i := range h.Parts {
		length := h.Parts[i].Length
		for off := uint64(0); off < length; off += ChunkSize {
			if err := out.body(piece(i, off, min(ChunkSize, length-off))); err != nil {
				return out.written, err
			}
		}
		if err := out.pad(length); err != nil {
			return out.written, err
		}
	}
	err = out.table()
	if err == nil && uint64(out.written) != l.Total {
		err = io.ErrShortWrite
	}
	return out.written, err
}

// WriteOpen writes a frame of one part whose length is known only after its last
// piece. It writes zeros where the header belongs, which the caller replaces: with one
// part it has one page, whatever its rules. It returns the length of the part.
func WriteOpen(w io.Writer, pieces iter.Seq2[[]byte, error]) (length uint64, err error) {
	out := writer{w: w}
	if err := out.write(make([]byte, headerLength(1, MaxRules))); err != nil {
		return 0, err
	}
	for piece, err := range pieces {
		if err != nil {
			return 0, err
		}
		length += uint64(len(piece))
		for b := range slices.Chunk(piece, ChunkSize) {
			if err := out.body(b); err != nil {
				return 0, err
			}
		}
	}
	if err := out.pad(length); err != nil {
		return 0, err
	}
	return length, out.table()
}

// writer counts the bytes that it writes to w, and computes the checksums of the body.
type writer struct {
	w       io.Writer
	written int64
	sums    chunkSums
}

func (o *writer) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	n, err := o.w.Write(b)
	o.written += int64(n)
	return err
}

// body writes a piece of a part. Pieces are short enough to be in the cache both for the
// checksum and for the write.
func (o *writer) body(b []byte) error {
	o.sums.add(b)
	return o.write(b)
}

// pad writes the zeros between the end of a part and the next page.
func (o *writer) pad(length uint64) error {
	var zero [PageSize]byte
	return o.body(zero[:roundUp(length)-length])
}

// table writes the checksums.
func (o *writer) table() error { return o.write(appendTable(nil, o.sums.finish())) }

func checkParts(h *Header, parts [][]byte) error {
	if len(parts) != len(h.Parts) {
		return fmt.Errorf("%d arrays for %d parts", len(parts), len(h.Parts))
	}
	for i, p := range parts {
		if uint64(len(p)) != h.Parts[i].Length {
			return fmt.Errorf("part %d has %d bytes, its header says %d", i, len(p), h.Parts[i].Length)
		}
	}
	return nil
}

// appendTable appends the checksum table of a frame with the given chunk
// checksums to dst.
func appendTable(dst []byte, sums []uint32) []byte {
	start := len(dst)
	dst = slices.Grow(dst, crcSize*(len(sums)+1))
	for _, s := range sums {
		dst = binary.LittleEndian.AppendUint32(dst, s)
	}
	dst = dst[:len(dst)+crcSize]
	SealTable(dst[start:])
	return dst
}

// SealTable puts the checksum of a checksum table into its last four bytes.
func SealTable(table []byte) {
	n := len(table) - crcSize
	binary.LittleEndian.PutUint32(table[n:], crc32.ChecksumIEEE(table[:n]))
}

// chunkSums computes the checksum of each ChunkSize bytes that are added.
type chunkSums struct {
	sums []uint32
	crc  uint32
	n    int // bytes in crc
}

func (c *chunkSums) add(b []byte) {
	for len(b) > 0 {
		piece := b[:min(len(b), ChunkSize-c.n)]
		c.crc = crc32.Update(c.crc, crc32.IEEETable, piece)
		c.n += len(piece)
		b = b[len(piece):]
		if c.n == ChunkSize {
			c.flush()
		}
	}
}

func (c *chunkSums) flush() {
	c.sums = append(c.sums, c.crc)
	c.crc, c.n = 0, 0
}

func (c *chunkSums) finish() []uint32 {
	if c.n > 0 {
		c.flush()
	}
	return c.sums
}
