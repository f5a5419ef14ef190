//go:build !unix

package redistest

import (
	"fmt"
	"os"
	"runtime"
)

// pause is impossible here.
func pause(p *os.Process, _ bool) error {
	return fmt.Errorf("redistest: process %d cannot be paused on %s", p.Pid, runtime.GOOS)
}
