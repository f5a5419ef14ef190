// Package vfs has the few file operations that keep files intact: atomic replacement,
// locks that end with their holder, and syncs of files and folders. All code that must
// survive a crash uses its FS interface, so that tests can crash and fail it after every
// operation.
//
// It is not a general file system layer: code that only reads a stream uses package
// os. OS is the real file system; package memfs, for tests, forgets at a crash what
// was not synced.
//
// An FS is safe for concurrent use; a File is as safe as *os.File.
package vfs

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
)

// FS is a file system. Paths are as for package os, errors too: *fs.PathError
// and the like, to be tested with errors.Is.
type FS interface {
	// OpenFile opens a file as os.OpenFile does.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// CreateTemp creates a new file with the permissions perm, before umask, in the
	// folder of name, for a caller that will rename it to name. Where locks show that the
	// creator of an earlier temporary file for name has died, that file is removed first.
	CreateTemp(name string, perm fs.FileMode) (File, error)
	// Rename replaces to by from. Both are in the same folder.
	Rename(from, to string) error
	// Remove removes a file.
	Remove(name string) error
	// Stat describes the file that name leads to.
	Stat(name string) (fs.FileInfo, error)
	// Readlink returns where the symbolic link name leads; an error if it is not a link.
	Readlink(name string) (string, error)
	// SyncDir makes creations, renames and removals in dir durable.
	SyncDir(dir string) error
	// BootID identifies the run of the machine since its start, to tell the crash of a
	// process from the crash of the machine. It is all zeros if the system does not know.
	BootID() ([16]byte, error)
	// Lock takes the lock file name, creating it where it is missing, or returns
	// a *LockedError. Closing the result releases the lock and removes the file.
	// Use the function Lock, which finds the name.
	Lock(name string) (io.Closer, error)
}

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
	Chmod(mode fs.FileMode) error
	Truncate(size int64) error
	// Sync makes the contents durable.
	Sync() error
}

// Mapper is a File with its own way to be mapped into memory. Files of OS do not have it:
// they are mapped through their descriptor.
type Mapper interface {
	// Map maps the first size bytes.
	Map(size int, writable bool) (Mapping, error)
}

// Mapping is a file's contents in memory.
type Mapping interface {
	// Bytes returns the contents, valid until Close. Storing into a mapping that
	// is not writable is a fault.
	Bytes() []byte
	// Sync makes what was stored into n bytes at off, a multiple of the system's
	// page size, durable.
	Sync(off, n int) error
	Close() error
}

// maxLinks is how many symbolic links Resolve follows, as many as Linux does.
const maxLinks = 40

// Resolve follows the symbolic links that the last element of name is, so that
// the result is the file itself, which may not exist. A write that replaces name must
// replace this file, or it would replace the link.
func Resolve(fsys FS, name string) (string, error) {
	path := name
	for range maxLinks {
		to, err := fsys.Readlink(path)
		if err != nil {
			return path, nil // not a link; what is wrong with it, its opener will say
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", &fs.PathError{Op: "resolve", Path: name, Err: errors.New("too many symbolic links")}
}
