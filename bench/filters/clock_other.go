//go:build !linux

package main

import "time"

// threadTime returns the elapsed time. Only Linux has the time of the thread.
func threadTime() time.Duration { return time.Since(start) }
