package memfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"seen/internal/vfs"
)

// file is an open file of an FS. Reads and writes go on from one offset, as
// in package os.
type file struct {
	m    *FS
	name string
	node *inode
	life int
	off  int64
	lock string // released by Close, if not empty
	done bool
}

// begin locks the file system and checks that f is usable. The caller unlocks in
// any case.
func (f *file) begin(op string) error {
	err := f.m.begin(op, f.name)
	switch {
	case f.life != f.m.life:
		return ErrCrashed
	case f.done:
		return fs.ErrClosed
	}
	return err
}

func (f *file) Name() string { return f.name }

func (f *file) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.off)
	f.off += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	err := f.begin("read")
	defer f.m.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (f *file) Write(p []byte) (int, error) {
	n, err := f.WriteAt(p, f.off)
	f.off += int64(n)
	return n, err
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	err := f.begin("write")
	defer f.m.mu.Unlock()
	if err == ErrCrashed || err == fs.ErrClosed {
		return 0, err
	}
	if err != nil {
		half := off + int64(len(p)/2)
		p = p[:max(0, half-half%sector-off)]
	}
	d := f.node.data
	if end := int(off) + len(p); end > len(d) {
		if f.node.mapped && end > cap(d) {
			return 0, &fs.PathError{Op: "write", Path: f.name, Err: errMappedGrows}
		}
		// Grown by append, so that many small writes cost linear time.
		d = append(d, make([]byte, end-len(d))...)
		f.node.data = d
	}
	return copy(d[off:], p), err
}

func (f *file) Stat() (fs.FileInfo, error) {
	err := f.begin("stat")
	defer f.m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return info{filepath.Base(f.name), int64(len(f.node.data)), f.node.mode}, nil
}

func (f *file) Chmod(mode fs.FileMode) error {
	err := f.begin("chmod")
	defer f.m.mu.Unlock()
	if err != nil {
		return err
	}
	f.node.mode = mode
	return nil
}

func (f *file) Truncate(size int64) error {
	err := f.begin("truncate")
	defer f.m.mu.Unlock()
	if err != nil {
		return err
	}
	if n := int(size); n <= len(f.node.data) {
		f.node.data = f.node.data[:n]
	} else {
		f.node.data = append(f.node.data, make([]byte, n-len(f.node.data))...)
	}
	return nil
}

func (f *file) Sync() error {
	err := f.begin("sync")
	defer f.m.mu.Unlock()
	if err != nil {
		return err
	}
	f.node.synced = bytes.Clone(f.node.data)
	return nil
}

func (f *file) Close() error {
	err := f.begin("close")
	defer f.m.mu.Unlock()
	if err == ErrCrashed || err == fs.ErrClosed {
		return err
	}
	// Even with an error the file is closed, as with close(2).
	f.done = true
	if f.lock != "" {
		delete(f.m.locks, f.lock)
	}
	return err
}

// Map gives the bytes that processes see. What is stored in them becomes durable
// by Sync of the mapping or of the file, or by luck.
func (f *file) Map(size int, writable bool) (vfs.Mapping, error) {
	err := f.begin("map")
	defer f.m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if size > len(f.node.data) {
		return nil, &fs.PathError{Op: "map", Path: f.name, Err: fs.ErrInvalid}
	}
	if !f.node.mapped {
		// The mapping is the memory of the file, so the file must not move.
		f.node.data = slices.Grow(f.node.data, mappedGrowth)
		f.node.mapped = true
	}
	return &mapping{f, f.node.data[:size:size]}, nil
}

// mappedGrowth is by how much a file that was mapped may still grow.
const mappedGrowth = 64 << 10

var errMappedGrows = errors.New("a mapped file in memory can grow by 64 KiB only")

type mapping struct {
	f *file
	b []byte
}

func (p *mapping) Bytes() []byte { return p.b }

func (p *mapping) Sync(off, n int) error {
	err := p.f.begin("msync")
	defer p.f.m.mu.Unlock()
	if err == nil {
		copy(p.f.node.synced[off:off+n], p.b[off:])
	}
	return err
}

func (p *mapping) Close() error { return nil }

type info struct {
	name string
	size int64
	mode fs.FileMode
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }
