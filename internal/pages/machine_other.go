//go:build !linux

package pages

// machine returns 0: what this system has is not known.
func machine() uint64 { return 0 }
