package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// Parse decodes a whole frame in memory and verifies all of it: the length, the
// header, every checksum, the padding. The parts share the memory of b.
//
// The errors are ErrNotFrame, ErrTruncated, ErrOversized, ErrVersion, ErrDirty
// (wrapped) and *CorruptError with the offset of the damage.
func Parse(b []byte) (*Header, [][]byte, error) {
	h, err := ParseHeader(b)
	if err != nil {
		return nil, nil, err
	}
	l, err := h.Layout()
	if err != nil {
		return nil, nil, err
	}
	// Before the size: a dirty frame is followed by its writer's journal.
	if err := h.applyState(b); err != nil {
		return nil, nil, err
	}
	if err := l.CheckSize(uint64(len(b))); err != nil {
		return nil, nil, err
	}
	var sums chunkSums
	sums.add(b[l.Header:l.BodyEnd])
	if err := l.CompareTable(b[l.BodyEnd:], sums.finish()); err != nil {
		return nil, nil, err
	}
	parts := make([][]byte, len(h.Parts))
	for i, off := range l.Offsets {
		end := off + h.Parts[i].Length
		parts[i] = b[off:end:end]
		if j := nonZero(b[end:roundUp(end)]); j >= 0 {
			return nil, nil, badPadding(end + uint64(j))
		}
	}
	return h, parts, nil
}

// CheckSize compares the size of a file with the length of the frame.
func (l *Layout) CheckSize(size uint64) error {
	switch {
	case size < l.Total:
		return truncated(size, l.Total)
	case size > l.Total:
		return fmt.Errorf("%w: %d bytes follow the %d of the frame; cut them off or restore the file", ErrOversized, size-l.Total, l.Total)
	}
	return nil
}

// CompareTable verifies the checksum table of a frame and compares it with the
// checksums of the body. Damage is reported at the table, or at the first chunk
// that differs.
func (l *Layout) CompareTable(table []byte, sums []uint32) error {
	if err := l.CheckTable(table); err != nil {
		return err
	}
	for i, got := range sums {
		if binary.LittleEndian.Uint32(table[crcSize*i:]) != got {
			return l.BadChunk(uint64(i))
		}
	}
	return nil
}

// CheckTable verifies the checksum table against its own checksum.
func (l *Layout) CheckTable(table []byte) error {
	n := len(table) - crcSize
	if binary.LittleEndian.Uint32(table[n:]) != crc32.ChecksumIEEE(table[:n]) {
		return corrupt(l.BodyEnd, "the checksum table, bytes %d to %d, does not match its checksum", l.BodyEnd, l.Total-1)
	}
	return nil
}

// BadChunk is the error for a chunk that does not match its checksum.
func (l *Layout) BadChunk(i uint64) *CorruptError {
	start, end := l.Chunk(i)
	return corrupt(start, "bytes %d to %d do not match their checksum", start, end-1)
}

func badPadding(offset uint64) *CorruptError {
	return corrupt(offset, "padding that is not zero")
}

func nonZero(b []byte) int {
	for i, c := range b {
		if c != 0 {
			return i
		}
	}
	return -1
}

// Read reads one frame from r and verifies all of it, as Parse does, with the
// same errors. It reads the frame and nothing after it. It allocates memory as the
// bytes arrive, so that a short stream with a large header costs little. The parts
// are aligned to eight bytes.
func Read(r io.Reader) (*Header, [][]byte, error) { return read(r, 1<<20) }

// ReadAll is Read for a stream that must end with the frame. It returns the length of the
// frame as well.
func ReadAll(r io.Reader) (*Header, [][]byte, int64, error) {
	h, parts, err := Read(r)
	if err != nil {
		return nil, nil, 0, err
	}
	l, err := h.Layout()
	if err != nil {
		return nil, nil, 0, err
	}
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return nil, nil, 0, fmt.Errorf("%w: bytes follow its end at byte %d", ErrOversized, l.Total)
	case err != io.EOF:
		return nil, nil, 0, err
	}
	return h, parts, int64(l.Total), nil
}

// ReadSized is Read for a source known to hold size bytes, such as a file. It
// compares the size with the header first and then allocates each part at once.
func ReadSized(r io.Reader, size int64) (*Header, [][]byte, error) {
	if size < 0 {
		return nil, nil, fmt.Errorf("size %d is negative", size)
	}
	return read(&sizedReader{r, uint64(size)}, math.MaxInt)
}

// sizedReader carries the known size into read.
type sizedReader struct {
	io.Reader
	size uint64
}

func read(r io.Reader, step int) (*Header, [][]byte, error) {
	head, h, l, err := readHeader(r)
	if err != nil {
		return nil, nil, err
	}
	if err := h.applyState(head); err != nil {
		return nil, nil, err
	}
	if s, ok := r.(*sizedReader); ok {
		if err := l.CheckSize(s.size); err != nil {
			return nil, nil, err
		}
	}
	var sums chunkSums
	parts := make([][]byte, len(h.Parts))
	pad := make([]byte, PageSize)
	var padErr error
	for i, off := range l.Offsets {
		if parts[i], err = readPart(r, off, h.Parts[i].Length, step, l.Total); err != nil {
			return nil, nil, err
		}
		sums.add(parts[i])
		end := off + h.Parts[i].Length
		b := pad[:roundUp(end)-end]
		if n, err := io.ReadFull(r, b); err != nil {
			return nil, nil, readError(err, end+uint64(n), l.Total)
		}
		sums.add(b)
		if j := nonZero(b); j >= 0 && padErr == nil {
			padErr = badPadding(end + uint64(j))
		}
	}
	table, err := readPart(r, l.BodyEnd, l.Total-l.BodyEnd, step, l.Total)
	if err != nil {
		return nil, nil, err
	}
	if err := l.CompareTable(table, sums.finish()); err != nil {
		return nil, nil, err
	}
	if padErr != nil {
		return nil, nil, padErr
	}
	return h, parts, nil
}

func readHeader(r io.Reader) (head []byte, h *Header, l Layout, err error) {
	head = make([]byte, PageSize)
	n, err := io.ReadFull(r, head)
	if err != nil && !isEOF(err) {
		return nil, nil, Layout{}, err
	}
	want, err := HeaderLength(head[:n])
	if err != nil {
		return nil, nil, Layout{}, err
	}
	if want > PageSize {
		head = append(head, make([]byte, want-PageSize)...)
		if n, err := io.ReadFull(r, head[PageSize:]); err != nil {
			return nil, nil, Layout{}, readError(err, uint64(PageSize+n), uint64(want))
		}
	}
	if h, err = ParseHeader(head); err != nil {
		return nil, nil, Layout{}, err
	}
	l, err = h.Layout()
	return head, h, l, err
}

// readPart reads length bytes that begin at offset. It begins with step bytes of
// memory and doubles them when they are full.
func readPart(r io.Reader, offset, length uint64, step int, total uint64) ([]byte, error) {
	if length > math.MaxInt-8 {
		return nil, fmt.Errorf("a part of %d bytes does not fit in this machine's memory", length)
	}
	if length == 0 {
		return nil, nil
	}
	n := int(length)
	have := 0
	var b []byte
	for have < n {
		// Backed by words, so that the bytes are aligned for Words.
		size := min(n, max(step, 2*have))
		grown := bytesOf(make([]uint64, (size+7)/8))[:size]
		copy(grown, b)
		b = grown
		m, err := io.ReadFull(r, b[have:])
		have += m
		if err != nil {
			return nil, readError(err, offset+uint64(have), total)
		}
	}
	return b, nil
}

func isEOF(err error) bool {
	return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)
}

// readError turns the end of the stream into ErrTruncated.
func readError(err error, have, want uint64) error {
	if isEOF(err) {
		return truncated(have, want)
	}
	return err
}
