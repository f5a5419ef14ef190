package vfs

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// OS is the file system of the operating system. Its files are *os.File.
var OS FS = osFS{}

type osFS struct{}

func (osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err // not f: a nil *os.File in a File is not nil
	}
	return f, nil
}

func (osFS) Rename(from, to string) error          { return os.Rename(from, to) }
func (osFS) Remove(name string) error              { return os.Remove(name) }
func (osFS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }
func (osFS) Readlink(name string) (string, error)  { return os.Readlink(name) }

func (osFS) SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be synced there
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close() // it is only read
	err = d.Sync()
	// Some file systems know no sync of folders and say so; there is nothing
	// else to call.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
