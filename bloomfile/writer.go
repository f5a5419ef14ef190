package bloomfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"

	"seen/bloom"
	"seen/internal/frame"
	"seen/internal/vfs"
)

// How a file is changed in place. A crash of the machine at any time is noticed; a crash
// of the process alone loses nothing.
//
//  1. The lock is taken.
//  2. Before the first change the state area gets the dirty mark with the boot
//     id, and the file is synced.
//  3. Before the first change of a chunk the chunk is verified, and its byte in
//     the journal is set to 1. The journal is one byte for each chunk after the
//     end of the frame. It is not synced: it is read only if the machine did not
//     go down.
//  4. Bits are set in the mapping, and never cleared.
//  5. Sync flushes the changed chunks, writes their checksums, cuts off the
//     journal and syncs the file; then it replaces the mark by the new count and
//     syncs the file again.
//
// If a file is dirty, the machine has not gone down since, and no process has the lock,
// then the writer was killed, and the page cache has all its changes. The chunks in the
// journal get new checksums. The others must match theirs, so that earlier damage does
// not become valid.
//
// If the machine has gone down since, any page may be missing. Only the user can say
// whether that is acceptable: Rebuild.

// writer is the part of a File that only a writable one has.
type writer struct {
	fsys    vfs.FS
	lock    io.Closer
	set     bloom.Set
	changed bitmap // chunks that differ from their checksum
	dirty   bool   // the mark is set
	adding  bool   // what touch announces is a change
	broken  error  // an earlier sync failed: the state of the disk is unknown
}

func openWritable(fsys vfs.FS, path string, o Options) (*File, error) {
	lock, err := vfs.Lock(fsys, path)
	if err != nil {
		return nil, named(path, err)
	}
	f, err := openMapped(fsys, path, o)
	if isDirty(err) {
		if err = repairLocked(fsys, path, false); err == nil {
			f, err = openMapped(fsys, path, o)
		}
	}
	if err != nil {
		lock.Close() // a leftover lock file does not block
		return nil, named(path, err)
	}
	if err := f.makeWritable(fsys, lock); err != nil {
		f.release()  // nothing was written
		lock.Close() // a leftover lock file does not block
		return nil, named(path, err)
	}
	return f, nil
}

// inPlace lists the types that can be changed in place.
var inPlace = []frame.Type{frame.TypeFilter, frame.TypeBlocked, frame.TypePartitioned}

func (f *File) makeWritable(fsys vfs.FS, lock io.Closer) error {
	set, ok := f.view.(bloom.Set)
	if !ok || !slices.Contains(inPlace, f.header.Type) {
		return fmt.Errorf("a file with a %v filter cannot be changed in place, only one with a classic, blocked or partitioned filter; read it, change it and write it back", f.header.Type)
	}
	f.writer = &writer{fsys: fsys, lock: lock, set: set, changed: newBitmap(f.layout.Chunks)}
	return nil
}

// Add adds key and reports whether it was certainly not there before. The key
// survives a crash of the process at once, and a crash of the machine after Sync.
// An error says that the key may be missing: for the reasons of Has, because the
// file is not writable, or because an earlier Sync failed.
func (f *File) Add(key []byte) (bool, error) {
	h, err := f.Hash()
	if err != nil {
		return false, err
	}
	return f.AddHash(h.Sum(key))
}

// AddString is Add for a string.
func (f *File) AddString(key string) (bool, error) {
	h, err := f.Hash()
	if err != nil {
		return false, err
	}
	return f.AddHash(h.SumString(key))
}

// AddHash is Add for a key whose hash is h.
func (f *File) AddHash(h uint64) (added bool, err error) {
	if err := f.checkWritable(); err != nil {
		return false, err
	}
	defer f.guard(setPanicOnFault(), &err)
	if !f.dirty {
		// Keys that are already there change nothing and need no mark.
		if f.set.HasHash(h) {
			return false, nil
		}
		if err := f.begin(); err != nil {
			return false, err
		}
	}
	f.adding = true
	defer f.endAdding()
	return f.set.AddHash(h), nil
}

// AddHashes does AddHash for each of hs in order, stores the answers in added,
// which must be nil or as long as hs, and returns the number of keys that were
// new. After an error any of the keys may be missing.
func (f *File) AddHashes(added []bool, hs []uint64) (n int, err error) {
	return f.addBatch(len(hs), func() int { return f.set.HasHashes(nil, hs) }, func() int { return f.set.AddHashes(added, hs) }, added)
}

// AddKeys is AddHashes for keys.
func (f *File) AddKeys(added []bool, keys [][]byte) (n int, err error) {
	if err := f.checkKeys(); err != nil {
		return 0, err
	}
	return f.addBatch(len(keys), func() int { return f.set.HasKeys(nil, keys) }, func() int { return f.set.AddKeys(added, keys) }, added)
}

// AddStrings is AddHashes for strings.
func (f *File) AddStrings(added []bool, keys []string) (n int, err error) {
	if err := f.checkKeys(); err != nil {
		return 0, err
	}
	return f.addBatch(len(keys), func() int { return f.set.HasStrings(nil, keys) }, func() int { return f.set.AddStrings(added, keys) }, added)
}

// addBatch is AddHash for many keys.
func (f *File) addBatch(keys int, has, add func() int, added []bool) (n int, err error) {
	if err := f.checkWritable(); err != nil {
		return 0, err
	}
	defer f.guard(setPanicOnFault(), &err)
	if !f.dirty {
		if has() == keys {
			clear(added)
			return 0, nil
		}
		if err := f.begin(); err != nil {
			return 0, err
		}
	}
	f.adding = true
	defer f.endAdding()
	return add(), nil
}

func (f *File) endAdding() { f.adding = false }

func (f *File) checkWritable() error {
	switch {
	case f.view == nil:
		return f.whyNot
	case f.writer == nil:
		return fmt.Errorf("%s is open for reading only; open it with Options.Writable", f.path)
	}
	return f.broken
}

// begin sets the dirty mark.
func (f *File) begin() error {
	// Without a boot id the mark is refused after any crash.
	id, err := f.fsys.BootID()
	if err != nil {
		return named(f.path, err)
	}
	if err := markState(f.file, frame.State{Mark: frame.MarkDirty, BootID: id}); err != nil {
		return f.fail(err)
	}
	f.dirty = true
	return nil
}

func markState(file vfs.File, s frame.State) error {
	if _, err := file.WriteAt(frame.AppendState(nil, s), frame.StateOffset); err != nil {
		return err
	}
	return file.Sync()
}

// willChange enters a chunk into the journal before its first change.
func (f *File) willChange(i uint64) error {
	if _, err := f.file.WriteAt([]byte{1}, int64(f.layout.Total+i)); err != nil {
		return named(f.path, err)
	}
	f.changed.set(i)
	return nil
}

// fail makes f refuse further changes: after a failed write or sync the system may have
// dropped pages and count them as written. The mark loses its boot id, so that it is
// always refused, because the page cache cannot be trusted either.
func (f *File) fail(err error) error {
	f.broken = fmt.Errorf("%s: syncing the changes failed: %w; keys added since the last Sync may be lost", f.path, err)
	// If this fails too, nothing else can be done.
	markState(f.file, frame.State{Mark: frame.MarkDirty})
	return f.broken
}

// Sync makes all changes durable: a crash of the machine after it loses no key that
// was added before. It costs a few disk writes and reads the changed parts of the
// file. After an error the file refuses further changes, and opening it again
// returns ErrDirty.
func (f *File) Sync() (err error) {
	if err := f.checkWritable(); err != nil {
		return err
	}
	if !f.dirty {
		return nil
	}
	defer f.guard(setPanicOnFault(), &err)
	table := slices.Clone(f.bytes[f.layout.BodyEnd:f.layout.Total])
	for i := range f.layout.Chunks {
		if !f.changed.has(i) {
			continue
		}
		binary.LittleEndian.PutUint32(table[4*i:], f.checksum(i))
		if err := f.flush(i); err != nil {
			return f.fail(err)
		}
	}
	if err := commit(f.file, f.layout, table, f.set.Added()); err != nil {
		return f.fail(err)
	}
	clear(f.changed)
	f.dirty = false
	return nil
}

// flush writes a changed chunk to the disk.
func (f *File) flush(i uint64) error {
	start, end := f.layout.Chunk(i)
	page := uint64(os.Getpagesize())
	start -= start % page // chunks begin at multiples of 4096, pages may be larger
	return f.mapped.Sync(int(start), int(end-start))
}

// commit ends the changes of a file whose body is on the disk, as in step 5.
func commit(file vfs.File, l frame.Layout, table []byte, added uint64) error {
	frame.SealTable(table)
	if _, err := file.WriteAt(table, int64(l.BodyEnd)); err != nil {
		return err
	}
	if err := file.Truncate(int64(l.Total)); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return markState(file, frame.State{Mark: frame.MarkChanged, Added: added})
}
