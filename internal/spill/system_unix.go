//go:build darwin || freebsd || linux

package spill

import "golang.org/x/sys/unix"

// diskFree returns the free bytes of the disk of dir for this user.
func diskFree(dir string) (uint64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	blocks := int64(s.Bavail) // negative on some systems when only the superuser has room
	return uint64(max(blocks, 0)) * uint64(s.Bsize), true
}
