package store

import (
	"bufio"
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

// files are the arrays that stand in files of their own. A file is written once,
// under a number that no other has had, and removed when nothing refers to it.
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

// write makes a file of what write writes. It is durable when its folder has been
// synced too.
func (f *files) write(n uint64, write func(io.Writer) error) (size uint64, err error) {
	name := f.path(n)
	file, err := f.fs.Create(name, writeCategory)
	if err != nil {
		return 0, err
	}
	// Written back bit by bit, so that the sync at the end does not hold up the
	// syncs of the log.
	file = vfs.NewSyncingFile(file, vfs.SyncingFileOptions{BytesPerSync: 4 << 20, NoSyncOnClose: true})
	w := &counter{w: bufio.NewWriterSize(file, 1<<20)}
	if err = write(w); err == nil {
		err = w.w.Flush()
	}
	if err == nil && !f.hooks.noFileSync {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err != nil {
		// The attempt is all that can be done; Open removes what is left.
		_ = f.fs.Remove(name)
		return 0, fmt.Errorf("store: writing %s: %w", name, err)
	}
	return w.n, nil
}

// counter counts what is written.
type counter struct {
	w *bufio.Writer
	n uint64
}

// Write writes p in pieces that go through the buffer, since a vfs.File may change
// what it is given.
func (c *counter) Write(p []byte) (int, error) {
	for piece := range slices.Chunk(p, 64<<10) {
		n, err := c.w.Write(piece)
		c.n += uint64(n)
		if err != nil {
			return n, err
		}
	}
	return len(p), nil
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

// remove removes files that nothing refers to. What cannot be removed now is when
// the store is opened next.
func (f *files) remove(numbers []uint64) {
	for _, n := range numbers {
		_ = f.fs.Remove(f.path(n))
	}
}

// removeOthers removes all files but the given ones.
func (f *files) removeOthers(keep map[uint64]bool) error {
	names, err := f.fs.List(f.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		digits, ok := strings.CutSuffix(name, fileSuffix)
		n, err := strconv.ParseUint(digits, 16, 64)
		if !ok || err != nil || keep[n] {
			continue
		}
		if err := f.fs.Remove(f.fs.PathJoin(f.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// open opens a file for reading, and returns its length.
func (f *files) open(n uint64) (vfs.File, uint64, error) {
	file, err := f.fs.Open(f.path(n), vfs.SequentialReadsOption)
	if err != nil {
		return nil, 0, fmt.Errorf("store: a file of the data directory cannot be opened; restore it from a backup: %w", err)
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

// readSummed returns what summed has written to a file.
func (f *files) readSummed(n uint64) ([]byte, error) {
	file, size, err := f.open(n)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b := make([]byte, size)
	if _, err := io.ReadFull(file, b); err != nil {
		return nil, fmt.Errorf("store: reading %s: %w", f.path(n), err)
	}
	if size < crc32.Size || crc32.ChecksumIEEE(b[:size-crc32.Size]) != binary.LittleEndian.Uint32(b[size-crc32.Size:]) {
		return nil, fmt.Errorf("store: %s is damaged: its %d bytes do not match their checksum; restore it from a backup", f.path(n), size)
	}
	return b[:size-crc32.Size], nil
}

// makeFolder makes a folder, and those that it stands in, durably.
func makeFolder(fsys vfs.FS, dir string) error {
	var made []string
	for at := dir; ; at = fsys.PathDir(at) {
		if _, err := fsys.Stat(at); err == nil || fsys.PathDir(at) == at {
			made = append(made, at)
			break
		}
		made = append(made, at)
	}
	if err := fsys.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i := len(made) - 1; i >= 0; i-- {
		if err := syncFolder(fsys, made[i]); err != nil && !errors.Is(err, os.ErrPermission) {
			return err
		}
	}
	return nil
}

// writeSmall writes a whole small file, durably and all or nothing. Only the owner
// of the process may read it.
func writeSmall(fsys vfs.FS, dir, name string, b []byte) error {
	temp := fsys.PathJoin(dir, name+".new")
	f, err := fsys.Create(temp, writeCategory)
	if err != nil {
		return err
	}
	if f.Fd() != vfs.InvalidFd { // a file of the system
		err = os.Chmod(temp, 0o600)
	}
	if err == nil {
		_, err = f.Write(slices.Clone(b)) // it may change what it is given
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(temp, fsys.PathJoin(dir, name)); err != nil {
		return err
	}
	return syncFolder(fsys, dir)
}

// readSmall returns a whole small file.
func readSmall(fsys vfs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, errors.Join(err, f.Close())
}
