package store

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"

	"seen/internal/pages"
)

// The arrays of values take memory only where they are not zero, and so do their files: a
// piece of zeros is a hole in the file, which most file systems do not store. A file reads
// the same with and without holes.

const (
	// holePiece is the number of bytes that are a hole if all of them are zero.
	holePiece = 64 << 10
	// syncPieces is the number of bytes after which what was written is given to the
	// disk, so that the sync at the end does not hold up the syncs of the log.
	syncPieces = 4 << 20
)

// holeWriter writes a new file from its beginning and leaves out zeros.
type holeWriter struct {
	file    vfs.File
	piece   []byte // what comes next, less than holePiece bytes
	at      int64  // where piece begins
	written int64  // where the last piece that was written ends
	synced  int64
	last    [4]byte      // the last bytes so far
	going   func() error // asked at every piece; its error ends the writing
}

func (w *holeWriter) Write(p []byte) (n int, err error) {
	k := min(len(p), len(w.last))
	copy(w.last[:], w.last[k:])
	copy(w.last[len(w.last)-k:], p[len(p)-k:])
	for len(p) > 0 {
		k := min(len(p), holePiece-len(w.piece))
		w.piece = append(w.piece, p[:k]...)
		if len(w.piece) == holePiece {
			if err := w.put(); err != nil {
				return n, err
			}
		}
		n += k
		p = p[k:]
	}
	return n, nil
}

// put writes the piece, unless it is a hole.
func (w *holeWriter) put() error {
	if err := w.going(); err != nil {
		return err
	}
	end := w.at + int64(len(w.piece))
	if !pages.Zero(w.piece) {
		if err := w.writeAt(w.piece, w.at); err != nil {
			return err
		}
	}
	w.at, w.piece = end, w.piece[:0]
	return nil
}

func (w *holeWriter) writeAt(p []byte, at int64) error {
	if _, err := w.file.WriteAt(p, at); err != nil {
		return err
	}
	w.written = at + int64(len(p))
	if w.written-w.synced < syncPieces {
		return nil
	}
	w.synced = w.written
	_, err := w.file.SyncTo(w.written)
	return err
}

// finish writes what is left.
func (w *holeWriter) finish() error {
	err := w.put()
	if err == nil && w.written < w.at { // it ends with a hole
		err = w.writeAt([]byte{0}, w.at-1)
	}
	return err
}

// writeHoles makes a file of what write writes, and closes it. If the file cannot be made,
// it returns nil and the error.
func writeHoles(fsys vfs.FS, name string, going func() error, sync bool, write func(io.Writer) error) (*holeWriter, error) {
	file, err := fsys.Create(name, writeCategory)
	if err != nil {
		return nil, err
	}
	w := &holeWriter{file: file, piece: make([]byte, 0, holePiece), going: going}
	if err = write(w); err == nil {
		err = w.finish()
	}
	if err == nil && sync {
		err = file.Sync()
	}
	return w, errors.Join(err, file.Close())
}

// contents are the bytes of an array, in memory of their own where there are many.
type contents struct {
	bytes []byte
	mem   *pages.Array
}

// release gives the memory back. The bytes must not be used any more.
func (c *contents) release() {
	c.bytes = nil
	if c.mem != nil {
		c.mem.Release()
	}
}

// readSummed returns what summed has written to a file.
func (f *files) readSummed(ref fileRef) (c contents, err error) {
	name := f.path(ref.number)
	file, size, err := f.open(ref.number)
	if err != nil {
		return c, err
	}
	defer file.Close() // it is only read
	if c.mem, err = pages.New((size + 7) / 8); err != nil {
		return c, fmt.Errorf("reading %s: %w: %w", name, ErrMemory, err)
	}
	w := arrayWriter(c.mem.Bytes())
	if err := checkSummed(io.TeeReader(unreadReader{file}, &w), size, ref); err != nil {
		c.release()
		var unread *unreadError
		if errors.As(err, &unread) { // which says nothing about the contents
			return c, fmt.Errorf("reading %s: %w", name, err)
		}
		return c, fmt.Errorf("%s is damaged: %w; restore it from a backup", name, err)
	}
	c.bytes = c.mem.Bytes()[:size-crc32.Size]
	return c, nil
}

// arrayWriter is the rest of an array of zeros. What is written to it goes there, and zeros
// take no memory.
type arrayWriter []byte

func (w *arrayWriter) Write(p []byte) (int, error) {
	pages.CopyBytes((*w)[:len(p)], p)
	*w = (*w)[len(p):]
	return len(p), nil
}
