package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteAtomic makes write's output the contents of the file path. A reader, also after a
// crash, sees the former file or the new one, never a part. If it returns nil the new file
// is durable; if it returns an error before the replacement, the former file is untouched
// and the temporary one removed.
//
// The new file keeps the permissions of the one it replaces (its owner becomes
// the writer). A file without write permission is refused, though a rename could
// replace it. If path is a symbolic link, the file it leads to is replaced. What
// is not a regular file is refused.
func WriteAtomic(fsys FS, path string, write func(io.Writer) error) error {
	return writeAtomic(fsys, path, Shared, write)
}

// WritePrivate is WriteAtomic for a file with secrets: where it is new, only its
// owner can read it.
func WritePrivate(fsys FS, path string, write func(io.Writer) error) error {
	return writeAtomic(fsys, path, Private, write)
}

// Permissions of new files, before umask.
const (
	Shared  fs.FileMode = 0o666
	Private fs.FileMode = 0o600
)

func writeAtomic(fsys FS, path string, perm fs.FileMode, write func(io.Writer) error) error {
	r, err := Replace(fsys, path, perm)
	if err != nil {
		return err
	}
	defer r.Abort()
	if err := write(r); err != nil {
		return err
	}
	return r.Commit()
}

// Replacement is a new file that will replace another, for writers that take long; see
// WriteAtomic. One goroutine uses it at a time.
type Replacement struct {
	fsys   FS
	target string
	temp   File
	open   bool
}

// Replace begins the replacement of the file path, which gets the permissions perm,
// before umask, where it is new. The caller writes and then calls Commit, or Abort, or
// both in this order.
func Replace(fsys FS, path string, perm fs.FileMode) (*Replacement, error) {
	target, err := Resolve(fsys, path)
	if err != nil {
		return nil, err
	}
	former, err := fsys.Stat(target)
	exists := !errors.Is(err, fs.ErrNotExist)
	if exists {
		if err != nil {
			return nil, err
		}
		if err := checkReplaceable(fsys, target, former); err != nil {
			return nil, err
		}
	}
	temp, err := fsys.CreateTemp(target, perm)
	if err != nil {
		return nil, errorOf(target, err)
	}
	r := &Replacement{fsys: fsys, target: target, temp: temp, open: true}
	if exists {
		if err := temp.Chmod(former.Mode().Perm()); err != nil {
			r.Abort()
			return nil, errorOf(target, err)
		}
	}
	return r, nil
}

func checkReplaceable(fsys FS, path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file (%v) and cannot be replaced; name another", path, info.Mode())
	}
	f, err := fsys.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// Write writes to the new file, without buffering.
func (r *Replacement) Write(p []byte) (int, error) {
	n, err := r.temp.Write(p)
	return n, errorOf(r.target, err)
}

// WriteAt writes at an offset of the new file.
func (r *Replacement) WriteAt(p []byte, off int64) (int, error) {
	n, err := r.temp.WriteAt(p, off)
	return n, errorOf(r.target, err)
}

// errorOf returns err with the name path in place of that of a file which the user does not
// know: a temporary file, or a lock.
func errorOf(path string, err error) error {
	var one *fs.PathError
	var two *os.LinkError
	switch {
	case errors.As(err, &one):
		return &fs.PathError{Op: one.Op, Path: path, Err: one.Err}
	case errors.As(err, &two):
		return &fs.PathError{Op: "replace", Path: path, Err: two.Err}
	}
	return err
}

// ReadAt reads what was written to the new file.
func (r *Replacement) ReadAt(p []byte, off int64) (int, error) { return r.temp.ReadAt(p, off) }

// Commit makes the new file durable and puts it in its place. After an error
// before that the former file is still there and the new one is removed. A second
// Commit, or one after Abort, returns fs.ErrClosed.
func (r *Replacement) Commit() error {
	if !r.open {
		return fs.ErrClosed
	}
	defer r.Abort()
	if err := r.temp.Sync(); err != nil {
		return errorOf(r.target, err)
	}
	if closeBeforeRename {
		if err := r.temp.Close(); err != nil {
			return errorOf(r.target, err)
		}
	}
	// Elsewhere renamed while open: the temporary file's lock must hold until its
	// name is gone, or another writer would take it for an orphan.
	if err := r.fsys.Rename(r.temp.Name(), r.target); err != nil {
		return errorOf(r.target, err)
	}
	r.open = false
	if !closeBeforeRename {
		r.temp.Close() // the contents are durable since Sync: nothing can be lost
	}
	if err := r.fsys.SyncDir(filepath.Dir(r.target)); err != nil {
		return fmt.Errorf("%s is replaced, but a power failure may bring the former file back: %w", r.target, err)
	}
	return nil
}

// Abort discards the new file unless it is committed. It does nothing after Commit, and
// may be deferred.
func (r *Replacement) Abort() {
	if !r.open {
		return
	}
	r.open = false
	if closeBeforeRename {
		r.temp.Close() // what cannot be removed now, the next writer removes
	}
	// Errors change nothing: what cannot be removed now is removed as an orphan
	// by the next writer.
	r.fsys.Remove(r.temp.Name())
	if !closeBeforeRename {
		r.temp.Close() // what cannot be removed now, the next writer removes
	}
}
