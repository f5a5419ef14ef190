package store

import (
	"errors"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// readOnly is a file system on which nothing can be changed. Locks are granted and
// mean nothing.
type readOnly struct {
	vfs.FS
	// only, unless it is nil, names the files that are to be seen, with their paths;
	// folders are always seen.
	only map[string]bool
}

var errReadOnlyFS = errors.New("the files are only read")

func (r readOnly) Unwrap() vfs.FS { return r.FS }

// List lists the folders, and those of the files that are to be seen.
func (r readOnly) List(dir string) ([]string, error) {
	names, err := r.FS.List(dir)
	if r.only == nil || err != nil {
		return names, err
	}
	var seen []string
	for _, name := range names {
		inner := r.FS.PathJoin(dir, name)
		info, err := r.FS.Stat(inner)
		if err == nil && info.IsDir() || r.only[inner] {
			seen = append(seen, name)
		}
	}
	return seen, nil
}

// OpenDir opens a folder that is never synced.
func (r readOnly) OpenDir(dir string) (vfs.File, error) { return r.FS.Open(dir) }

func (readOnly) Create(string, vfs.DiskWriteCategory) (vfs.File, error) { return nil, errReadOnlyFS }

func (readOnly) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, errReadOnlyFS
}

func (readOnly) ReuseForWrite(string, string, vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, errReadOnlyFS
}

func (readOnly) Link(string, string) error          { return errReadOnlyFS }
func (readOnly) Remove(string) error                { return errReadOnlyFS }
func (readOnly) RemoveAll(string) error             { return errReadOnlyFS }
func (readOnly) Rename(string, string) error        { return errReadOnlyFS }
func (readOnly) MkdirAll(string, os.FileMode) error { return errReadOnlyFS }
func (readOnly) Lock(string) (io.Closer, error)     { return noLock{}, nil }

type noLock struct{}

func (noLock) Close() error { return nil }
