//go:build !unix

package cli

import "os"

// peakMemory returns 0: it is not known here.
func peakMemory() uint64 { return 0 }

// notifyStatus does nothing: there is no such signal here.
func notifyStatus(chan<- os.Signal) {}
