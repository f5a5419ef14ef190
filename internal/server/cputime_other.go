//go:build !unix

package server

import "time"

// processTimes returns 0: the processor time is not known on this system.
func processTimes() (user, system time.Duration) { return 0, 0 }
