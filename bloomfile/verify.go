package bloomfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"iter"
	"runtime/debug"
	"unsafe"

	"seen/bloom"
	"seen/internal/frame"
)

// Filters read memory, which cannot fail, so package bloom has no way to return an error
// of a mapped file. Such an error is a panic that the method of File recovers: touch
// throws it for damage, and the runtime for a fault of the system, for example if the file
// was truncated after it was mapped.

// failure carries an error from touch to guard.
type failure struct{ err error }

// setPanicOnFault turns memory faults of this goroutine into panics and returns the
// former setting. It costs a few nanoseconds.
func setPanicOnFault() bool { return debug.SetPanicOnFault(true) }

// guard must be deferred by every method that reads the mapping. It ends the effect of
// setPanicOnFault and turns failures and faults into an error.
func (f *File) guard(before bool, err *error) {
	debug.SetPanicOnFault(before)
	caught(recover(), f.path, f.bytes, err)
}

// caught turns a recovered value into an error if it is a failure or a fault in the mapped
// bytes.
func caught(r any, path string, mapped []byte, err *error) {
	switch r := r.(type) {
	case nil:
	case failure:
		*err = r.err
	case interface{ Addr() uintptr }:
		start := uintptr(unsafe.Pointer(unsafe.SliceData(mapped)))
		if r.Addr() < start || r.Addr()-start >= uintptr(len(mapped)) {
			panic(r) // not ours
		}
		*err = fmt.Errorf("%s: byte %d cannot be read: the file was truncated while it was open, or its disk fails", path, r.Addr()-start)
	default:
		panic(r)
	}
}

// touch verifies the chunks that hold bytes [off, off+n) of a part. Package bloom
// calls it before every access.
func (f *File) touch(part int, off, n uint64) {
	if n == 0 {
		return
	}
	start := f.layout.Offsets[part] - f.layout.Header + off
	for i := start / frame.ChunkSize; i <= (start+n-1)/frame.ChunkSize; i++ {
		if !f.verified.has(i) {
			if err := f.verify(i); err != nil {
				panic(failure{err})
			}
		}
		if f.writer != nil && f.adding && !f.changed.has(i) {
			if err := f.willChange(i); err != nil {
				panic(failure{err})
			}
		}
	}
}

// verify compares a chunk with its checksum, unless it is already known to be damaged.
func (f *File) verify(i uint64) error {
	f.mu.Lock()
	err := f.damaged[i]
	f.mu.Unlock()
	if err != nil {
		return err
	}
	err = f.compare(i)
	f.note(i, err)
	return err
}

// note remembers the result of compare. Damage is remembered until Close, so that all
// calls that need the chunk get the same answer.
func (f *File) note(i uint64, err error) {
	var damage *CorruptError
	switch {
	case err == nil:
		if f.verified.set(i) && f.unverified.Add(^uint64(0)) == 0 {
			f.stopTouching()
		}
	case errors.As(err, &damage):
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.damaged == nil {
			f.damaged = map[uint64]error{}
		}
		f.damaged[i] = err
		// The chunk may have been right before, and lost by the disk since.
		f.verified.unset(i)
		f.plain.Store(nil)
	}
}

// stopTouching makes calls faster when all chunks are verified: a call of touch takes
// several times as long as testing bits in a cache.
func (f *File) stopTouching() {
	// Without touch, bloom would copy filters that are not one array.
	if f.header.Type > frame.TypeCounting {
		return
	}
	v, err := fromFrame(f.header, f.parts(), f.loadOptions, nil)
	if err != nil {
		return // f.view still works
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.damaged) == 0 {
		f.plain.Store(&v)
	}
}

// asked returns the fastest view that verifies what must be verified.
func (f *File) asked() bloom.View {
	if v := f.plain.Load(); v != nil {
		return *v
	}
	return f.view
}

// attempts bounds how often a chunk is compared while writers begin and end.
const attempts = 3

// compare returns nil, a *CorruptError, or an error that may be gone later.
func (f *File) compare(i uint64) error {
	for range attempts {
		if f.checksum(i) == f.tableEntry(i) {
			return nil
		}
		if f.writer != nil {
			break // f has the lock, so no other process changes it
		}
		// A writer that began after f was opened changes bits now and checksums
		// later. Bits are only set, so chunks that were verified before remain
		// valid, but this one cannot be verified now.
		if state, err := frame.ParseState(f.bytes); err != nil || state.Mark == frame.MarkDirty {
			return fmt.Errorf("%s: %w: another process is changing the file, and this part could not be verified; try again later", f.path, frame.ErrDirty)
		}
		// The file is clean, but a writer may have ended between the comparison
		// and the read of the state. A second attempt fails only if another writer
		// began and ended meanwhile.
	}
	if err := f.layout.CheckTable(f.bytes[f.layout.BodyEnd:]); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return fmt.Errorf("%s: %w", f.path, f.layout.BadChunk(i))
}

func (f *File) checksum(i uint64) uint32 {
	start, end := f.layout.Chunk(i)
	return crc32.ChecksumIEEE(f.bytes[start:end])
}

func (f *File) tableEntry(i uint64) uint32 {
	return binary.LittleEndian.Uint32(f.bytes[f.layout.BodyEnd+4*i:])
}

// Check verifies the whole file, also what was verified before, and yields each damage
// it finds. A file without damage yields nothing. Later calls that need a damaged part
// return an error. Check reads at the speed of the disk, and the caller may stop it
// early. It skips parts that were changed since the last Sync, whose checksums are not
// written yet.
func (f *File) Check() iter.Seq[error] {
	return func(yield func(error) bool) {
		if f.bytes == nil {
			yield(fmt.Errorf("%s: %w", f.path, fs.ErrClosed))
			return
		}
		if err := f.checkTable(); err != nil && !yield(err) {
			return
		}
		for i := range f.layout.Chunks {
			err := f.checkChunk(i)
			if err != nil && (!yield(err) || isDirty(err)) {
				return
			}
		}
		for i, off := range f.layout.Offsets {
			if err := f.checkPadding(i, off+f.header.Parts[i].Length); err != nil && !yield(err) {
				return
			}
		}
	}
}

func (f *File) checkTable() (err error) {
	defer f.guard(setPanicOnFault(), &err)
	if err := f.layout.CheckTable(f.bytes[f.layout.BodyEnd:]); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return nil
}

func (f *File) checkChunk(i uint64) (err error) {
	defer f.guard(setPanicOnFault(), &err)
	if f.writer != nil && f.changed.has(i) {
		return nil
	}
	err = f.compare(i)
	f.note(i, err)
	return err
}

// checkPadding looks for bytes between the parts that no writer leaves there.
func (f *File) checkPadding(part int, end uint64) (err error) {
	defer f.guard(setPanicOnFault(), &err)
	next := f.layout.BodyEnd
	if part+1 < len(f.layout.Offsets) {
		next = f.layout.Offsets[part+1]
	}
	for i, b := range f.bytes[end:next] {
		if b != 0 {
			return fmt.Errorf("%s: %w", f.path, &CorruptError{Offset: int64(end) + int64(i), Reason: "padding that is not zero"})
		}
	}
	return nil
}
