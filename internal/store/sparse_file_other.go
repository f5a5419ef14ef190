//go:build !linux

package store

import "github.com/cockroachdb/pebble/v2/vfs"

// isHole reports false: holes are only looked for on Linux.
func isHole(vfs.File, uint64, uint64) bool { return false }
