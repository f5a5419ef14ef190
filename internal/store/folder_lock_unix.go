//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// lockHolder returns the process that has locked a file, 0 if that is unknown. This
// process must have no lock on it.
func lockHolder(name string) int {
	f, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close() // it was only read
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &l); err != nil || l.Type == syscall.F_UNLCK {
		return 0
	}
	return int(l.Pid)
}

// shareLock locks a file for reading until release is called.
func shareLock(name string) (release func(), err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	l := syscall.Flock_t{Type: syscall.F_RDLCK, Whence: io.SeekStart}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &l)
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES):
		return nil, errors.Join(inUse(name), f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("%s cannot be locked: %w", name, err), f.Close())
	}
	return func() { _ = f.Close() }, nil // which releases it
}
