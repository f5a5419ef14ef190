package redistest

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the engine when this process ends, however it
// ends: by a panic, a timeout of the tests, or SIGKILL.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
