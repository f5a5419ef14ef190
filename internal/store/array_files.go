package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The data directory.
const (
	lockName   = "LOCK"
	secretName = "secret" // the secret of the key hash
	dbName     = "db"     // the database
	filesName  = "values" // one file for each large array
	fileSuffix = ".seen"
)

const writeCategory vfs.DiskWriteCategory = "seen"

// files are the arrays that have files of their own. A file is written once, under a
// number that was never used before, and removed when nothing refers to it.
type files struct {
	fs    vfs.FS
	dir   string
	last  atomic.Uint64 // the last number that was given
	hooks hooks
}

// atLeast notes that a number was given.
func (f *files) atLeast(n uint64) {
	if n > f.last.Load() {
		f.last.Store(n)
	}
}

func (f *files) path(n uint64) string {
	return f.fs.PathJoin(f.dir, fmt.Sprintf("%016x%s", n, fileSuffix))
}

// write makes a file of what write writes. The file is durable when its folder has been
// synced, too. If going, which is called for every piece, returns an error, it stops.
func (f *files) write(n uint64, write func(io.Writer) error, going func() error) (ref fileRef, size uint64, err error) {
	name := f.path(n)
	w, err := writeHoles(f.fs, name, going, !f.hooks.noFileSync, write)
	if w == nil {
		return ref, 0, err
	}
	if err != nil {
		// If this fails, Open removes the file.
		_ = f.fs.Remove(name)
		return ref, 0, fmt.Errorf("writing %s: %w", name, err)
	}
	return fileRef{n, binary.LittleEndian.Uint32(w.last[:]), true}, uint64(w.at), nil
}

// sync makes the names of new files durable.
func (f *files) sync() error {
	if f.hooks.noFolderSync {
		return nil
	}
	return syncFolder(f.fs, f.dir)
}

func syncFolder(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// remove removes files that nothing refers to. Those that cannot be removed now are removed
// when the store is opened next.
func (f *files) remove(numbers []uint64) {
	for _, n := range numbers {
		_ = f.fs.Remove(f.path(n)) // Open removes what is left
	}
}

// fileNumber returns the number of the file of an array by its name.
func fileNumber(name string) (n uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, fileSuffix)
	n, err := strconv.ParseUint(digits, 16, 64)
	return n, ok && err == nil
}

func (f *files) removeOthers(keep map[uint64]bool) error {
	names, err := f.fs.List(f.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		n, ok := fileNumber(name)
		if !ok || keep[n] {
			continue
		}
		name = f.fs.PathJoin(f.dir, name)
		if info, err := f.fs.Stat(name); err == nil && info.IsDir() {
			continue // it is not ours
		}
		if err := f.fs.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// open opens a file for reading, and returns its length.
func (f *files) open(n uint64) (vfs.File, uint64, error) {
	file, err := f.fs.Open(f.path(n), vfs.SequentialReadsOption)
	if err != nil {
		return nil, 0, fmt.Errorf("a file of the data directory cannot be opened; restore it from a backup: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, uint64(info.Size()), nil
}

// summed passes on what is written and ends it with its CRC-32, little-endian, for
// contents that have no checksums of their own.
func summed(w io.Writer, write func(io.Writer) error) error {
	s := &summer{w: w, sum: crc32.NewIEEE()}
	if err := write(s); err != nil {
		return err
	}
	_, err := w.Write(binary.LittleEndian.AppendUint32(nil, s.sum.Sum32()))
	return err
}

type summer struct {
	w   io.Writer
	sum hash.Hash32
}

func (s *summer) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.sum.Write(p[:n])
	return n, err
}

// compare returns an error unless the last bytes of a file are those that it was
// written with.
func (r fileRef) compare(end []byte) error {
	if sum := binary.LittleEndian.Uint32(end[len(end)-4:]); r.summed && sum != r.sum {
		return fmt.Errorf("its checksum is %08x instead of %08x: it is the file of another filter, or an older one", sum, r.sum)
	}
	return nil
}

// makeFolder makes a folder, and those above it, durably.
func makeFolder(fsys vfs.FS, dir string) error {
	var made []string
	for at := dir; ; at = fsys.PathDir(at) {
		made = append(made, at)
		if _, err := fsys.Stat(at); err == nil || fsys.PathDir(at) == at {
			break
		}
	}
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, folder := range slices.Backward(made) {
		if err := syncFolder(fsys, folder); err != nil && !errors.Is(err, os.ErrPermission) {
			return err
		}
	}
	return nil
}

// writeSmall writes a whole small file, durably and all or nothing.
func writeSmall(fsys vfs.FS, dir, name string, b []byte) error {
	if err := replaceSmall(fsys, dir, name, b, vfs.File.Sync); err != nil {
		return err
	}
	return syncFolder(fsys, dir)
}

// replaceSmall writes a whole small file under another name, syncs it and gives it its name.
func replaceSmall(fsys vfs.FS, dir, name string, b []byte, sync func(vfs.File) error) error {
	temp := fsys.PathJoin(dir, name+".new")
	f, err := fsys.Create(temp, writeCategory)
	if err != nil {
		return err
	}
	_, err = f.Write(slices.Clone(b)) // it may change what it is given
	if err == nil {
		err = sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return fsys.Rename(temp, fsys.PathJoin(dir, name))
}

func readSmall(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, errors.Join(err, f.Close())
}
