package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

// ErrLocked says that another holder has the lock. Locks return a *LockedError,
// for which errors.Is(err, ErrLocked) holds.
var ErrLocked = errors.New("locked")

// LockedError tells who holds a lock.
type LockedError struct {
	Path string // of the lock file
	PID  int    // of the holder, 0 if it is not known
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("locked by %s (%s); wait until it has ended", who, e.Path)
}

// Is makes errors.Is(err, ErrLocked) true.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// Lock takes the lock of path, without waiting: if it has another holder, in this process
// or another, the error is a *LockedError. Closing the result, or the end of the process,
// releases it.
//
// The lock file is the file itself, with symbolic links resolved, and ".lock": a lock on
// the file itself would not survive its replacement.
func Lock(fsys FS, path string) (io.Closer, error) {
	target, err := Resolve(fsys, path)
	if err != nil {
		return nil, err
	}
	lock, err := fsys.Lock(target + ".lock")
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return nil, &fs.PathError{Op: "lock", Path: target, Err: failed.Err}
	}
	return lock, err
}

// parsePID reads what a holder wrote into its lock file, 0 if that is not a pid.
func parsePID(b []byte) int {
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
