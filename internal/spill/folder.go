package spill

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"seen/internal/vfs"
)

// Config says where a Folder is and how much it may hold.
type Config struct {
	Dir string // "" is the folder for temporary files of the system
	Max uint64 // bytes on disk at any time; 0 means no limit
	FS  vfs.FS // nil is the operating system's
}

// Folder makes the files of one run. Where the system allows it they have no name, so that
// they vanish when the process ends in any way. Elsewhere they have one and are locked, and
// the next Folder in the same place removes those of dead processes.
type Folder struct {
	dir     string
	max     uint64
	fsys    vfs.FS
	used    atomic.Int64
	peak    atomic.Int64
	written atomic.Int64
}

// fileName is the name of files where files need one, apart from what CreateTemp adds.
const fileName = "seen-spill"

// Open returns a Folder. It makes a file for a moment, so that a folder in which files
// cannot be made is an error here, and removes the files that dead processes have left.
func Open(c Config) (*Folder, error) {
	f := &Folder{dir: cmp.Or(c.Dir, os.TempDir()), max: c.Max, fsys: c.FS}
	if f.fsys == nil {
		f.fsys = vfs.OS
		vfs.RemoveOrphans(filepath.Join(f.dir, fileName))
	}
	probe, err := f.Create()
	if err != nil {
		var failed *fs.PathError
		if errors.As(err, &failed) {
			err = failed.Err // its name means nothing to the user
		}
		return nil, fmt.Errorf("temporary files cannot be made in %s: %w", f.dir, err)
	}
	return f, probe.Close()
}

// Dir returns the folder.
func (f *Folder) Dir() string { return f.dir }

// Max returns the limit, 0 if there is none.
func (f *Folder) Max() uint64 { return f.max }

// Used returns the bytes in files that are open now.
func (f *Folder) Used() uint64 { return uint64(f.used.Load()) }

// Peak returns the largest value that Used had.
func (f *Folder) Peak() uint64 { return uint64(f.peak.Load()) }

// Written returns the bytes that were written in all.
func (f *Folder) Written() uint64 { return uint64(f.written.Load()) }

// Free returns the bytes that are free on the disk of the folder; false if that is unknown.
func (f *Folder) Free() (uint64, bool) {
	if f.fsys != vfs.OS {
		return 0, false
	}
	return diskFree(f.dir)
}

// InMemory reports whether the files of the folder are known to be in memory.
func (f *Folder) InMemory() bool { return f.fsys == vfs.OS && isMemory(f.dir) }

// FullError says that the disk has no room for more.
type FullError struct {
	Dir  string
	Used uint64 // bytes of this run on the disk
	Err  error  // what the system says
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the disk of %s is full (%v) with %d bytes of temporary files", e.Dir, e.Err, e.Used)
}

// Unwrap returns Err.
func (e *FullError) Unwrap() error { return e.Err }

// LimitError says that the files would be larger than Config.Max.
type LimitError struct {
	Dir    string
	Max    uint64
	Needed uint64 // at least
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the temporary files in %s need %d bytes, more than the limit of %d", e.Dir, e.Needed, e.Max)
}

// take counts n bytes that are about to be written.
func (f *Folder) take(n int) error {
	used := f.used.Add(int64(n))
	if f.max > 0 && uint64(used) > f.max {
		f.used.Add(int64(-n))
		return &LimitError{Dir: f.dir, Max: f.max, Needed: uint64(used)}
	}
	for peak := f.peak.Load(); used > peak && !f.peak.CompareAndSwap(peak, used); peak = f.peak.Load() {
	}
	f.written.Add(int64(n))
	return nil
}

// explain makes a *FullError of an error that says that there is no room.
func (f *Folder) explain(err error) error {
	if isFull(err) {
		return &FullError{Dir: f.dir, Used: f.Used(), Err: innermost(err)}
	}
	return err
}

// innermost returns what the system says, without the name of a file that has none.
func innermost(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// File is a file of a Folder. It grows at its end only.
type File struct {
	folder *Folder
	file   vfs.File
	remove bool // its name is still there
	size   int64
}

// Create makes a file.
func (f *Folder) Create() (*File, error) {
	if unnamed != 0 {
		if file, err := f.fsys.OpenFile(f.dir, unnamed|os.O_RDWR|os.O_EXCL, vfs.Private); err == nil {
			return &File{folder: f, file: file}, nil
		}
		// Not every file system has files without a name. If the reason is another one, the
		// next attempt meets it too.
	}
	file, err := f.fsys.CreateTemp(filepath.Join(f.dir, fileName), vfs.Private)
	if err != nil {
		return nil, f.explain(err)
	}
	remove := f.fsys.Remove(file.Name()) != nil // then Close removes it
	return &File{folder: f, file: file, remove: remove}, nil
}

// Size returns the length of the file.
func (f *File) Size() int64 { return f.size }

// Append writes p at the end and returns where it begins. After an error the length is
// what it was. The errors include *FullError and *LimitError.
func (f *File) Append(p []byte) (at int64, err error) {
	if err := f.folder.take(len(p)); err != nil {
		return 0, err
	}
	at = f.size
	if _, err := f.file.WriteAt(p, at); err != nil {
		f.folder.used.Add(int64(-len(p)))
		return 0, f.folder.explain(err)
	}
	f.size += int64(len(p))
	return at, nil
}

// ReadAt fills p from offset at.
func (f *File) ReadAt(p []byte, at int64) error {
	n, err := f.file.ReadAt(p, at)
	switch {
	case n == len(p):
		return nil
	case err == nil || err == io.EOF:
		return &DamageError{Dir: f.folder.dir, What: fmt.Sprintf("it ends after %d bytes", at+int64(n))}
	}
	return fmt.Errorf("temporary file in %s: %w", f.folder.dir, innermost(err))
}

// advise tells the system that n bytes at offset at will be read soon.
func (f *File) advise(at int64, n int) {
	if file, ok := f.file.(*os.File); ok {
		adviseWillNeed(file, at, int64(n))
	}
}

// Close gives the disk space back. It does nothing the second time.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	name := f.file.Name()
	err := f.file.Close()
	if f.remove {
		err = errors.Join(err, f.folder.fsys.Remove(name))
	}
	f.folder.used.Add(-f.size)
	f.file, f.size = nil, 0
	return err
}

// DamageError says that a file does not hold what was written.
type DamageError struct {
	Dir  string
	What string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("a temporary file in %s was damaged while it was in use: %s; use another folder or disk", e.Dir, e.What)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the checksum for data of a File.
func Checksum(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }
