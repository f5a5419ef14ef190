package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Modes of the files and folders of a store: only the owner may reach the secret and the
// filters, whatever the umask of the process and the mode of the folder above are.
const (
	privateFile   fs.FileMode = 0o600
	privateFolder fs.FileMode = 0o700
)

// systemFS is the file system of the machine, in which all files are made private.
var systemFS vfs.FS = privateFS{vfs.Default}

// privateFS makes files and folders that only their owner can reach from the moment they
// exist: a process that opens a file before its mode changes can read it forever.
type privateFS struct{ vfs.FS }

// Unwrap returns the file system within.
func (p privateFS) Unwrap() vfs.FS { return p.FS }

// make makes an empty file, in the place of another one.
func (p privateFS) make(name string) error {
	for {
		err := makeNew(name)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

func (p privateFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := p.make(name); err != nil {
		return nil, err
	}
	return p.FS.OpenReadWrite(name, c)
}

func (p privateFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	if err := p.ensure(name); err != nil {
		return nil, err
	}
	return p.FS.OpenReadWrite(name, c, o...)
}

func (p privateFS) ensure(name string) error {
	err := makeNew(name)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func makeNew(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, privateFile)
	if err != nil {
		return err
	}
	return f.Close()
}

// Lock makes the file only where it is missing: closing another descriptor of a file
// that is locked would release the lock.
func (p privateFS) Lock(name string) (io.Closer, error) {
	if err := p.ensure(name); err != nil {
		return nil, err
	}
	return p.FS.Lock(name)
}

// ReuseForWrite makes the file private before it is written anew, since it may come
// from a version that did not make it so.
func (p privateFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := os.Chmod(from, privateFile); err != nil {
		return nil, err
	}
	return p.FS.ReuseForWrite(from, to, c)
}

func (p privateFS) MkdirAll(dir string, perm fs.FileMode) error {
	return p.FS.MkdirAll(dir, perm&privateFolder)
}

// Link refuses to link a file that others can read, so that the caller copies it.
func (p privateFS) Link(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if loose(info) {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: fmt.Errorf("the file has the mode %04o: %w", info.Mode().Perm(), errors.ErrUnsupported)}
	}
	return p.FS.Link(from, to)
}

// loose reports whether others than the owner have a right to a file or folder.
// Windows has other rights, which are those of the folder above.
func loose(info fs.FileInfo) bool { return runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 }

// Loose returns a few of the files and folders of a data directory, itself included, that
// others than its owner can reach or read, and the number of all of them.
func Loose(dir string) (names []string, all int, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing yet, or not any more
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && info.Mode()&fs.ModeSymlink == 0 && loose(info) {
			all++
			if len(names) < 3 {
				names = append(names, fmt.Sprintf("%s (%04o)", name, info.Mode().Perm()))
			}
		}
		return err
	})
	return names, all, err
}
