package bloomfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"

	"seen/bloom"
	"seen/internal/frame"
	"seen/internal/vfs"
)

// Options says how a file is opened. The zero value opens it for reading.
type Options struct {
	// Secret is the secret of a SipHash filter, which its file does not contain.
	// Without it the file can be opened and described, and calls that take hashes
	// work, but calls that take keys return an error.
	Secret [16]byte
	// Writable opens the file for adding too, and holds its lock until Close.
	// Only filters that are one array of bits can be changed in place: classic,
	// blocked and partitioned ones.
	Writable bool
}

// File is an open filter file, mapped into memory. Any number of goroutines may
// ask it at the same time, as long as none adds, syncs or closes. A File must not
// be copied.
type File struct {
	path        string
	file        vfs.File
	mapped      vfs.Mapping
	bytes       []byte // of mapped: the whole frame; nil once closed
	header      *frame.Header
	layout      frame.Layout
	view        bloom.View // nil if whyNot says why it cannot be asked
	loadOptions bloom.LoadOptions
	whyNot      error
	keyErr      error // what calls with keys return, such as a missing secret

	verified   bitmap // chunks that matched their checksum
	unverified atomic.Uint64
	plain      atomic.Pointer[bloom.View] // view without touch, once all are verified
	mu         sync.Mutex                 // for damaged
	damaged    map[uint64]error

	*writer // nil for reading
}

// Open maps the filter file path. It reads only the header, however large the file
// is; the rest is verified when it is read.
//
// Open repairs a file first if a killed process left it in the middle of changes,
// which reads all of it and needs write permission; see Options.Writable. If the
// machine went down in the middle of changes, Open returns ErrDirty, see Rebuild.
// If a process is changing the file now, it returns ErrDirty and ErrLocked.
//
// A sketch can be opened, described and checked, but not asked for keys.
func Open(path string, o Options) (*File, error) { return open(vfs.OS, path, o) }

func open(fsys vfs.FS, path string, o Options) (*File, error) {
	if o.Writable {
		return openWritable(fsys, path, o)
	}
	f, err := openMapped(fsys, path, o)
	if isDirty(err) {
		if err := repair(fsys, path, false); err != nil {
			return nil, named(path, err)
		}
		f, err = openMapped(fsys, path, o)
	}
	return f, named(path, err)
}

func isDirty(err error) bool { return errors.Is(err, frame.ErrDirty) }

// named adds the file to an error that does not name it; nil stays nil.
func named(path string, err error) error {
	var p *fs.PathError
	if err == nil || errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// openMapped opens a clean file.
func openMapped(fsys vfs.FS, path string, o Options) (*File, error) {
	flag := os.O_RDONLY
	if o.Writable {
		flag = os.O_RDWR
	}
	file, err := fsys.OpenFile(path, flag, 0)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, file: file}
	if err := f.load(o); err != nil {
		f.release() // load returns the error that matters
		return nil, err
	}
	return f, nil
}

// load reads the header and maps the file. When a writer begins or ends between the
// reads of the mark and of the size, its journal makes the file too long for the mark,
// so load reads both again.
func (f *File) load(o Options) error {
	for attempt := 1; ; attempt++ {
		head, size, err := readHead(f.file)
		if err != nil {
			return err
		}
		if err := f.parse(head); err != nil {
			return err
		}
		state, err := frame.ParseState(head)
		if err == nil {
			err = f.header.Apply(state)
		}
		if err != nil {
			return err
		}
		err = f.layout.CheckSize(size)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrOversized) || attempt == attempts {
			return err
		}
	}
	if err := f.mapAll(o.Writable); err != nil {
		return err
	}
	return f.makeView(o)
}

// readHead reads the header of a file, which may be damaged, and the file's size.
func readHead(file vfs.File) (head []byte, size uint64, err error) {
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("not a regular file (%v), which cannot be mapped; use bloom.Read", info.Mode())
	}
	size = uint64(info.Size())
	head = make([]byte, min(size, frame.PageSize))
	if _, err := file.ReadAt(head, 0); err != nil {
		return nil, 0, err
	}
	n, err := frame.HeaderLength(head)
	if err != nil {
		return nil, 0, err
	}
	if uint64(n) > size {
		return nil, 0, fmt.Errorf("%w: %d bytes of a header of %d; restore the file from a copy", frame.ErrTruncated, size, n)
	}
	if n > len(head) {
		head = append(head, make([]byte, n-len(head))...)
		_, err = file.ReadAt(head[frame.PageSize:], frame.PageSize)
	}
	return head, size, err
}

// parse decodes the header, but not the state.
func (f *File) parse(head []byte) error {
	h, err := frame.ParseHeader(head)
	if err != nil {
		return err
	}
	l, err := h.Layout()
	if err != nil {
		return err
	}
	if l.Total > math.MaxInt {
		return fmt.Errorf("%d bytes are more than this machine can map", l.Total)
	}
	f.header, f.layout = h, l
	f.verified = newBitmap(l.Chunks)
	f.unverified.Store(l.Chunks)
	return nil
}

func (f *File) mapAll(writable bool) error {
	m, err := mapFile(f.file, int(f.layout.Total), writable)
	if err != nil {
		return err
	}
	f.mapped, f.bytes = m, m.Bytes()
	return nil
}

// parts returns the arrays in the mapping.
func (f *File) parts() [][]byte {
	parts := make([][]byte, len(f.header.Parts))
	for i, off := range f.layout.Offsets {
		end := off + f.header.Parts[i].Length
		parts[i] = f.bytes[off:end:end]
	}
	return parts
}

func (f *File) makeView(o Options) error {
	touch := f.touch
	// On big-endian machines a filter cannot use the mapping: package bloom makes a
	// copy, so all of it must be verified before.
	if _, shared := frame.Words(f.bytes[:8]); !shared {
		if o.Writable {
			return fmt.Errorf("files cannot be changed in place on big-endian machines: %w", errors.ErrUnsupported)
		}
		for err := range f.Check() {
			return err
		}
		touch = nil
	}
	f.loadOptions.Secret = o.Secret
	secret := o.Secret != [16]byte{}
	if bloom.Algorithm(f.header.HashAlgorithm) == bloom.SipHash && !secret {
		f.loadOptions.Inspect = true
		f.keyErr = &bloom.SecretError{KeyID: f.header.HashKeyID}
	}
	if f.header.Type.Sketch() {
		f.whyNot = fmt.Errorf("%s: the file has a %v sketch, not a filter; read it with package sketch", f.path, f.header.Type)
		return nil
	}
	var err error
	guarded := func() (err error) {
		defer f.guard(setPanicOnFault(), &err)
		f.view, err = fromFrame(f.header, f.parts(), f.loadOptions, touch)
		return err
	}
	if err = guarded(); err != nil {
		f.view = nil
	}
	return err
}

// Close ends the use of f. If the file is writable, it syncs the changes first, see
// Sync, and always releases the lock. A second Close returns fs.ErrClosed.
func (f *File) Close() error {
	if f.bytes == nil {
		return fmt.Errorf("%s: %w", f.path, fs.ErrClosed)
	}
	var err error
	if f.writer != nil {
		err = f.Sync()
	}
	f.plain.Store(nil)
	f.view, f.whyNot = nil, fmt.Errorf("%s: %w", f.path, fs.ErrClosed)
	return errors.Join(err, f.release())
}

// release ends the mapping, the file and the lock, as far as f has them.
func (f *File) release() error {
	var errs []error
	if f.mapped != nil {
		errs = append(errs, f.mapped.Close())
	}
	f.bytes = nil
	errs = append(errs, f.file.Close())
	if f.writer != nil && f.lock != nil {
		errs = append(errs, f.lock.Close())
	}
	return errors.Join(errs...)
}

// bitmap is a set of chunk numbers to which goroutines may add at the same time.
type bitmap []atomic.Uint64

func newBitmap(n uint64) bitmap { return make(bitmap, (n+63)/64) }

func (b bitmap) has(i uint64) bool { return b[i/64].Load()>>(i%64)&1 != 0 }
func (b bitmap) unset(i uint64)    { b[i/64].And(^(uint64(1) << (i % 64))) }

// set adds i and reports whether i is new.
func (b bitmap) set(i uint64) bool { return b[i/64].Or(1<<(i%64))>>(i%64)&1 == 0 }
