package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"seen/bloom"
	"seen/internal/frame"
	"seen/internal/keyhash"
)

// Verification is what Verify has found in a folder.
type Verification struct {
	Backup     bool // it is a backup; else a data directory
	Filters    int  // values that there are, with those that only the log has
	Files      int  // of arrays
	Bytes      uint64
	Operations uint64    // of the log
	Extra      []string  // files that do not belong there, by their paths in the folder; they do no harm
	Problems   []Problem // what is missing or damaged
}

// Problem is something that is missing or damaged.
type Problem struct {
	Filter string // the name of the value that it concerns; "": of all
	File   string // its path in the folder
	Err    error
	number uint64 // of the file, if it is that of an array
}

func (p Problem) Error() string {
	if p.Filter == "" {
		return fmt.Sprintf("%s: %v", p.File, p.Err)
	}
	return fmt.Sprintf("%s, of the filter %q: %v", p.File, p.Filter, p.Err)
}

// Unwrap returns Err.
func (p Problem) Unwrap() error { return p.Err }

// VerifyOptions says how a folder is verified.
type VerifyOptions struct {
	// FS is the file system of the folder; nil: the system's.
	FS vfs.FS
	// Progress, unless it is nil, is told how many bytes of about how many were read.
	Progress func(done, total uint64)
}

// Verify reads all of a data directory, or of a backup, and reports what is missing or
// damaged: it checks each file, each checksum, each image of the catalogue and each
// operation of the log. It changes nothing and takes little memory. An error means that
// the folder cannot be verified: it is neither of the two, ctx has ended, or a server uses
// it (ErrLocked).
func Verify(ctx context.Context, dir string, o VerifyOptions) (*Verification, error) {
	o.FS = cmp.Or(o.FS, systemFS)
	if err := checkFolder(o.FS, dir); err != nil {
		return nil, err
	}
	v := newVerifier(ctx, o.FS, dir, o.Progress)
	list, err := readList(o.FS, dir)
	switch {
	case err == nil:
		v.Backup, v.list = true, list
	case errors.Is(err, os.ErrNotExist):
		unlock, err := shareFolder(o.FS, dir)
		if err != nil {
			return nil, err
		}
		defer unlock()
	default:
		v.Backup = true
		v.problem("", completeName, err)
	}
	if err := v.run(); err != nil {
		return nil, err
	}
	return &v.Verification, nil
}

// checkFolder returns an error unless dir may be a data directory.
func checkFolder(fsys vfs.FS, dir string) error {
	info, err := fsys.Stat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is a file; give the folder of a server's data or of a backup", dir)
	}
	for _, name := range []string{dbName, secretName, completeName} {
		if _, err := fsys.Stat(fsys.PathJoin(dir, name)); !errors.Is(err, os.ErrNotExist) {
			return nil
		}
	}
	return fmt.Errorf("%s is neither the folder of a server's data nor a backup: it has no %s, no %s and no %s", dir, dbName, secretName, completeName)
}

// verifier is a verification under way.
type verifier struct {
	Verification
	ctx      context.Context
	fs       vfs.FS
	dir      string
	list     *backupList // of a backup that has one
	files    files
	progress func(done, total uint64)
	total    uint64
	sums     map[string]checked // of the files that were read whole
	hash     bloom.Hash

	values map[uint64]*verified
	gone   []*verified
	found  map[uint64]bool // files that something refers to
}

// verified is what the catalogue and the log say about a value.
type verified struct {
	kind kind
	name string
	at   LSN // of its image in the catalogue, or of its creation
	refs []reference
}

// reference is a reference to the file of an array.
type reference struct {
	fileRef
	want *frame.Header // of a layer
	// spare says that only an operation refers to it that is in the image of the catalogue
	// already: the file is not read at a start, and may be missing.
	spare bool
}

func newVerifier(ctx context.Context, fsys vfs.FS, dir string, progress func(done, total uint64)) *verifier {
	v := &verifier{ctx: ctx, fs: fsys, dir: dir, progress: progress, sums: map[string]checked{}, values: map[uint64]*verified{}, found: map[uint64]bool{}}
	v.files.fs, v.files.dir = fsys, fsys.PathJoin(dir, filesName)
	return v
}

func (v *verifier) problem(filter, file string, err error) {
	v.Problems = append(v.Problems, Problem{Filter: filter, File: file, Err: err})
}

// pace counts what was read, and ends the verification with its context.
func (v *verifier) pace(n int) error {
	v.Bytes += uint64(n)
	if v.progress != nil {
		v.progress(v.Bytes, max(v.total, v.Bytes))
	}
	return v.ctx.Err()
}

// run verifies everything.
func (v *verifier) run() error {
	all := map[string]int64{}
	if err := v.walk("", all); err != nil {
		return err
	}
	for _, size := range all {
		v.total += uint64(size)
	}
	v.checkSecret()
	if err := v.checkDatabase(); err != nil {
		return err
	}
	if err := v.checkValues(); err != nil {
		return err
	}
	if err := v.readOthers(all); err != nil {
		return err
	}
	if v.list != nil {
		v.compareList(all)
	}
	v.findExtra(all)
	v.Filters = len(v.values)
	return v.ctx.Err()
}

// walk adds the sizes of the files in the folder name of dir to all, by their paths.
func (v *verifier) walk(name string, all map[string]int64) error {
	names, err := v.fs.List(v.fs.PathJoin(v.dir, name))
	if err != nil {
		return err
	}
	for _, inner := range names {
		inner = path.Join(name, inner)
		info, err := v.fs.Stat(v.fs.PathJoin(v.dir, inner))
		switch {
		case err != nil:
			v.problem("", inner, err)
		case info.IsDir():
			if err := v.walk(inner, all); err != nil {
				return err
			}
		default:
			all[inner] = info.Size()
		}
	}
	return nil
}

func (v *verifier) checkSecret() {
	b, err := readSmall(v.fs, v.fs.PathJoin(v.dir, secretName))
	if err == nil && len(b) != keyhash.SecretSize {
		err = fmt.Errorf("it has %d bytes instead of %d", len(b), keyhash.SecretSize)
	}
	if err != nil {
		v.problem("", secretName, err)
		return
	}
	v.hash = bloom.SecretHash([keyhash.SecretSize]byte(b))
}

// checkValues checks the files that the catalogue and the log refer to.
func (v *verifier) checkValues() error {
	var all []*verified
	for _, id := range slices.Sorted(maps.Keys(v.values)) {
		all = append(all, v.values[id])
	}
	for _, one := range append(all, v.gone...) {
		for _, ref := range one.refs {
			if v.found[ref.number] {
				continue
			}
			file := path.Join(filesName, v.fs.PathBase(v.files.path(ref.number)))
			sum, err := v.files.check(ref.fileRef, ref.want, v.pace)
			switch {
			case v.ctx.Err() != nil:
				return v.ctx.Err()
			case ref.spare && errors.Is(err, os.ErrNotExist):
				continue
			case err != nil:
				v.Problems = append(v.Problems, Problem{one.name, file, withoutPath(err), ref.number})
			default:
				v.sums[file] = sum
			}
			v.found[ref.number] = true
			v.Files++
		}
	}
	return nil
}

// withoutPath returns what is wrong with a file, without its path.
func withoutPath(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err
}

// readOthers reads the files that checkValues did not.
func (v *verifier) readOthers(all map[string]int64) error {
	for file := range all {
		if _, done := v.sums[file]; done || file == completeName || file == lockName {
			continue
		}
		sum, err := v.read(file)
		switch {
		case v.ctx.Err() != nil:
			return v.ctx.Err()
		case err == nil:
			v.sums[file] = sum
		case !v.reported(file):
			v.problem("", file, withoutPath(err))
		}
	}
	return nil
}

func (v *verifier) reported(file string) bool {
	return slices.ContainsFunc(v.Problems, func(p Problem) bool { return p.File == file })
}

func (v *verifier) read(file string) (checked, error) {
	f, err := v.fs.Open(v.fs.PathJoin(v.dir, file), vfs.SequentialReadsOption)
	if err != nil {
		return checked{}, err
	}
	t := &tally{r: f, pace: v.pace}
	_, err = io.CopyBuffer(crc32.NewIEEE(), t, make([]byte, frame.ChunkSize))
	return t.checked, errors.Join(err, f.Close())
}

// compareList compares the files with the list that a backup has of them.
func (v *verifier) compareList(all map[string]int64) {
	for _, e := range v.list.entries {
		if v.reported(e.name) {
			continue
		}
		if _, there := all[e.name]; !there {
			v.problem("", e.name, os.ErrNotExist)
			continue
		}
		if err := e.compare(v.sums[e.name]); err != nil {
			v.problem("", e.name, err)
		}
	}
}

// findExtra lists unknown files.
func (v *verifier) findExtra(all map[string]int64) {
	var known map[string]bool
	if v.list != nil {
		known = v.list.names()
	}
	for file := range all {
		dir, name := path.Split(file)
		n, isValue := fileNumber(name)
		switch {
		case known[file]:
		case v.list == nil && dir == dbName+"/":
		case v.list == nil && dir == filesName+"/" && isValue && v.found[n]:
		case dir == "" && slices.Contains([]string{completeName, lockName, secretName, syncedName}, name):
		default:
			v.Extra = append(v.Extra, file)
		}
	}
	slices.Sort(v.Extra)
}
