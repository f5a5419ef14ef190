package bloomfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"seen/bloom"
	"seen/internal/bridge"
	"seen/internal/frame"
	"seen/internal/vfs"
)

// Write makes s, a filter of package bloom or a sketch of package sketch, the
// contents of the file path, atomically and durably: after a crash at any time
// the file holds what it held before, or s. It takes the file's lock for that
// time; ErrLocked says that another writer has it.
//
// A file that is replaced gives its permissions to the new one; without write
// permission it is not replaced. If path is a symbolic link the file it leads to
// is replaced. Those who have the former file open keep it.
func Write(path string, s io.WriterTo) error {
	l, err := Lock(path)
	if err != nil {
		return err
	}
	defer l.Close() // a leftover lock file does not block
	return l.Write(s)
}

// FileLock is the lock of a filter file, for programs that read a file, change
// the filter in memory and write it back. It ends with the process at the latest.
type FileLock struct {
	path string
	fsys vfs.FS
	lock io.Closer

	private bool
}

// Lock takes the lock of the file path, which need not exist, without waiting;
// ErrLocked says that another process, or another part of this one, has it. The
// lock is the file path + ".lock", which is removed by Close.
func Lock(path string) (*FileLock, error) { return lock(vfs.OS, path) }

func lock(fsys vfs.FS, path string) (*FileLock, error) {
	l, err := vfs.Lock(fsys, path)
	if err != nil {
		return nil, named(path, err)
	}
	return &FileLock{path: path, fsys: fsys, lock: l}, nil
}

// Write is the function Write, under the lock that l already is.
func (l *FileLock) Write(s io.WriterTo) error {
	r, err := vfs.Replace(l.fsys, l.path, l.perm())
	if err != nil {
		return named(l.path, err)
	}
	defer r.Abort()
	if _, err = s.WriteTo(r); err == nil {
		err = r.Commit()
	}
	if err != nil {
		return named(l.path, err)
	}
	return nil
}

// MakePrivate makes a file that a write of l creates readable for its owner alone. A file
// that exists keeps its permissions.
func (l *FileLock) MakePrivate() { l.private = true }

func (l *FileLock) perm() fs.FileMode {
	if l.private {
		return vfs.Private
	}
	return vfs.Shared
}

// What package bloom does for files; see package bridge.
var (
	fromFrame     = bridge.FromFrame.(func(*frame.Header, [][]byte, bloom.LoadOptions, func(int, uint64, uint64)) (bloom.View, error))
	writeSnapshot = bridge.WriteSnapshot.(func(context.Context, bloom.Set, bridge.SnapshotFile, sync.Locker) error)
)

// WriteSnapshot is Write while another goroutine goes on adding to s under lock,
// which that goroutine never misses for long; see package internal/bridge. When all
// that will be in the file is fixed, settle is called, without the lock; its error,
// or the end of ctx until then, leaves the former file as it is.
func (l *FileLock) WriteSnapshot(ctx context.Context, s bloom.Set, lock sync.Locker, settle func() error) error {
	err := l.writeSnapshot(ctx, s, lock, settle)
	if errors.Is(err, bridge.ErrSwitched) {
		err = l.writeSnapshot(ctx, s, lock, settle)
	}
	return err
}

func (l *FileLock) writeSnapshot(ctx context.Context, s bloom.Set, lock sync.Locker, settle func() error) error {
	r, err := vfs.Replace(l.fsys, l.path, l.perm())
	if err != nil {
		return named(l.path, err)
	}
	defer r.Abort()
	if err := writeSnapshot(ctx, s, r, lock); err != nil {
		return named(l.path, err)
	}
	if err := settle(); err != nil {
		return err
	}
	if err := r.Commit(); err != nil {
		return named(l.path, err)
	}
	return nil
}

// Read is the function Read, under the lock that l already is.
func (l *FileLock) Read(o bloom.LoadOptions) (bloom.View, error) {
	v, err := read(l.fsys, l.path, o, repairLocked)
	if err != nil {
		return nil, named(l.path, err)
	}
	return v, nil
}

// Close releases the lock.
func (l *FileLock) Close() error { return l.lock.Close() }

// Read reads the filter file path into memory, of whatever type it is, and
// verifies all of it. The result does not depend on the file any more. Where Open
// would repair the file, Read does too.
func Read(path string, o bloom.LoadOptions) (bloom.View, error) {
	v, err := read(vfs.OS, path, o, repair)
	if err != nil {
		return nil, named(path, err)
	}
	return v, nil
}

func read(fsys vfs.FS, path string, o bloom.LoadOptions, repair func(fsys vfs.FS, path string, force bool) error) (bloom.View, error) {
	h, parts, err := readParts(fsys, path)
	// As in File.load, a writer's journal may have come or gone.
	for attempt := 1; errors.Is(err, ErrOversized) && attempt < attempts; attempt++ {
		h, parts, err = readParts(fsys, path)
	}
	if isDirty(err) {
		if err := repair(fsys, path, false); err != nil {
			return nil, err
		}
		h, parts, err = readParts(fsys, path)
	}
	if err != nil {
		return nil, err
	}
	return fromFrame(h, parts, o, nil)
}

func readParts(fsys vfs.FS, path string) (*frame.Header, [][]byte, error) {
	file, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close() // it is only read
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return frame.Read(file)
	}
	return frame.ReadSized(file, info.Size())
}
