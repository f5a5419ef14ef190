//go:build unix

package server

import "syscall"

// attempt returns a function that writes what a socket accepts without waiting and returns
// the number of bytes. The next normal write reports errors. Only one goroutine may call
// the function at a time.
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
