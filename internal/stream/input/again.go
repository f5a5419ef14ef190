package input

import (
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
)

// ChangedError says that a file is not what it was when it was first read. It is the Err of
// an Error.
type ChangedError struct{ How string }

// Error returns "the file has changed since it was first read: HOW".
func (e *ChangedError) Error() string {
	return "the file has changed since it was first read: " + e.How
}

// trace is what one reading of a file leaves behind for the next one.
type trace struct {
	info   fs.FileInfo // from before the first byte was read
	offset int64       // where the reading began; not 0 for a standard input of which a part was read before
	bytes  int64
	sum    uint32 // CRC-32C of the bytes as stored
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (t *trace) add(p []byte) {
	t.bytes += int64(len(p))
	t.sum = crc32.Update(t.sum, castagnoli, p)
}

// Again returns the same inputs for a second reading, which delivers the same bytes or an
// error that is a *ChangedError. What was appended to a file since then is not read. It needs
// Options.Again and inputs that are not Live, and all of them have to have been read to their
// ends.
func (f *Files) Again() (*Files, error) {
	if !f.opts.Again || f.Live() {
		return nil, errors.New("the inputs cannot be read a second time")
	}
	again := &Files{opts: f.opts}
	for _, s := range f.sources {
		if s.trace == nil {
			return nil, wrap(s.name, errors.New("it was not read to its end"))
		}
		s.former, s.trace = s.trace, nil
		again.total += s.former.bytes
		again.sources = append(again.sources, s)
	}
	return again, nil
}

// Unchanged reports whether the files look as they did when they were first read: nothing
// replaced them, and they have the same size and time. It is for the reader of an Again that
// stops before the end, where the contents would be compared.
func (f *Files) Unchanged() bool {
	for _, s := range f.sources {
		info, err := s.stat(f.opts)
		if err != nil || s.former == nil || !os.SameFile(info, s.former.info) ||
			info.Size() != s.former.info.Size() || !info.ModTime().Equal(s.former.info.ModTime()) {
			return false
		}
	}
	return true
}

func (s *source) stat(o Options) (fs.FileInfo, error) {
	if !s.std {
		return os.Stat(s.name)
	}
	if file, ok := o.Stdin.(*os.File); ok {
		return file.Stat()
	}
	return nil, fs.ErrNotExist
}

// traced prepares raw, which has just been opened, for a second reading, or is the second
// reading.
func (f *File) traced(raw io.Reader) (io.Reader, error) {
	file, ok := raw.(*os.File)
	if !ok || !f.list.opts.Again || f.source.live {
		return raw, nil
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	f.trace = &trace{info: info}
	former := f.source.former
	switch {
	case former == nil && f.source.std:
		f.trace.offset, err = file.Seek(0, io.SeekCurrent)
		return raw, err
	case former == nil:
		return raw, nil
	case !os.SameFile(info, former.info):
		return nil, &ChangedError{"another file has its name now"}
	case info.Size() < former.offset+former.bytes:
		return nil, &ChangedError{"it is shorter"}
	}
	if f.source.std {
		if _, err := file.Seek(former.offset, io.SeekStart); err != nil {
			return nil, err
		}
	}
	return io.LimitReader(raw, former.bytes), nil
}

// endTrace is called at the end of the content. It keeps the trace of a first reading, and
// compares that of a second one with the first.
func (f *File) endTrace() error {
	former := f.source.former
	switch {
	case f.trace == nil:
	case former == nil:
		f.list.sources[f.index].trace = f.trace
	case f.trace.bytes != former.bytes || f.trace.sum != former.sum:
		return &ChangedError{"its contents differ"}
	}
	return nil
}
