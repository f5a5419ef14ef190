//go:build darwin || freebsd || linux

package spill

import "golang.org/x/sys/unix"

// diskFree returns the free bytes of the disk of dir for this user.
func diskFree(dir string) (uint64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil || s.Bavail < 0 {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true
}
