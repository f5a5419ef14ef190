package server

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// peerState looks whether the client has closed its sending side, also behind what was
// not read yet, and whether it has closed the whole connection. A client that ends
// closes both, but its machine says so only after something was written to it, or
// when it answers a keep-alive packet.
func peerState(raw syscall.RawConn) (sent, closed bool) {
	err := raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(p, 0)
		if err != nil || n != 1 {
			return
		}
		closed = p[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
		sent = closed || p[0].Revents&unix.POLLRDHUP != 0
	})
	return err == nil && sent, err == nil && closed
}
