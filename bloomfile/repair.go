package bloomfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"seen/bloom"
	"seen/internal/frame"
	"seen/internal/vfs"
)

// Rebuild accepts the contents of a file that was being changed in place when the
// machine went down, for which Open returns ErrDirty: it computes new checksums and
// removes the mark. Keys that were added after the last Sync may be missing, so the
// filter may wrongly say no to them. If that is not acceptable, restore the file from
// a copy.
//
// Rebuild does not change a file without the mark, so it does not hide damage.
func Rebuild(path string) error { return named(path, rebuild(vfs.OS, path)) }

// rebuild locks only a file with a mark: others may be in folders without write permission.
func rebuild(fsys vfs.FS, path string) error {
	file, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	head, _, err := readHead(file)
	file.Close() // it was only read
	if err != nil {
		return err
	}
	if state, err := frame.ParseState(head); err != nil || state.Mark != frame.MarkDirty {
		return err
	}
	return repair(fsys, path, true)
}

// repair removes the mark of a dirty file. Without force it does so only if nothing can
// be lost.
func repair(fsys vfs.FS, path string, force bool) error {
	lock, err := vfs.Lock(fsys, path)
	if errors.Is(err, vfs.ErrLocked) {
		return fmt.Errorf("%w: it is being changed: %w", frame.ErrDirty, err)
	}
	if err != nil {
		return fmt.Errorf("%w: its writer has died, and it cannot be repaired: %w", frame.ErrDirty, err)
	}
	defer lock.Close() // a leftover lock file does not block
	return repairLocked(fsys, path, force)
}

func repairLocked(fsys vfs.FS, path string, force bool) error {
	file, err := fsys.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: its writer has died, and it cannot be repaired: %w", frame.ErrDirty, err)
	}
	f := &File{path: path, file: file}
	defer f.release() // what was written is synced
	head, size, err := readHead(file)
	if err != nil {
		return err
	}
	state, err := frame.ParseState(head)
	if err != nil || state.Mark != frame.MarkDirty {
		return err // another process has repaired it
	}
	if !force {
		id, err := fsys.BootID()
		if err != nil || id != state.BootID || id == [16]byte{} {
			return fmt.Errorf("%w: the machine went down while it was being changed, and keys added since the last Sync may be lost; restore it from a copy, or accept the loss with Rebuild", frame.ErrDirty)
		}
	}
	if err := f.parse(head); err != nil {
		return err
	}
	if !slices.Contains(inPlace, f.header.Type) {
		return &CorruptError{Offset: frame.StateOffset, Reason: fmt.Sprintf("a %v filter has the mark of a change in place, which is not possible for its type", f.header.Type)}
	}
	if size < f.layout.Total || size > f.layout.Total+f.layout.Chunks {
		return f.layout.CheckSize(size)
	}
	journal := make([]byte, size-f.layout.Total)
	if len(journal) > 0 {
		if _, err := file.ReadAt(journal, int64(f.layout.Total)); err != nil {
			return err
		}
	}
	if err := f.mapAll(true); err != nil {
		return err
	}
	return f.restore(journal, force)
}

// restore computes new checksums of the chunks in the journal, or of all, and commits.
func (f *File) restore(journal []byte, all bool) (err error) {
	defer f.guard(setPanicOnFault(), &err)
	table := slices.Clone(f.bytes[f.layout.BodyEnd:f.layout.Total])
	for i := range f.layout.Chunks {
		if all || i < uint64(len(journal)) && journal[i] != 0 {
			binary.LittleEndian.PutUint32(table[4*i:], f.checksum(i))
		}
	}
	added, err := f.estimate()
	if err != nil {
		return err
	}
	return commit(f.file, f.layout, table, added)
}

// estimate returns the number of keys by the number of bits; the exact count was lost with
// its process.
func (f *File) estimate() (uint64, error) {
	v, err := fromFrame(f.header, f.parts(), bloom.LoadOptions{Inspect: true}, func(int, uint64, uint64) {})
	if err != nil {
		return 0, err
	}
	s := v.Stats()
	if !s.Cardinality.Known() {
		return s.Bits, nil // full: the number of bits, as after a union
	}
	return uint64(math.Round(s.Cardinality.Value)), nil
}
