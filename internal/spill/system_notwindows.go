//go:build !windows

package spill

import (
	"errors"
	"syscall"
)

// isFull reports whether err says that the disk, the share of the user, or the longest
// allowed file has no room.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
