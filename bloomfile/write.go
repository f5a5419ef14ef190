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
// the file has its former contents, or s. Write holds the file's lock meanwhile;
// ErrLocked says that another writer has it.
//
// The new file has the permissions of the former one; a file without write
// permission is not replaced. If path is a symbolic link, its target is replaced.
// Processes that have the former file open keep using it.
func Write(path string, s io.WriterTo) error {
	l, err := Lock(path)
	if err != nil {
		return err
	}
	defer l.Close() // a leftover lock file does not block
	return l.Write(s)
}

// FileLock is the lock of a filter file, for programs that read a file, change
// the filter in memory and write it back. The end of the process releases it.
type FileLock struct {
	path string
	fsys vfs.FS
	lock io.Closer

	private bool
}

// Lock takes the lock of the file path, which does not have to exist. It does not
// wait: ErrLocked says that another process, or another part of this one, has the
// lock. The lock is the file path + ".lock", which Close removes.
func Lock(path string) (*FileLock, error) { return lock(vfs.OS, path) }

func lock(fsys vfs.FS, path string) (*FileLock, error) {
	l, err := vfs.Lock(fsys, path)
	if err != nil {
		return nil, named(path, err)
	}
	return &FileLock{path: path, fsys: fsys, lock: l}, nil
}

// Write is the function Write for a file that is already locked.
func (l *FileLock) Write(s io.WriterTo) error {
	r, err := vfs.Replace(l.fsys, l.path, l.perm())
	if err != nil {
		return named(l.path, err)
	}
	defer r.Abort()
	if _, err = s.WriteTo(r); err == nil {
		err = r.Commit()
	}
	return named(l.path, err)
}

// MakePrivate says that a file that l creates can be read by its owner alone. A file that
// exists keeps its permissions.
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

// WriteSnapshot is Write for a filter to which another goroutine goes on adding. That
// goroutine must hold lock whenever it uses s; WriteSnapshot takes lock many times, each
// time briefly. The file has every key that was added before the call. When its contents
// are complete, settle is called, without the lock. If settle fails, or ctx ends before,
// the former file stays.
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
	return named(l.path, r.Commit())
}

// Read is the function Read for a file that is already locked.
func (l *FileLock) Read(o bloom.LoadOptions) (bloom.View, error) {
	v, err := read(l.fsys, l.path, o, repairLocked)
	return v, named(l.path, err)
}

// Close releases the lock.
func (l *FileLock) Close() error { return l.lock.Close() }

// Read reads the filter file path, of any type, into memory and verifies all of it.
// The result does not depend on the file. Read repairs a file as Open does.
func Read(path string, o bloom.LoadOptions) (bloom.View, error) {
	v, err := read(vfs.OS, path, o, repair)
	return v, named(path, err)
}

func read(fsys vfs.FS, path string, o bloom.LoadOptions, repair func(fsys vfs.FS, path string, force bool) error) (bloom.View, error) {
	h, parts, err := readParts(fsys, path)
	// A writer may have begun or ended between two reads, as in File.load.
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
