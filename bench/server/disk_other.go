//go:build !linux

package main

import "os"

// dataSync syncs a file; only Linux tells content and the rest apart.
func dataSync(f *os.File) error { return f.Sync() }
