//go:build !unix

package bloomfile

import (
	"errors"
	"io/fs"

	"seen/internal/frame"
	"seen/internal/vfs"
)

// mapFile reads the first size bytes of file into memory. It refuses to write: keys that a
// killed process had added would be lost, and Add promises otherwise.
func mapFile(file vfs.File, size int, writable bool) (vfs.Mapping, error) {
	if m, ok := file.(vfs.Mapper); ok {
		return m.Map(size, writable)
	}
	if writable {
		return nil, &fs.PathError{Op: "map for writing", Path: file.Name(), Err: errors.ErrUnsupported}
	}
	b := frame.Bytes(make([]uint64, (size+7)/8))[:size]
	if _, err := file.ReadAt(b, 0); err != nil {
		return nil, err
	}
	return mapping(b), nil
}

type mapping []byte

func (m mapping) Bytes() []byte         { return m }
func (m mapping) Sync(off, n int) error { return errors.ErrUnsupported }
func (m mapping) Close() error          { return nil }
