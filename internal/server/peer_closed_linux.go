package server

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// peerState reports whether the client has closed its sending side, even if bytes before
// that are unread, and whether it has closed the whole connection. A client that exits
// closes both, but its machine reports the second only after the server writes or sends a
// keep-alive packet.
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
