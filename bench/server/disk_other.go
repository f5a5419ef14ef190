//go:build !linux

package main

import "os"

// dataSync syncs a file; only Linux can sync the content alone.
func dataSync(f *os.File) error { return f.Sync() }
