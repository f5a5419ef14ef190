//go:build !linux

package pages

func wantHugePages([]byte) {}
