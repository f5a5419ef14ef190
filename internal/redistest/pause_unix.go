//go:build unix

package redistest

import (
	"fmt"
	"os"
	"syscall"
)

// pause stops a process, or lets it go on.
func pause(p *os.Process, stop bool) error {
	signal := syscall.SIGCONT
	if stop {
		signal = syscall.SIGSTOP
	}
	if err := p.Signal(signal); err != nil {
		return fmt.Errorf("redistest: %v to process %d: %w", signal, p.Pid, err)
	}
	return nil
}
