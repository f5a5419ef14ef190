package store

import (
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// isHole reports whether the bytes of a file from start to end are a hole, as far as its
// file system tells. It moves the place where Read goes on, and not that of ReadAt.
func isHole(file vfs.File, start, end uint64) bool {
	const seekData = 3
	fd := file.Fd()
	if fd == vfs.InvalidFd {
		return false
	}
	data, err := syscall.Seek(int(fd), int64(start), seekData)
	return err == syscall.ENXIO || err == nil && uint64(data) >= end // ENXIO: there is no data after start
}
