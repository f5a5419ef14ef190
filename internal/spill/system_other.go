//go:build !darwin && !freebsd && !linux && !windows

package spill

// diskFree does not know the free bytes.
func diskFree(string) (uint64, bool) { return 0, false }
