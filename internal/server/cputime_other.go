//go:build !unix

package server

import "time"

// processTimes would return the processor time of the process; here it is not known.
func processTimes() (user, system time.Duration) { return 0, 0 }
