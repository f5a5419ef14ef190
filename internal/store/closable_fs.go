package store

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fence is a file system that can be closed. After that it changes nothing, whatever the
// goroutines of a failed database still try, and its locks are free.
type fence struct {
	vfs.FS
	mu     sync.RWMutex // held for reading during changes
	closed bool
	locks  []io.Closer
	// before, unless it is nil, is called before each change and may refuse it: tests
	// make a disk fail with it.
	before func() error
	// watch is the folder whose files ground watches; "": no folder.
	watch  string
	ground ground
}

var errFenced = errors.New("the database has failed and is closed")

// close closes the fence. Changes under way are completed before.
func (f *fence) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, l := range f.locks {
		// No caller is left to get the error; if this fails, locking anew fails, too.
		_ = l.Close()
	}
	f.locks = nil
}

func (f *fence) change(do func() error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		return errFenced
	}
	if f.before != nil {
		if err := f.before(); err != nil {
			return err
		}
	}
	return do()
}

// open is change for what returns a file.
func (f *fence) open(do func() (vfs.File, error)) (vfs.File, error) {
	var file vfs.File
	err := f.change(func() (err error) {
		file, err = do()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &fencedFile{File: file, fence: f}, nil
}

func (f *fence) Unwrap() vfs.FS { return f.FS }

func (f *fence) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(func() (vfs.File, error) {
		// Pebble's marker files name other new files, and it counts on these being
		// there if the marker is. Not every file system keeps that order.
		if strings.HasPrefix(f.FS.PathBase(name), "marker.") {
			if err := syncFolder(f.FS, f.FS.PathDir(name)); err != nil {
				return nil, err
			}
		}
		file, err := f.FS.Create(name, c)
		return f.made(name, file, err)
	})
}

func (f *fence) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return f.open(func() (vfs.File, error) { return f.FS.OpenReadWrite(name, c, opts...) })
}

func (f *fence) OpenDir(name string) (vfs.File, error) {
	return f.open(func() (vfs.File, error) { return f.FS.OpenDir(name) })
}

func (f *fence) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(func() (vfs.File, error) {
		f.unmade(from)
		file, err := f.FS.ReuseForWrite(from, to, c)
		return f.made(to, file, err)
	})
}

func (f *fence) Link(from, to string) error {
	return f.change(func() error { return f.FS.Link(from, to) })
}

func (f *fence) Remove(name string) error {
	return f.change(func() error {
		f.unmade(name)
		return f.FS.Remove(name)
	})
}

func (f *fence) RemoveAll(name string) error {
	return f.change(func() error { return f.FS.RemoveAll(name) })
}

func (f *fence) Rename(from, to string) error {
	return f.change(func() error {
		f.unmade(from)
		f.unmade(to)
		return f.FS.Rename(from, to)
	})
}

func (f *fence) MkdirAll(dir string, perm os.FileMode) error {
	return f.change(func() error { return f.FS.MkdirAll(dir, perm) })
}

func (f *fence) Lock(name string) (io.Closer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errFenced
	}
	l, err := f.FS.Lock(name)
	if err != nil {
		return nil, err
	}
	f.locks = append(f.locks, l)
	return fencedLock{f, l}, nil
}

type fencedLock struct {
	fence *fence
	inner io.Closer
}

// Close releases the lock, unless the closed fence has done so.
func (l fencedLock) Close() error {
	l.fence.mu.Lock()
	defer l.fence.mu.Unlock()
	i := slices.Index(l.fence.locks, l.inner)
	if i < 0 {
		return nil
	}
	l.fence.locks = slices.Delete(l.fence.locks, i, i+1)
	return l.inner.Close()
}

type fencedFile struct {
	vfs.File
	fence *fence
}

func (f *fencedFile) Write(p []byte) (n int, err error) {
	err = f.fence.change(func() error {
		n, err = f.File.Write(p)
		return err
	})
	return n, err
}

func (f *fencedFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.fence.change(func() error {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	return n, err
}

func (f *fencedFile) Preallocate(off, length int64) error {
	return f.fence.change(func() error { return f.File.Preallocate(off, length) })
}

func (f *fencedFile) Sync() error     { return f.fence.change(f.File.Sync) }
func (f *fencedFile) SyncData() error { return f.fence.change(f.File.SyncData) }

func (f *fencedFile) SyncTo(length int64) (full bool, err error) {
	err = f.fence.change(func() error {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}
