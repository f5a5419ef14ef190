package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// dataSync syncs the content of a file, and only the metadata that is needed to read
// it.
func dataSync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
