//go:build unix

package bloomfile

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"seen/internal/vfs"
)

// mapFile maps the first size bytes of file, shared with all other processes.
func mapFile(file vfs.File, size int, writable bool) (vfs.Mapping, error) {
	if m, ok := file.(vfs.Mapper); ok {
		return m.Map(size, writable)
	}
	d, ok := file.(interface{ Fd() uintptr })
	if !ok {
		return nil, &fs.PathError{Op: "map", Path: file.Name(), Err: errors.ErrUnsupported}
	}
	prot := unix.PROT_READ
	if writable {
		prot |= unix.PROT_WRITE
	}
	b, err := unix.Mmap(int(d.Fd()), 0, size, prot, unix.MAP_SHARED)
	if err != nil {
		return nil, &fs.PathError{Op: "map", Path: file.Name(), Err: err}
	}
	return mapping(b), nil
}

type mapping []byte

func (m mapping) Bytes() []byte { return m }

func (m mapping) Sync(off, n int) error { return unix.Msync(m[off:off+n], unix.MS_SYNC) }

func (m mapping) Close() error { return unix.Munmap(m) }
