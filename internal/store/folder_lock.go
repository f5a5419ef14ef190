package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A data directory is locked by a lock on its file LOCK. The system's locks belong to
// the process: it may take one twice, and loses it when it closes any file that it has
// opened by that name. So a process keeps a list of its own.
var lockedFolders struct {
	sync.Mutex
	names map[string]bool
}

func lockFolder(fsys vfs.FS, dir string) (io.Closer, error) {
	name := fsys.PathJoin(dir, lockName)
	if !ofSystem(fsys) {
		l, err := fsys.Lock(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrLocked, dir, err)
		}
		return l, nil
	}
	free, err := reserveFolder(dir)
	if err != nil {
		return nil, err
	}
	l, err := fsys.Lock(name)
	if err != nil {
		free()
		return nil, explainLock(name, err)
	}
	return &folderLock{l, free}, nil
}

// ofSystem reports whether files are those of the system.
func ofSystem(fsys vfs.FS) bool { return vfs.Root(fsys) == vfs.Default }

type folderLock struct {
	io.Closer
	free func()
}

func (l *folderLock) Close() error {
	defer l.free()
	return l.Closer.Close()
}

// reserveFolder notes that this process uses a folder until free is called.
func reserveFolder(dir string) (free func(), err error) {
	name, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	lockedFolders.Lock()
	defer lockedFolders.Unlock()
	if lockedFolders.names[name] {
		return nil, fmt.Errorf("%w: this process (%d) has opened %s already", ErrLocked, os.Getpid(), dir)
	}
	if lockedFolders.names == nil {
		lockedFolders.names = map[string]bool{}
	}
	lockedFolders.names[name] = true
	return func() {
		lockedFolders.Lock()
		defer lockedFolders.Unlock()
		delete(lockedFolders.names, name)
	}, nil
}

// explainLock says why a folder cannot be locked, and what to do.
func explainLock(name string, err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return explain(name, err) // it cannot even be opened
	}
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES):
		return inUse(name)
	case errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOSYS), errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%s cannot be locked, since its file system does not support locks: %w; use a folder on a local disk, or mount the network file system with locking", name, err)
	}
	return fmt.Errorf("%s cannot be locked: %w", name, err)
}

// inUse is the error about a folder that another process has locked.
func inUse(name string) error {
	if pid := lockHolder(name); pid > 0 {
		return fmt.Errorf("%w: process %d holds the lock on %s; end it, or use another folder", ErrLocked, pid, name)
	}
	return fmt.Errorf("%w: a process, perhaps on another machine or in another container, holds the lock on %s; end it, or use another folder", ErrLocked, name)
}

// explain adds to an error about a file or folder of the data directory what to do.
func explain(name string, err error) error {
	advice := ""
	switch {
	case errors.Is(err, syscall.EROFS):
		advice = "the file system is mounted read-only: mount it for writing, or use another folder"
	case errors.Is(err, os.ErrPermission):
		advice = fmt.Sprintf("this process runs as user %d, who may not write there: make that user the owner of the folder and all in it, or use another folder", os.Getuid())
	case isFull(err):
		advice = "the disk is full: make room"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		advice = "too many files are open: raise the limit (ulimit -n, LimitNOFILE=)"
	case errors.Is(err, syscall.EISDIR):
		advice = "it is a folder and should be a file: remove it"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, os.ErrExist):
		advice = "a file is where a folder should be: remove it, or use another folder"
	default:
		return fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Errorf("%s cannot be used: %w; %s", name, err, advice)
}

// shareFolder keeps servers from changing a data directory until unlock is called; a
// directory that is in use is ErrLocked.
func shareFolder(fsys vfs.FS, dir string) (unlock func(), err error) {
	name := fsys.PathJoin(dir, lockName)
	if !ofSystem(fsys) {
		return func() {}, nil
	}
	free, err := reserveFolder(dir)
	if err != nil {
		return nil, err
	}
	release, err := shareLock(name)
	if err == nil {
		return func() { release(); free() }, nil
	}
	free()
	if errors.Is(err, os.ErrNotExist) {
		return func() {}, nil // no server has ever used it
	}
	return nil, err
}
