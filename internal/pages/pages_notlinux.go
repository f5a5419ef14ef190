//go:build !linux

package pages

func wantHugePages([]byte) {}

// populatePart does nothing: pages are made at their first use.
func populatePart([]uint64) {}
