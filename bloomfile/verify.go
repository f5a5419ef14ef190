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

// The filters ask questions of memory, which cannot fail, so the layer between
// has no way to return an error. What goes wrong in the mapping is thrown as a
// panic and caught by the method of File that asked: a failure of ours by touch,
// and a fault of the system, as when the file was truncated after it was mapped,
// by the runtime, which makes panics of such faults where a goroutine wants that.

// failure carries an error from touch to guard.
type failure struct{ err error }

// setPanicOnFault makes faults of this goroutine panics and returns what it was
// before. It costs a few nanoseconds.
func setPanicOnFault() bool { return debug.SetPanicOnFault(true) }

// guard is to be deferred around all that touches the mapping. It ends the effect
// of setPanicOnFault and turns failures and faults into an error.
func (f *File) guard(before bool, err *error) {
	debug.SetPanicOnFault(before)
	caught(recover(), f.path, f.bytes, err)
}

// caught turns what was recovered into an error, if it is a failure or a fault of the
// bytes that are mapped.
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

// verify compares a chunk with its checksum, unless it is known to be damaged.
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

// note remembers what compare has found. Damage is remembered for good: were the
// chunk fine when asked again, an earlier answer would have been wrong to fail.
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
		// It may have been verified before the disk lost it.
		f.verified.unset(i)
		f.plain.Store(nil)
	}
}

// stopTouching makes questions faster when nothing is left to verify: calling
// touch takes several times as long as testing bits in a cache.
func (f *File) stopTouching() {
	// Filters that are not one array are copied or searched otherwise without it.
	if f.header.Type > frame.TypeCounting {
		return
	}
	v, err := fromFrame(f.header, f.parts(), f.loadOptions, nil)
	if err != nil {
		return // no harm done: f.view goes on working
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.damaged) == 0 {
		f.plain.Store(&v)
	}
}

// asked returns the view to ask.
func (f *File) asked() bloom.View {
	if v := f.plain.Load(); v != nil {
		return *v
	}
	return f.view
}

// attempts bounds how often a chunk is compared while writers come and go.
const attempts = 3

// compare returns nil, a *CorruptError, or an error that may pass.
func (f *File) compare(i uint64) error {
	for range attempts {
		if f.checksum(i) == f.tableEntry(i) {
			return nil
		}
		if f.writer != nil {
			break // nobody else changes it
		}
		// A writer that began after we opened the file changes bits now and
		// checksums later. Bits are only ever set, so what was verified before
		// stays as good as it was, but this chunk cannot be judged.
		if state, err := frame.ParseState(f.bytes); err != nil || state.Mark == frame.MarkDirty {
			return fmt.Errorf("%s: %w: another process is changing it, and this part was not verified before; try again later", f.path, frame.ErrDirty)
		}
		// Clean, but a writer may have ended between the comparison and the look
		// at the state. It would have to begin and end again to fool us twice.
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

// Check verifies the whole file, whatever was verified before, and yields each
// damage it finds; none means that the file is sound. Questions that touch damage
// found here are errors from then on. It reads at the speed of
// the disk and may be stopped early. Parts that were changed since the last Sync
// have no checksum to compare with and are passed over.
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

// checkPadding looks for what no writer leaves between the parts.
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
