package input

import (
	"os"
	"syscall"
)

// pipeSize is what an unprivileged process may ask for by default.
const pipeSize = 1 << 20

// widen makes the buffer of a pipe large; by default it is 64 KiB. Writer and
// reader then wake each other less often, which took reading 1 GB from 0.65 to
// 0.46 seconds of processor time. Where that fails, as for anything else than a
// pipe, nothing changes.
func widen(f *os.File) {
	const setPipeSize = 1031 // F_SETPIPE_SZ, see fcntl(2)
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { // the file is closed: reading it says so
			_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, pipeSize) // a pipe of the usual size is only slower
		})
	}
}
