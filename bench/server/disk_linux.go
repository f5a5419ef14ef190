package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// dataSync syncs the content of a file, and of what is known about it only what is
// needed to read it.
func dataSync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
