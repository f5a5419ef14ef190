package spill

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/s2"
)

// SpoolConfig says where a Spool is.
type SpoolConfig struct {
	// Memory is how many bytes of compressed lines stay in memory. With one more, all of
	// them are in a file.
	Memory int
	// Folder returns the folder for the file. It is called when the file is needed.
	Folder func() (*Folder, error)
}

// Spool is a compressed log of lines with their positions, for input that cannot be read
// again. Lines are appended in ascending order of their positions, and read in that order.
//
// The log is compressed with S2: it halves most texts at the speed of a disk, so that it costs
// little beside the work on the lines.
type Spool struct {
	log    chunkLog
	raw    []byte // not yet compressed
	packed []byte
	next   uint64 // the least position that the next line can have
	lines  uint64
}

// spoolChunk is how many bytes are compressed together.
const spoolChunk = 256 << 10

// NewSpool returns an empty Spool.
func NewSpool(c SpoolConfig) *Spool {
	return &Spool{log: chunkLog{folder: c.Folder, limit: c.Memory}}
}

// Append adds a line, which may have any bytes. Its position is larger than the one before.
// After an error, the Spool is of no use.
func (s *Spool) Append(position uint64, line []byte) error {
	if position < s.next {
		return fmt.Errorf("line %d is appended after line %d", position, s.next-1)
	}
	s.raw = binary.AppendUvarint(s.raw, position-s.next)
	s.raw = binary.AppendUvarint(s.raw, uint64(len(line)))
	s.next = position + 1
	s.lines++
	for len(s.raw)+len(line) >= spoolChunk {
		n := min(len(line), max(spoolChunk-len(s.raw), 0))
		s.raw = append(s.raw, line[:n]...)
		line = line[n:]
		if err := s.pack(); err != nil {
			return err
		}
	}
	s.raw = append(s.raw, line...)
	return nil
}

// pack compresses raw and adds it to the log.
func (s *Spool) pack() error {
	s.packed = s2.Encode(s.packed[:cap(s.packed)], s.raw)
	s.raw = s.raw[:0]
	return s.log.append(s.packed)
}

// Lines returns how many lines there are.
func (s *Spool) Lines() uint64 { return s.lines }

// Bytes returns how much memory the Spool uses.
func (s *Spool) Bytes() int { return cap(s.raw) + cap(s.packed) + s.log.bytes() }

// Read returns a reader of all lines from the first one. Nothing can be appended afterwards.
func (s *Spool) Read() (*SpoolReader, error) {
	if len(s.raw) > 0 {
		if err := s.pack(); err != nil {
			return nil, err
		}
	}
	return &SpoolReader{chunks: chunkReader{log: &s.log, to: s.log.end()}}, s.log.err
}

// Close gives memory and file back.
func (s *Spool) Close() error {
	s.raw, s.packed = nil, nil
	return s.log.close()
}

// SpoolReader reads the lines of a Spool.
type SpoolReader struct {
	chunks chunkReader
	buffer []byte // decompressed
	rest   []byte // of buffer, what was not returned
	next   uint64
}

// Next returns the next line, which is valid until the next call, and its position. The
// error is io.EOF behind the last line.
func (r *SpoolReader) Next() (position uint64, line []byte, err error) {
	for need := 1; ; {
		if len(r.rest) >= need {
			gap, n := binary.Uvarint(r.rest)
			size, m := binary.Uvarint(r.rest[max(n, 0):])
			switch end := uint64(n+m) + size; {
			case n < 0 || m < 0 || size > math.MaxInt-64:
				return 0, nil, r.chunks.log.damage("the length of a line is wrong")
			case n == 0 || m == 0:
				need = len(r.rest) + 1
			case uint64(len(r.rest)) >= end:
				line = r.rest[n+m : end]
				r.rest = r.rest[end:]
				position = r.next + gap
				r.next = position + 1
				return position, line, nil
			default:
				need = int(end)
			}
		}
		if len(r.rest) < need {
			if err := r.more(); err != nil {
				return 0, nil, err
			}
		}
	}
}

// more decompresses the next chunk behind rest.
func (r *SpoolReader) more() error {
	packed, err := r.chunks.next()
	if err != nil {
		if err == io.EOF && len(r.rest) > 0 {
			err = r.chunks.log.damage("it ends within a line")
		}
		return err
	}
	size, err := s2.DecodedLen(packed)
	if err != nil || size > 2*spoolChunk {
		return r.chunks.log.damage("a chunk cannot be decompressed")
	}
	kept := len(r.rest)
	if cap(r.buffer) < kept+size {
		// A line that is longer than a chunk: the buffer doubles until it fits.
		r.rest = append(make([]byte, 0, max(kept+size, 2*cap(r.buffer))), r.rest...)
		r.buffer = r.rest[:cap(r.rest)]
	} else {
		r.buffer = r.buffer[:cap(r.buffer)]
		copy(r.buffer, r.rest)
	}
	if _, err := s2.Decode(r.buffer[kept:kept+size], packed); err != nil {
		return r.chunks.log.damage("a chunk cannot be decompressed")
	}
	r.rest = r.buffer[:kept+size]
	return nil
}
