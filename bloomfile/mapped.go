package bloomfile

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"

	"seen/internal/vfs"
)

// Mapped is any file, mapped into memory for reading, for example one in the format of
// another system. Any number of goroutines may read it until Close.
type Mapped struct {
	path   string
	file   vfs.File
	mapped vfs.Mapping // nil for an empty file
	bytes  []byte
}

// Map maps the file path, which must be a regular file. It takes no time however large
// the file is. Only what is read of it takes memory, which the system can reclaim.
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

// Bytes returns the contents of the file, with the length that it had when it was mapped.
// They are valid until Close. Read them only in a function that Guard calls: the file may
// be shorter by now.
func (m *Mapped) Bytes() []byte { return m.bytes }

// Guard calls read, which reads Bytes in the same goroutine. If they cannot be read,
// because the file was truncated or its disk fails, Guard ends read and returns an error.
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
