//go:build !unix

package server

import "syscall"

// attempt would write to a socket without waiting; on this system everything is
// left to a goroutine that may wait.
func attempt(syscall.RawConn) func(b []byte) int {
	return func([]byte) int { return 0 }
}
