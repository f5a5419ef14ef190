//go:build unix

package cli

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// peakMemory returns the largest resident size of this process so far, in bytes, or 0
// if it is unknown.
func peakMemory() uint64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return uint64(usage.Maxrss)
	}
	return uint64(usage.Maxrss) << 10
}

// notifyStatus sends the signals that ask for the status to ch.
func notifyStatus(ch chan<- os.Signal) { signal.Notify(ch, syscall.SIGUSR1) }
