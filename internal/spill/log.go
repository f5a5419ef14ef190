package spill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// chunkLog is a sequence of chunks: in memory up to a limit, then in a file of the folder. A
// chunk is the length of its payload and its checksum, four bytes each, little-endian, and
// then the payload.
type chunkLog struct {
	folder func() (*Folder, error)
	limit  int // of memory
	memory []byte
	file   *File // nil while all is in memory
	err    error // the first error; the log is of no use after it
}

const (
	chunkHeader = 8
	// maxPayload is more than any payload has, so that a damaged length is found before
	// memory is taken for it.
	maxPayload = 4 << 20
)

// append adds a chunk.
func (l *chunkLog) append(payload []byte) error {
	if l.err != nil {
		return l.err
	}
	l.memory = binary.LittleEndian.AppendUint32(l.memory, uint32(len(payload)))
	l.memory = binary.LittleEndian.AppendUint32(l.memory, Checksum(payload))
	l.memory = append(l.memory, payload...)
	if l.file != nil || len(l.memory) > l.limit {
		l.err = l.flush()
	}
	return l.err
}

// flush writes what is in memory to the file.
func (l *chunkLog) flush() error {
	if l.file == nil {
		folder, err := l.folder()
		if err == nil {
			l.file, err = folder.Create()
		}
		if err != nil {
			return err
		}
	}
	if _, err := l.file.Append(l.memory); err != nil {
		return err
	}
	if cap(l.memory) > maxPayload {
		l.memory = nil // the limit was larger than a chunk
	}
	l.memory = l.memory[:0]
	return nil
}

// end returns the position behind the last chunk.
func (l *chunkLog) end() int64 {
	if l.file != nil {
		return l.file.Size()
	}
	return int64(len(l.memory))
}

// bytes returns how much memory the log has.
func (l *chunkLog) bytes() int { return cap(l.memory) }

func (l *chunkLog) close() error {
	l.memory = nil
	if l.err == nil {
		l.err = errClosed
	}
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

var errClosed = errors.New("the temporary file is closed")

// damage returns a *DamageError.
func (l *chunkLog) damage(what string, args ...any) error {
	e := &DamageError{What: fmt.Sprintf(what, args...)}
	if l.file != nil {
		e.Dir = l.file.folder.dir
	}
	return e
}

// chunkReader reads the chunks of a log from one position to another.
type chunkReader struct {
	log     *chunkLog
	at, to  int64
	payload []byte
}

// next returns the next payload, which is valid until the next call, or io.EOF.
func (r *chunkReader) next() ([]byte, error) {
	if r.at == r.to {
		return nil, io.EOF
	}
	var header [chunkHeader]byte
	if err := r.read(header[:]); err != nil {
		return nil, err
	}
	size, sum := binary.LittleEndian.Uint32(header[:]), binary.LittleEndian.Uint32(header[4:])
	if size > maxPayload {
		return nil, r.log.damage("a length of %d bytes at byte %d", size, r.at)
	}
	r.payload = resize(r.payload, int(size))
	if err := r.read(r.payload); err != nil {
		return nil, err
	}
	if Checksum(r.payload) != sum {
		return nil, r.log.damage("the checksum of %d bytes before byte %d is wrong", size, r.at)
	}
	return r.payload, nil
}

// read fills p from where the reader is.
func (r *chunkReader) read(p []byte) error {
	if r.log.err != nil {
		return r.log.err
	}
	if r.to-r.at < int64(len(p)) {
		return r.log.damage("a chunk ends behind byte %d", r.to)
	}
	if r.log.file == nil {
		copy(p, r.log.memory[r.at:])
	} else if err := r.log.file.ReadAt(p, r.at); err != nil {
		return err
	}
	r.at += int64(len(p))
	return nil
}

func resize(p []byte, n int) []byte {
	if cap(p) < n {
		return make([]byte, n)
	}
	return p[:n]
}
