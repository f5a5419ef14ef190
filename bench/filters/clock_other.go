//go:build !linux

package main

import "time"

// threadTime returns the elapsed time; on Linux it is that of the thread.
func threadTime() time.Duration { return time.Since(start) }
