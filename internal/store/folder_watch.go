package store

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A data directory can be moved, removed, replaced or mounted over while a server uses it.
// Open files still take writes then, which the next start does not find. So each second,
// and before a synced change is acknowledged, the folders, LOCK and the files of the
// database are compared with what they were when they were opened or made. While one is
// missing or is another file, changes are refused. If all are back, the same as before,
// changes are accepted again: nothing was written elsewhere.

// ground is the set of files that must not change. Its zero value watches nothing.
type ground struct {
	mu    sync.Mutex
	files map[string]kept
	// lost is why changes are refused; guarded by disk.mu.
	lost error
}

// kept is the file that a name leads to.
type kept struct {
	os.FileInfo
	still bool // it is never written to, so that its time and length stay too
}

// is reports whether a name still leads to it.
func (k kept) is(now os.FileInfo) bool {
	return os.SameFile(k.FileInfo, now) && (!k.still || k.Size() == now.Size() && k.ModTime().Equal(now.ModTime()))
}

func (g *ground) keep(name string, still bool) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.files == nil {
		g.files = map[string]kept{}
	}
	g.files[name] = kept{info, still}
	return nil
}

func (g *ground) drop(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.files, name)
}

// check returns an error unless all names lead to what they led to.
func (g *ground) check() error {
	g.mu.Lock()
	files := maps.Clone(g.files)
	g.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(files)) { // folders before what is in them
		was := files[name]
		is, err := os.Stat(name)
		if err == nil && was.is(is) {
			continue
		}
		g.mu.Lock()
		_, still := g.files[name]
		g.mu.Unlock()
		switch {
		case !still: // it was removed by us meanwhile
		case errors.Is(err, os.ErrNotExist):
			return fmt.Errorf("%s was moved or removed while the server runs; put it back unchanged, or restart on a complete folder", name)
		case err != nil:
			return fmt.Errorf("%s can no longer be examined: %w", name, err)
		default:
			return fmt.Errorf("%s was replaced while the server runs (restored, written or mounted over); put back the original, or restart", name)
		}
	}
	return nil
}

// watchGround begins to watch the data directory, which is open.
func (s *Store) watchGround() error {
	if !ofSystem(s.opts.FS) {
		return nil
	}
	for _, name := range []string{"", lockName, secretName, dbName, filesName} {
		if err := s.ground.keep(absolute(filepath.Join(s.dir, name)), name == secretName); err != nil {
			return err
		}
	}
	return nil
}

// absolute returns a full path, so that it leads to the same if the process changes its
// folder.
func absolute(name string) string {
	if full, err := filepath.Abs(name); err == nil {
		return full
	}
	return name
}

// considerGround compares the data directory with what it was. If it differs, it returns
// why changes are refused.
func (s *Store) considerGround() error {
	err := s.ground.check()
	if err == nil {
		err = s.db.Load().fence.ground.check()
	}
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	was := s.ground.lost
	switch {
	case err == nil && was == nil, err != nil && was != nil:
		return was
	case err != nil:
		s.ground.lost = fmt.Errorf("%w: %w", ErrFailed, err)
		s.opts.Events.Error(s.ground.lost)
	default:
		s.ground.lost = nil
	}
	s.show()
	if err == nil {
		s.log.signal()
	}
	return s.ground.lost
}

// groundLost returns why changes are refused, if the data directory differs.
func (s *Store) groundLost() error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	return s.ground.lost
}

// watched begins to watch the files that were in the folder of the database.
func (f *fence) watched() error {
	if f.watch == "" {
		return nil
	}
	f.mu.Lock() // nothing is removed meanwhile
	defer f.mu.Unlock()
	names, err := f.FS.List(f.watch)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := f.ground.keep(absolute(f.FS.PathJoin(f.watch, name)), false); err != nil {
			return err
		}
	}
	return nil
}

// made notes that a file was made, if it is one of the database.
func (f *fence) made(name string, file vfs.File, err error) (vfs.File, error) {
	if err != nil || f.watch == "" || f.FS.PathDir(name) != f.watch {
		return file, err
	}
	if err := f.ground.keep(absolute(name), false); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// unmade notes that a file is about to be removed.
func (f *fence) unmade(name string) {
	if f.watch != "" && f.FS.PathDir(name) == f.watch {
		f.ground.drop(absolute(name))
	}
}
