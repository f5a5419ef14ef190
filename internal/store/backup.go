package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// completeName is the file that a backup has once all else of it is durable. Below
// the line completeTitle it names every other file, after its size and a space.
const (
	completeName  = "COMPLETE"
	completeTitle = "seen backup\n"
)

// Backup writes a copy of all values, as they are at one moment during the call, to
// the folder dir, which must not exist or be empty. Everything goes on meanwhile.
// What it has written is a data directory with one more file, COMPLETE; without that
// it is good for nothing. It contains the secret: guard it like the original.
func (s *Store) Backup(dir string) (err error) {
	fsys := s.opts.FS
	if err := s.log.stopped(); err != nil {
		return err
	}
	if err := checkEmpty(fsys, dir); err != nil {
		return err
	}
	// A checkpoint first, so that the log to be copied is short.
	if err := s.checkpoint(s.upToWritten); err != nil {
		return err
	}
	// No checkpoint may remove the files that the copy of the catalogue refers to.
	s.checkpointing.Lock()
	defer s.checkpointing.Unlock()
	folder := fsys.PathJoin(dir, filesName)
	if err := makeFolder(fsys, folder); err != nil {
		return fmt.Errorf("store: backup: %w", err)
	}
	// The moment of the backup: the end of a record of the log, synced.
	if err := s.flush(context.Background(), s.Last()); err != nil {
		return err
	}
	db := s.db.Load()
	if err := db.guarded(func() error {
		return db.db.Checkpoint(fsys.PathJoin(dir, dbName), pebble.WithFlushedWAL())
	}); err != nil {
		return fmt.Errorf("store: backup of the database: %w", err)
	}
	if err := s.copyFiles(folder); err != nil {
		return fmt.Errorf("store: backup: %w", err)
	}
	secret := s.hash.Secret
	if err := writeSmall(fsys, dir, secretName, secret[:]); err != nil {
		return fmt.Errorf("store: backup of the secret: %w", err)
	}
	list, err := listFiles(fsys, []byte(completeTitle), dir, "")
	if err != nil {
		return fmt.Errorf("store: backup: %w", err)
	}
	return writeSmall(fsys, dir, completeName, list)
}

// listFiles appends a line for each file in the folder name of dir to b.
func listFiles(fsys vfs.FS, b []byte, dir, name string) ([]byte, error) {
	names, err := fsys.List(fsys.PathJoin(dir, name))
	if err != nil {
		return b, err
	}
	slices.Sort(names)
	for _, inner := range names {
		inner = path.Join(name, inner)
		info, err := fsys.Stat(fsys.PathJoin(dir, inner))
		switch {
		case err != nil:
			return b, err
		case info.IsDir():
			if b, err = listFiles(fsys, b, dir, inner); err != nil {
				return b, err
			}
		default:
			b = fmt.Appendf(b, "%d %s\n", info.Size(), inner)
		}
	}
	return b, nil
}

// checkComplete returns an error unless all files that a backup names are there with
// their sizes: it may have been copied since, and not all of it. Backups of earlier
// versions name none.
func checkComplete(fsys vfs.FS, backup string) error {
	list, err := readSmall(fsys, fsys.PathJoin(backup, completeName))
	if err != nil {
		return err
	}
	for line := range strings.Lines(strings.TrimPrefix(string(list), completeTitle)) {
		size, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		want, err := strconv.ParseInt(size, 10, 64)
		if !ok || err != nil || !strings.HasSuffix(line, "\n") {
			return fmt.Errorf("%s is damaged at the line %q", completeName, line)
		}
		info, err := fsys.Stat(fsys.PathJoin(backup, name))
		if err != nil {
			return err
		}
		if info.Size() != want {
			return fmt.Errorf("%s has %d bytes, and had %d when the backup was written", name, info.Size(), want)
		}
	}
	return nil
}

// copyFiles copies all files of arrays. There may be some too many: Open removes
// those that nothing refers to.
func (s *Store) copyFiles(to string) error {
	names, err := s.opts.FS.List(s.files.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := linkOrCopy(s.opts.FS, s.opts.FS.PathJoin(s.files.dir, name), s.opts.FS.PathJoin(to, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return syncFolder(s.opts.FS, to)
}

// Restore makes a data directory of a backup. dir must not exist or be empty; it
// appears when it is complete. A nil fsys stands for the system's.
func Restore(backup, dir string, fsys vfs.FS) error {
	if fsys == nil {
		fsys = vfs.Default
	}
	if err := checkComplete(fsys, backup); err != nil {
		return fmt.Errorf("store: %s is no complete backup: %w", backup, err)
	}
	if err := checkEmpty(fsys, dir); err != nil {
		return err
	}
	temp := dir + ".restoring"
	if err := fsys.RemoveAll(temp); err != nil {
		return fmt.Errorf("store: restore: %w", err)
	}
	if err := makeFolder(fsys, temp); err != nil {
		return fmt.Errorf("store: restore: %w", err)
	}
	if err := copyTree(fsys, backup, temp); err != nil {
		return fmt.Errorf("store: restore: %w", err)
	}
	// An empty folder may stand in the way of the new name.
	if err := fsys.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("store: restore: %w", err)
	}
	if err := fsys.Rename(temp, dir); err != nil {
		return fmt.Errorf("store: restore: %w", err)
	}
	return syncFolder(fsys, fsys.PathDir(dir))
}

// checkEmpty returns an error unless a folder does not exist or is empty.
func checkEmpty(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	switch {
	case err == nil && len(names) > 0:
		return fmt.Errorf("store: the folder %s is not empty; give one that does not exist or is empty", dir)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// copyTree copies a folder with all in it, but for the marks that say what it is.
func copyTree(fsys vfs.FS, from, to string) error {
	names, err := fsys.List(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		source, target := fsys.PathJoin(from, name), fsys.PathJoin(to, name)
		info, err := fsys.Stat(source)
		switch {
		case err != nil:
			return err
		case name == completeName || name == lockName:
			continue
		case info.IsDir():
			if err := makeFolder(fsys, target); err != nil {
				return err
			}
			if err := copyTree(fsys, source, target); err != nil {
				return err
			}
		default:
			if err := copyFile(fsys, source, target, info.Mode().Perm()); err != nil {
				return err
			}
		}
	}
	return syncFolder(fsys, to)
}

// linkOrCopy gives a file that nobody changes a second name, or copies it where that
// is impossible.
func linkOrCopy(fsys vfs.FS, source, target string) error {
	if err := fsys.Link(source, target); err == nil {
		return nil
	}
	return copyFile(fsys, source, target, 0o600)
}

// copyFile copies a file durably.
func copyFile(fsys vfs.FS, source, target string, mode os.FileMode) error {
	in, err := fsys.Open(source, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := fsys.Create(target, writeCategory)
	if err != nil {
		return err
	}
	if out.Fd() != vfs.InvalidFd { // a file of the system
		err = os.Chmod(target, mode)
	}
	if err == nil {
		_, err = io.Copy(out, in)
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
