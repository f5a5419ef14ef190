//go:build unix

package server

import "syscall"

// attempt returns a function that writes to a socket what it takes without waiting,
// and returns how much that was. Errors are left to the next ordinary write. One
// goroutine may call it at a time.
func attempt(raw syscall.RawConn) func(b []byte) int {
	var b []byte
	var n int
	once := func(fd uintptr) bool {
		var err error
		for {
			if n, err = syscall.Write(int(fd), b); err != syscall.EINTR {
				return true
			}
		}
	}
	return func(data []byte) int {
		b, n = data, 0
		if err := raw.Write(once); err != nil {
			n = 0
		}
		b = nil
		return max(n, 0)
	}
}
