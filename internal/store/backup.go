package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Backup writes a copy of all values, as they are at one moment during the call, to
// the folder dir, which must not exist or be empty. Everything goes on meanwhile.
// What it has written is a data directory with one more file, COMPLETE; without that file
// it is not a backup. It contains the secret: guard it like the original.
//
// All of the copy is read and verified before COMPLETE is written. The file of an array
// that is missing or damaged is written again from memory. If the copy is still
// incomplete, it is removed, and the error names what is missing or damaged.
func (s *Store) Backup(ctx context.Context, dir string) error {
	// One at a time: two backups to one folder would each verify the files of the other as
	// their own.
	s.backingUp.Lock()
	defer s.backingUp.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	if err := s.log.stopped(); err != nil {
		return err
	}
	if err := checkEmpty(s.opts.FS, dir); err != nil {
		return err
	}
	for again := false; ; again = true {
		v, err := s.copyTo(ctx, dir)
		if err == nil && len(v.Problems) == 0 {
			return s.complete(dir, v)
		}
		if err == nil {
			err = fmt.Errorf("the backup is damaged and has been removed: %w", v.err())
		}
		// Nothing but what was written here can be there.
		if removeErr := emptyFolder(s.opts.FS, dir); removeErr != nil || ctx.Err() != nil || v == nil || again || !s.renew(v.damaged()) {
			return errors.Join(err, removeErr)
		}
		s.opts.Events.Error(fmt.Errorf("a backup found damaged files, which are rewritten from memory: %w", v.err()))
	}
}

// copyTo copies everything and verifies the copy. It returns an error if the copy could not
// be verified.
func (s *Store) copyTo(ctx context.Context, dir string) (*verifier, error) {
	if err := s.copyAll(ctx, dir); err != nil {
		return nil, err
	}
	v := newVerifier(ctx, s.opts.FS, dir, nil)
	v.Backup = true
	if err := v.run(); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	return v, nil
}

// err returns an error about all that is wrong.
func (v *verifier) err() error {
	const most = 10
	var errs []error
	for _, p := range v.Problems[:min(len(v.Problems), most)] {
		errs = append(errs, p)
	}
	if more := len(v.Problems) - most; more > 0 {
		errs = append(errs, fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}

// damaged returns the numbers of the files of arrays that are missing or damaged.
func (v *verifier) damaged() map[uint64]bool {
	numbers := map[uint64]bool{}
	for _, p := range v.Problems {
		if p.number != 0 {
			numbers[p.number] = true
		}
	}
	return numbers
}

func (s *Store) copyAll(ctx context.Context, dir string) error {
	fsys := s.opts.FS
	// A checkpoint first, so that the log to be copied is short.
	if err := s.checkpoint(s.upToWritten); err != nil {
		return err
	}
	// No checkpoint may remove the files that the copy of the catalogue refers to.
	s.checkpointing.Lock()
	defer s.checkpointing.Unlock()
	folder := fsys.PathJoin(dir, filesName)
	if err := makeFolder(fsys, folder); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	// The moment of the backup: the end of a record of the log, synced.
	if err := s.flush(ctx, s.Last()); err != nil {
		return err
	}
	db := s.db.Load()
	if err := db.guarded(func() error {
		return db.db.Checkpoint(fsys.PathJoin(dir, dbName), pebble.WithFlushedWAL())
	}); err != nil {
		return fmt.Errorf("backup of the database: %w", err)
	}
	if err := s.copyFiles(folder, ctx.Err); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	secret := s.hash.Secret
	if err := writeSmall(fsys, dir, secretName, secret[:]); err != nil {
		return fmt.Errorf("backup of the secret: %w", err)
	}
	return nil
}

// complete writes COMPLETE of a backup that was verified.
func (s *Store) complete(dir string, v *verifier) error {
	list := backupList{}
	for _, name := range slices.Sorted(maps.Keys(v.sums)) {
		list.entries = append(list.entries, listed{name, v.sums[name], true})
	}
	if err := writeSmall(s.opts.FS, dir, completeName, list.append(nil)); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// copyFiles copies the files of arrays that the catalogue and the log refer to. What is
// missing is found by the verification of the copy. It stops with the error of going.
func (s *Store) copyFiles(to string, going func() error) error {
	for _, n := range s.fileNumbers() {
		err := linkOrCopy(s.opts.FS, s.files.path(n), s.opts.FS.PathJoin(to, s.opts.FS.PathBase(s.files.path(n))), going)
		var unread *unreadError
		if err != nil && !errors.As(err, &unread) {
			return err
		}
	}
	return syncFolder(s.opts.FS, to)
}

// fileNumbers returns the numbers of the files that something refers to.
func (s *Store) fileNumbers() (numbers []uint64) {
	s.space.Lock()
	defer s.space.Unlock()
	for _, v := range s.values {
		numbers = append(numbers, v.head().stored.numbers()...)
	}
	for _, d := range s.dead {
		numbers = append(numbers, d.numbers()...)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// Restore makes a data directory of a backup, of which it verifies every file. dir must
// not exist or be empty; it appears when it is complete. A nil fsys stands for the
// system's.
func Restore(backup, dir string, fsys vfs.FS) error {
	fsys = cmp.Or(fsys, systemFS)
	list, err := readList(fsys, backup)
	if err == nil && list == nil {
		list, err = listAll(fsys, backup)
	}
	if err == nil {
		err = list.checkSizes(fsys, backup)
	}
	if err != nil {
		return fmt.Errorf("%s is not a complete backup: %w", backup, err)
	}
	if err := checkEmpty(fsys, dir); err != nil {
		return err
	}
	temp := dir + ".restoring"
	if err := fsys.RemoveAll(temp); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if err := makeFolder(fsys, fsys.PathJoin(temp, filesName)); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	err = list.copy(fsys, backup, temp)
	if err == nil {
		err = verifyCopy(fsys, backup, temp)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("restore: %w", err), fsys.RemoveAll(temp))
	}
	// An empty folder may have the new name already.
	if err := fsys.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("restore: %w", err)
	}
	if err := fsys.Rename(temp, dir); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return syncFolder(fsys, fsys.PathDir(dir))
}

// verifyCopy returns an error unless the folder that was made of a backup is whole. The
// checksums in the list of a backup do not tell two files of one size apart if both end in
// their own checksum: CRC-32 of such files depends on the size alone.
func verifyCopy(fsys vfs.FS, backup, dir string) error {
	v := newVerifier(context.Background(), fsys, dir, nil)
	if err := v.run(); err != nil {
		return err
	}
	if err := v.err(); err != nil {
		return fmt.Errorf("%s: %w; use another backup", backup, err)
	}
	return nil
}

// listAll lists the files of a backup that does not name them.
func listAll(fsys vfs.FS, backup string) (*backupList, error) {
	v := newVerifier(context.Background(), fsys, backup, nil)
	all := map[string]int64{}
	if err := errors.Join(v.walk("", all), v.err()); err != nil {
		return nil, err
	}
	list := &backupList{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name != completeName && name != lockName {
			list.entries = append(list.entries, listed{name: name, checked: checked{size: uint64(all[name])}})
		}
	}
	return list, nil
}

// copy copies the files of a backup, and compares each with the list.
func (b *backupList) copy(fsys vfs.FS, from, to string) error {
	folders := map[string]bool{to: true, fsys.PathJoin(to, filesName): true}
	for _, l := range b.entries {
		source, target := fsys.PathJoin(from, l.name), fsys.PathJoin(to, l.name)
		if folder := fsys.PathDir(target); !folders[folder] {
			folders[folder] = true
			if err := makeFolder(fsys, folder); err != nil {
				return err
			}
		}
		is, err := copyFile(fsys, source, target, func() error { return nil })
		if err != nil {
			return err
		}
		if err := l.compare(is); err != nil {
			return fmt.Errorf("%s: %w; use another backup", source, err)
		}
	}
	for folder := range folders {
		if err := syncFolder(fsys, folder); err != nil {
			return err
		}
	}
	return nil
}

// checkEmpty returns an error unless a folder does not exist or is empty.
func checkEmpty(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	switch {
	case err == nil && len(names) > 0:
		return fmt.Errorf("the folder %s is not empty; give one that does not exist or is empty", dir)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	}
	return nil
}

func emptyFolder(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		err = errors.Join(err, fsys.RemoveAll(fsys.PathJoin(dir, name)))
	}
	return err
}

// unreadError is an error of reading a file, which may not be damaged.
type unreadError struct{ error }

func (e *unreadError) Unwrap() error { return e.error }

// unreadReader makes errors of reading a file unreadErrors.
type unreadReader struct{ io.Reader }

func (r unreadReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = &unreadError{err}
	}
	return n, err
}

// linkOrCopy gives a file that never changes a second name, or copies it where that is
// impossible.
func linkOrCopy(fsys vfs.FS, source, target string, going func() error) error {
	info, err := fsys.Stat(source)
	if err != nil || info.IsDir() {
		return &unreadError{errors.Join(err, os.ErrNotExist)}
	}
	if err := fsys.Link(source, target); err == nil {
		return nil
	}
	_, err = copyFile(fsys, source, target, going)
	return err
}

// copyFile copies a file durably, and returns its size and checksum. If going, which is
// called for every piece, returns an error, it stops.
func copyFile(fsys vfs.FS, source, target string, going func() error) (checked, error) {
	in, err := fsys.Open(source, vfs.SequentialReadsOption)
	if err != nil {
		return checked{}, &unreadError{err}
	}
	defer in.Close() // it is only read
	t := &tally{r: unreadReader{in}, pace: func(int) error { return nil }}
	_, err = writeHoles(fsys, target, going, true, func(w io.Writer) error {
		_, err := io.CopyBuffer(w, t, make([]byte, holePiece))
		return err
	})
	return t.checked, err
}
