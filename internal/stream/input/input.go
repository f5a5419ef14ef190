// Package input reads a list of files one after the other and decompresses
// them. It is for programs that take files and standard input alike, and it is
// what internal/stream reads from.
//
// Compression is recognised by content, never by name: gzip, zstd, xz, bzip2
// and lz4, each with any number of members behind one another. Damaged and
// truncated files are errors that name the file; what could be read before the
// damage is delivered first. The package knows nothing of records: File ends
// where the file ends, and a reader that wants to put a line end behind an
// unfinished last line does so itself.
//
// Files and File are for one goroutine at a time. Files.Progress may be called
// from any goroutine at any time.
package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// StdinName is what errors and reports call the input "-".
const StdinName = "standard input"

// Options says how files are read. The zero value reads os.Stdin for "-",
// recognises compression and starts no goroutines for it.
type Options struct {
	// Stdin is what "-" and an empty list of names read. Nil is os.Stdin. It is
	// never closed.
	Stdin io.Reader
	// StdinName is what errors and reports call it; "" is StdinName.
	StdinName string
	// Plain takes every file as it is stored: nothing is decompressed.
	Plain bool
	// Jobs bounds the goroutines that a decompressor may use; 0 and 1 let it
	// work in the goroutine that reads.
	Jobs int
	// Again prepares for a second reading; see Files.Again.
	Again bool
}

// Error is a failure to open or read one file.
type Error struct {
	Name string // as it was given, or StdinName
	Err  error
}

// Error returns "NAME: what is wrong".
func (e *Error) Error() string { return e.Name + ": " + e.Err.Error() }

// Unwrap returns Err, so that errors.Is(err, fs.ErrNotExist) works.
func (e *Error) Unwrap() error { return e.Err }

// wrap makes an Error whose text does not repeat the name and the system call.
func wrap(name string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &Error{Name: name, Err: err}
}

// source is one file of the list before it is opened.
type source struct {
	name string
	std  bool
	size int64 // bytes still to come, -1 when unknown
	live bool  // a read may wait for somebody: a pipe, a terminal, a socket

	trace  *trace // of this reading, when it has come to the end
	former *trace // of the first reading, if this is the second
}

// Files is a list of inputs in the order in which they are read.
type Files struct {
	opts    Options
	sources []source
	total   int64
	next    int
	current atomic.Int64
	read    atomic.Int64
}

// Open prepares names for reading; "-" and an empty list are standard input.
// Every file is looked up at once, so that a missing file or a directory is an
// error before anything has been read or written; none is opened yet.
func Open(names []string, o Options) (*Files, error) {
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	f := &Files{opts: o, sources: make([]source, 0, len(names))}
	for _, name := range names {
		s, err := look(name, o)
		if err != nil {
			return nil, wrap(s.name, err)
		}
		if s.size < 0 || f.total < 0 {
			f.total = -1
		} else {
			f.total += s.size
		}
		f.sources = append(f.sources, s)
	}
	return f, nil
}

func look(name string, o Options) (source, error) {
	s := source{name: name, size: -1, live: true}
	var info fs.FileInfo
	var err error
	var offset int64
	if name == "-" {
		s.name, s.std = cmp.Or(o.StdinName, StdinName), true
		file, ok := o.Stdin.(*os.File)
		if !ok {
			return s, nil
		}
		if info, err = file.Stat(); err != nil {
			return s, err
		}
		if info.Mode().IsRegular() {
			// A shell may have read a part of it already.
			if offset, err = file.Seek(0, io.SeekCurrent); err != nil {
				return s, err
			}
		}
	} else if info, err = os.Stat(name); err != nil {
		return s, err
	}
	switch {
	case info.IsDir():
		return s, syscall.EISDIR
	case info.Mode().IsRegular():
		s.live = false
		s.size = max(info.Size()-offset, 0)
	}
	return s, nil
}

// Live reports whether a read of one of the inputs can wait for somebody; see File.Live. It
// may be called while another goroutine reads.
func (f *Files) Live() bool {
	for i := range f.sources { // a copy of a source would have its trace, which a reader sets
		if f.sources[i].live {
			return true
		}
	}
	return false
}

// Find returns the name of the input that is the file info, and whether there is one.
func (f *Files) Find(info fs.FileInfo) (name string, is bool) {
	for _, s := range f.sources {
		if other, err := s.stat(f.opts); err == nil && os.SameFile(other, info) {
			return s.name, true
		}
	}
	return "", false
}

// Progress is how far reading has come.
type Progress struct {
	Name  string // the file being read
	Index int    // its number in the list, from 0
	Count int    // files in the list
	Read  int64  // bytes read of all files together, as stored
	Total int64  // bytes of all files together as stored, -1 when one is a pipe
}

// Progress reports how far reading has come. It is safe at any time from any goroutine.
func (f *Files) Progress() Progress {
	i := int(f.current.Load())
	return Progress{
		Name:  f.sources[i].name,
		Index: i,
		Count: len(f.sources),
		Read:  f.read.Load(),
		Total: f.total,
	}
}

// Next returns the next file, or false after the last one. The file is opened
// by its first read, since even that can wait for somebody (a named pipe
// without a writer). The caller closes it.
func (f *Files) Next() (*File, bool) {
	if f.next == len(f.sources) {
		return nil, false
	}
	file := &File{list: f, index: f.next, source: f.sources[f.next]}
	f.current.Store(int64(f.next))
	f.next++
	return file, true
}

// File is one input. It is read by ReadContext and closed by Close.
type File struct {
	list   *Files
	index  int // in list
	source source
	format Format

	os      atomic.Pointer[os.File] // what Close must close; nil for standard input
	content io.Reader               // decompressed
	failed  error
	trace   *trace     // of this reading, if there can be another
	ahead   *readAhead // of a live source, once it is being read
}

// Name returns the name for messages.
func (f *File) Name() string { return f.source.name }

// Live reports whether a read can wait for somebody: a pipe, a terminal, a
// device, a socket. What such a source has delivered should be worked on
// without waiting for more.
func (f *File) Live() bool { return f.source.live }

// Format returns the format found; it is Plain before the first read.
func (f *File) Format() Format { return f.format }

// ReadContext reads at least one byte into p and returns how many, or an error:
// io.EOF at the clean end, an *Error for everything that is wrong with the
// file, or the error of ctx. It does not wait for p to become full. All calls
// must have the same ctx.
//
// A live source is read and decompressed by a goroutine of its own, a little
// ahead of the caller. Thus ReadContext returns at once when ctx ends, even if
// the source is silent. That goroutine ends with the read that it waits in, which
// Close can only hasten where it opened the file: one that waits for standard
// input remains until something arrives there or the process ends.
func (f *File) ReadContext(ctx context.Context, p []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if !f.source.live || ctx.Done() == nil {
		return f.read(p)
	}
	return f.readAhead().next(ctx, p)
}

// Await waits until ReadContext would not wait, but no longer than d, and reports whether
// that is so. It reports true for a source that is not live, and for a ctx that cannot end.
func (f *File) Await(ctx context.Context, d time.Duration) bool {
	if !f.source.live || ctx.Done() == nil {
		return true
	}
	return f.readAhead().await(ctx, d)
}

// readAhead returns the goroutine that reads f, and starts it if it is the first call.
func (f *File) readAhead() *readAhead {
	if f.ahead == nil {
		f.ahead = newReadAhead(f)
	}
	return f.ahead
}

// Close ends the use of f. Standard input itself stays open.
func (f *File) Close() error {
	if f.ahead == nil {
		f.release()
	} else if !f.ahead.stop() {
		f.closeFile()
	}
	return nil
}

// release frees the decompressor and closes the file.
func (f *File) release() {
	if c, ok := f.content.(io.Closer); ok && f.format != Plain {
		c.Close() // it was only read
	}
	f.content, f.failed = nil, io.ErrClosedPipe
	f.closeFile()
}

func (f *File) closeFile() {
	if file := f.os.Swap(nil); file != nil {
		file.Close() // it was only read: nothing can be lost
	}
}

// read is ReadContext without the context.
func (f *File) read(p []byte) (int, error) {
	if f.failed != nil {
		return 0, f.failed
	}
	if f.content == nil {
		if f.failed = f.open(); f.failed != nil {
			return 0, f.failed
		}
	}
	const patience = 100
	for range patience {
		n, err := f.content.Read(p)
		if err != nil {
			f.failed = f.explain(err)
		}
		if n > 0 {
			return n, nil
		}
		if f.failed != nil {
			return 0, f.failed
		}
	}
	f.failed = wrap(f.source.name, io.ErrNoProgress)
	return 0, f.failed
}

// explain turns what a file or decoder reported into what the caller sees.
func (f *File) explain(err error) error {
	var system *fs.PathError
	switch {
	case err == io.EOF:
		if err := f.endTrace(); err != nil {
			return wrap(f.source.name, err)
		}
		return io.EOF
	case f.source.former != nil && !errors.As(err, &system):
		return wrap(f.source.name, &ChangedError{"its contents differ"}) // they could be decompressed
	case f.format == Plain, errors.As(err, &system):
		return wrap(f.source.name, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return wrap(f.source.name, fmt.Errorf("the %v data ends early: the file is truncated (%w)", f.format, err))
	}
	return wrap(f.source.name, fmt.Errorf("damaged %v data: %w", f.format, err))
}
