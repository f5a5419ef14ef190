//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Where flock is missing, the existence of the lock file is the lock: it outlives
// a killed process, and the user removes it.

// closeBeforeRename: Windows, foremost of these systems, does not rename open files.
const closeBeforeRename = true

func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		b, _ := os.ReadFile(name)
		return nil, &LockedError{Path: name, PID: parsePID(b)}
	}
	if err != nil {
		return nil, err
	}
	f.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	if err := f.Close(); err != nil {
		os.Remove(name)
		return nil, err
	}
	return lockFile(name), nil
}

type lockFile string

func (l lockFile) Close() error { return os.Remove(string(l)) }

func (osFS) CreateTemp(name string, perm fs.FileMode) (File, error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".seen-tmp*")
	if err != nil {
		return nil, err
	}
	return f, nil
}

// RemoveOrphans removes the temporary files that CreateTemp has made for name and that are
// not open: the system refuses to remove those of living processes.
func RemoveOrphans(name string) {
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".seen-tmp*"))
	for _, f := range found {
		os.Remove(f) // one that is in use stays
	}
}
