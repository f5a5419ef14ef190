package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time of the calling thread, which must be
// locked to its goroutine.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return time.Since(start)
	}
	return time.Duration(t.Nano())
}
