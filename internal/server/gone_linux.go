package server

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// gone reports whether the client has closed its side of a socket, also behind what
// was not read yet.
func gone(raw syscall.RawConn) (closed bool) {
	err := raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(p, 0)
		closed = err == nil && n == 1 && p[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return err == nil && closed
}
