package bloomfile

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"

	"seen/internal/vfs"
)

// Mapped is any file, mapped into memory for reading: one of another system, say, which
// has no header of ours. Any number of goroutines may read it until Close.
type Mapped struct {
	path   string
	file   vfs.File
	mapped vfs.Mapping // nil for an empty file
	bytes  []byte
}

// Map maps the file path, which must be a regular file. It takes no time however large
// the file is, and memory only for what is read of it, which the system takes back when
// it needs it.
func Map(path string) (*Mapped, error) {
	file, err := vfs.OS.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, named(path, err)
	}
	m := &Mapped{path: path, file: file}
	if err := m.load(); err != nil {
		m.Close() // it was only read
		return nil, named(path, err)
	}
	return m, nil
}

func (m *Mapped) load() error {
	info, err := m.file.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("not a regular file (%v), which cannot be mapped", info.Mode())
	case info.Size() > math.MaxInt:
		return fmt.Errorf("%d bytes are more than this machine can map", info.Size())
	case info.Size() == 0:
		return nil
	}
	if m.mapped, err = mapFile(m.file, int(info.Size()), false); err != nil {
		return err
	}
	m.bytes = m.mapped.Bytes()
	return nil
}

// Bytes returns the contents, as long as the file was when it was mapped. They are
// valid until Close and to be read only in a function that Guard calls: the file may
// have become shorter since.
func (m *Mapped) Bytes() []byte { return m.bytes }

// Guard calls read, which reads Bytes in the same goroutine. Where they cannot be read,
// since the file was truncated or its disk fails, it ends read and returns an error
// that says so.
func (m *Mapped) Guard(read func() error) (err error) {
	before := setPanicOnFault()
	defer func() {
		debug.SetPanicOnFault(before)
		caught(recover(), m.path, m.bytes, &err)
	}()
	return read()
}

// Close ends the mapping.
func (m *Mapped) Close() error {
	m.bytes = nil
	if m.mapped != nil {
		if err := m.mapped.Close(); err != nil {
			m.file.Close() // it was only read
			return named(m.path, err)
		}
		m.mapped = nil
	}
	return m.file.Close()
}
