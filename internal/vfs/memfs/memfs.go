// Package memfs is a file system in memory, for tests of code that must survive
// crashes. It forgets at a crash what a real file system may forget, and fails
// where a test wants it. Programs use vfs.OS. An FS is safe for concurrent use.
package memfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"seen/internal/vfs"
)

// ErrCrashed is the error of every operation on a file that was opened before a
// Crash or Kill.
var ErrCrashed = errors.New("the process that opened this file has ended")

// FS is the file system. Its rules are those POSIX allows, which is less than most
// systems keep:
//
//   - contents are certain to survive a crash after Sync of the file; of later
//     writes any pages may survive, in any order, with or without the file's new
//     length;
//   - creations, renames and removals are certain to survive after SyncDir; of
//     later ones the first few in each folder may survive, a rename as a whole;
//   - a name may survive without the contents of its file.
//
// Folders do not have to be created. The zero value is not usable; New makes one.
type FS struct {
	mu      sync.Mutex
	names   map[string]*inode // what processes see
	durable map[string]*inode // what a crash leaves at least
	pending map[string][]dirOp
	links   map[string]string
	locks   map[string]bool
	boot    int // counts crashes
	life    int // counts crashes and kills
	fault   func(op, name string) error
}

var _ vfs.FS = (*FS)(nil)

type inode struct {
	mode   fs.FileMode
	data   []byte // what processes see
	synced []byte // what a crash leaves at least
	mapped bool
}

// dirOp is one change of a folder: names and what they lead to afterwards.
type dirOp []dirEntry

type dirEntry struct {
	name string
	node *inode // nil: removed
}

// New returns an empty file system.
func New() *FS {
	return &FS{
		names:   map[string]*inode{},
		durable: map[string]*inode{},
		pending: map[string][]dirOp{},
		links:   map[string]string{},
		locks:   map[string]bool{},
	}
}

// SetFault makes every operation call f first, with its name (open, temp, rename,
// remove, stat, readlink, syncdir, lock, unlock, read, write, chmod, truncate,
// sync, close, map, msync) and the path. Where f returns an error the operation
// does nothing and returns it; a write writes about half of its bytes, to the end
// of a disk sector. f must not use m.
func (m *FS) SetFault(f func(op, name string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = f
}

// FailNth returns a function for SetFault that lets n operations pass, fails the
// next one with err and lets all others pass.
func FailNth(n int, err error) func(op, name string) error { return fail(n, 1, err) }

// FailFrom is FailNth that goes on failing: with Crash after it, the machine
// stopped at that operation.
func FailFrom(n int, err error) func(op, name string) error { return fail(n, math.MaxInt, err) }

func fail(pass, times int, err error) func(op, name string) error {
	var mu sync.Mutex
	return func(op, name string) error {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case pass > 0:
			pass--
		case times > 0:
			times--
			return &fs.PathError{Op: op, Path: name, Err: err}
		}
		return nil
	}
}

// Crash loses what a crash of the machine may lose, chosen by rng; all of it if
// rng is nil. Open files become unusable, locks are released, the fault is unset.
func (m *FS) Crash(rng *rand.Rand) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, dir := range slices.Sorted(maps.Keys(m.pending)) {
		ops := m.pending[dir]
		keep := 0
		if rng != nil {
			keep = rng.IntN(len(ops) + 1)
		}
		for _, op := range ops[:keep] {
			op.apply(m.durable)
		}
	}
	clear(m.pending)
	m.names = maps.Clone(m.durable)
	for _, name := range slices.Sorted(maps.Keys(m.names)) {
		m.names[name].crash(rng)
	}
	m.boot++
	m.end()
}

// Kill ends all processes: open files become unusable and locks are released.
// What was written stays, and so does the boot id. The fault is unset.
func (m *FS) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end()
}

func (m *FS) end() {
	clear(m.locks)
	m.life++
	m.fault = nil
}

// What survives a crash or not as a whole: pages, which processes see in memory,
// and sectors, which a disk writes.
const (
	page   = 4096
	sector = 512
)

func (n *inode) crash(rng *rand.Rand) {
	left := bytes.Clone(n.synced)
	if rng != nil {
		if rng.IntN(2) == 1 {
			left = append(left[:min(len(left), len(n.data))], make([]byte, max(0, len(n.data)-len(left)))...)
		}
		for i := 0; i < min(len(left), len(n.data)); i += page {
			if rng.IntN(2) == 1 {
				copy(left[i:min(i+page, len(left))], n.data[i:])
			}
		}
	}
	n.data, n.synced, n.mapped = left, bytes.Clone(left), false
}

func (op dirOp) apply(names map[string]*inode) {
	for _, e := range op {
		if e.node == nil {
			delete(names, e.name)
		} else {
			names[e.name] = e.node
		}
	}
}

func (m *FS) change(op dirOp) {
	op.apply(m.names)
	dir := filepath.Dir(op[0].name)
	m.pending[dir] = append(m.pending[dir], op)
}

// begin locks m and asks the fault. The caller unlocks m in any case.
func (m *FS) begin(op, name string) error {
	m.mu.Lock()
	if m.fault != nil {
		return m.fault(op, name)
	}
	return nil
}

// maxLinks is how many symbolic links an operation follows, as many as Linux does.
const maxLinks = 40

// follow returns the name that a chain of symbolic links ends in.
func (m *FS) follow(name string) string {
	for range maxLinks {
		to, ok := m.links[name]
		if !ok {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		name = to
	}
	return name
}

// Symlink makes name lead to target.
func (m *FS) Symlink(target, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.links[name] = target
}

// Names returns all files, sorted.
func (m *FS) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.names))
}

// ReadFile returns the contents of a file, without a fault.
func (m *FS) ReadFile(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.names[m.follow(name)]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return bytes.Clone(n.data), nil
}

// WriteFile makes a durable file, without a fault.
func (m *FS) WriteFile(name string, data []byte, mode fs.FileMode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := &inode{mode: mode, data: bytes.Clone(data), synced: bytes.Clone(data)}
	m.names[name], m.durable[name] = n, n
}

// OpenFile opens a file. Of the flags it knows O_CREATE, O_EXCL and O_TRUNC; a
// file without write permission cannot be opened for writing.
func (m *FS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	err := m.begin("open", name)
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	name = m.follow(name)
	n, ok := m.names[name]
	writable := flag&(os.O_WRONLY|os.O_RDWR) != 0
	switch {
	case !ok && flag&os.O_CREATE == 0:
		err = fs.ErrNotExist
	case ok && flag&os.O_EXCL != 0:
		err = fs.ErrExist
	case ok && n.mode.IsRegular() && writable && n.mode&0o200 == 0:
		err = fs.ErrPermission
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if !ok {
		n = &inode{mode: perm}
		m.change(dirOp{{name, n}})
	}
	if flag&os.O_TRUNC != 0 {
		n.data = nil
	}
	return &file{m: m, name: name, node: n, life: m.life}, nil
}

// CreateTemp creates a temporary file; one that a crash left is removed.
func (m *FS) CreateTemp(name string, perm fs.FileMode) (vfs.File, error) {
	err := m.begin("temp", name)
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	for i := 0; ; i++ {
		temp := filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s.seen-tmp%d", filepath.Base(name), i))
		if m.locks[temp] {
			continue
		}
		if m.names[temp] != nil {
			m.change(dirOp{{temp, nil}})
		}
		n := &inode{mode: perm &^ 0o022} // a usual umask
		m.change(dirOp{{temp, n}})
		m.locks[temp] = true
		return &file{m: m, name: temp, node: n, life: m.life, lock: temp}, nil
	}
}

// Rename renames a file.
func (m *FS) Rename(from, to string) error {
	err := m.begin("rename", from)
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	n, ok := m.names[from]
	if !ok || filepath.Dir(from) != filepath.Dir(to) {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrNotExist}
	}
	delete(m.links, to) // as rename(2) does, which replaces the link itself
	m.change(dirOp{{from, nil}, {to, n}})
	return nil
}

// Remove removes a file.
func (m *FS) Remove(name string) error {
	err := m.begin("remove", name)
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	if m.names[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	m.change(dirOp{{name, nil}})
	return nil
}

// Stat describes a file.
func (m *FS) Stat(name string) (fs.FileInfo, error) {
	err := m.begin("stat", name)
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	name = m.follow(name)
	n, ok := m.names[name]
	if !ok {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return info{filepath.Base(name), int64(len(n.data)), n.mode}, nil
}

// Readlink returns where a link made with Symlink leads.
func (m *FS) Readlink(name string) (string, error) {
	err := m.begin("readlink", name)
	defer m.mu.Unlock()
	if err != nil {
		return "", err
	}
	to, ok := m.links[name]
	if !ok {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return to, nil
}

// SyncDir makes the changes of a folder durable.
func (m *FS) SyncDir(dir string) error {
	err := m.begin("syncdir", dir)
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	for _, op := range m.pending[dir] {
		op.apply(m.durable)
	}
	delete(m.pending, dir)
	return nil
}

// BootID differs after each crash.
func (m *FS) BootID() ([16]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return [16]byte{1, 15: byte(m.boot)}, nil
}

// Lock takes a lock, which is not a file here.
func (m *FS) Lock(name string) (io.Closer, error) {
	err := m.begin("lock", name)
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if m.locks[name] {
		return nil, &vfs.LockedError{Path: name}
	}
	m.locks[name] = true
	return &lock{m, name, m.life}, nil
}

type lock struct {
	m    *FS
	name string
	life int
}

func (l *lock) Close() error {
	err := l.m.begin("unlock", l.name)
	defer l.m.mu.Unlock()
	if l.life == l.m.life {
		delete(l.m.locks, l.name)
	}
	return err
}
