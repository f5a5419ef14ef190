//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// The locks here are flock(2) locks: they belong to the open file and end when
// the kernel closes it, whatever happened to the process. The holder of a lock removes
// the lock file or temporary file before it releases the lock. Another process may open
// the file before the removal and lock it after; such a lock is worthless, so tryFlock
// checks after locking that the name still leads to the locked file.

// tryFlock locks f without waiting. It reports false where another holder has
// the lock, or had it and removed the file.
func tryFlock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == unix.EINTR {
			continue
		}
		if err == unix.EWOULDBLOCK {
			return false, nil
		}
		if err != nil {
			return false, &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
		break
	}
	locked, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(locked, named), nil
}

// closeBeforeRename is for systems where open files cannot be renamed.
const closeBeforeRename = false

// attempts bounds the loops in which others may remove a file between its
// opening and its locking.
const attempts = 100

func (osFS) Lock(name string) (io.Closer, error) {
	for range attempts {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o666)
		if err != nil {
			return nil, err
		}
		ok, err := tryFlock(f)
		if err != nil {
			f.Close() // nothing was written
			return nil, err
		}
		if ok {
			f.Truncate(0)                                        // what is in it is only for the message to others
			f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0) // as above
			return lockFile{f}, nil
		}
		b := make([]byte, 32)
		n, _ := f.ReadAt(b, 0) // what is missing is not told
		f.Close()              // it was only read
		// A holder that ended meanwhile has removed the file: try again.
		if _, err := os.Lstat(name); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return nil, &LockedError{Path: name, PID: parsePID(b[:n])}
		}
	}
	return nil, &LockedError{Path: name}
}

type lockFile struct{ *os.File }

func (l lockFile) Close() error {
	err := os.Remove(l.Name())
	return errors.Join(err, l.File.Close())
}

// maxTemps is how many writers can write one file at the same time.
const maxTemps = 100

func (osFS) CreateTemp(name string, perm fs.FileMode) (File, error) {
	for i := range maxTemps {
		temp := tempName(name, i)
		for range attempts {
			f, err := createLocked(temp, perm)
			if err != nil {
				return nil, err
			}
			if f != nil {
				return f, nil
			}
			if !removeOrphan(temp) {
				break
			}
		}
	}
	return nil, &fs.PathError{Op: "create", Path: name, Err: fmt.Errorf("%d temporary files, %s and on, are in use or cannot be removed", maxTemps, tempName(name, 0))}
}

// RemoveOrphans removes the temporary files that CreateTemp has made for name and whose
// creators have died, as far as this is possible.
func RemoveOrphans(name string) {
	for i := range maxTemps {
		removeOrphan(tempName(name, i))
	}
}

// tempName is hidden, and unlikely to be the name of something else: whatever
// has it and no lock is removed.
func tempName(name string, i int) string {
	return filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s.seen-tmp%d", filepath.Base(name), i))
}

// createLocked creates and locks a new file; nil if the name is in use.
func createLocked(name string, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ok, err := tryFlock(f)
	if ok {
		return f, nil
	}
	if err != nil {
		// A file system without locks: work without the removal of orphans.
		return f, nil
	}
	f.Close() // nothing was written
	return nil, nil
}

// removeOrphan removes a temporary file whose creator no longer holds its lock.
// It reports whether the name is, or was just now, free.
func removeOrphan(name string) bool {
	f, err := os.OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close() // nothing was written
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	ok, err := tryFlock(f)
	if err != nil {
		return false
	}
	if ok {
		return os.Remove(name) == nil // false says that it is in use
	}
	_, err = os.Lstat(name)
	return errors.Is(err, fs.ErrNotExist)
}
