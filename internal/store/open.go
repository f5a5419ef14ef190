package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"seen/bloom"
	"seen/internal/keyhash"
)

// Open opens the store in a data directory, which it makes if there is none, and
// returns when all values are in memory. A directory that is in use is ErrLocked;
// one that is damaged is an error that names what.
func Open(dir string, o Options) (*Store, error) {
	o.complete()
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, errors.New("this machine is big-endian, and the store works with little-endian memory only; use another machine")
	}
	s := &Store{
		opts: o, dir: dir, values: map[uint64]value{}, expiring: map[uint64]value{},
		due: make(chan struct{}, 1), closing: make(chan struct{}), failing: make(chan struct{}, 1),
	}
	s.life, s.abandon = context.WithCancel(context.Background())
	s.files.fs, s.files.hooks = o.FS, o.hooks
	s.files.dir = o.FS.PathJoin(dir, filesName)
	s.fsync.Store(uint32(o.Fsync))
	s.layout.Store(uint32(o.Layout))
	s.memory.limit.Store(o.MaxMemory)
	s.names.init()
	s.gate.init()
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.release())
	}
	s.start()
	return s, nil
}

// open does what may fail.
func (s *Store) open() (err error) {
	fsys := s.opts.FS
	for _, dir := range []string{s.dir, s.files.dir} {
		if err := makeFolder(fsys, dir); err != nil {
			return explain(dir, err)
		}
	}
	if s.lock, err = lockFolder(fsys, s.dir); err != nil {
		return err
	}
	if err := s.openSecret(); err != nil {
		return err
	}
	db, err := s.openDB()
	if err != nil {
		return err
	}
	s.db.Store(db)
	if err := s.recover(); err != nil {
		return err
	}
	return s.watchGround()
}

func (s *Store) openDB() (*database, error) {
	fsys := s.opts.FS
	dir := fsys.PathJoin(s.dir, dbName)
	if _, err := fsys.Stat(dir); errors.Is(err, os.ErrNotExist) {
		if err := s.createDB(dir); err != nil {
			return nil, fmt.Errorf("cannot create a database in %s: %w", dir, err)
		}
	}
	db, err := openDatabase(fsys, dir, &s.opts.Events, s.fail)
	if err != nil {
		return nil, fmt.Errorf("cannot open the database in %s: %w", dir, err)
	}
	if err := db.fence.watched(); err != nil {
		return nil, errors.Join(err, db.close())
	}
	return db, nil
}

// createDB makes the database of a new data directory, under another name until it
// is complete: a crash may leave half of one that cannot be opened.
func (s *Store) createDB(dir string) error {
	fsys, temp := s.opts.FS, dir+".new"
	if err := fsys.RemoveAll(temp); err != nil {
		return err
	}
	db, err := openDatabase(fsys, temp, &s.opts.Events, s.fail)
	if err != nil {
		return err
	}
	st := state{keyID: s.hash.KeyID()}
	err = db.apply(func(b *pebble.Batch) error { return b.Set(stateKey, st.encode(), nil) }, true)
	if err = errors.Join(err, db.close()); err != nil {
		return err
	}
	if err := fsys.Rename(temp, dir); err != nil {
		return err
	}
	return syncFolder(fsys, s.dir)
}

// openSecret reads the secret of the data directory, or makes it for a new one.
func (s *Store) openSecret() error {
	fsys := s.opts.FS
	name := fsys.PathJoin(s.dir, secretName)
	b, err := readSmall(fsys, name)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := fsys.Stat(fsys.PathJoin(s.dir, dbName)); err == nil {
			return fmt.Errorf("%s is missing; without it the filters of this directory cannot answer: restore it from a backup", name)
		}
		b = make([]byte, keyhash.SecretSize)
		if _, err := io.ReadFull(rand.Reader, b); err != nil {
			return err
		}
		err = writeSmall(fsys, s.dir, secretName, b)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(b) != keyhash.SecretSize {
		return fmt.Errorf("%s has %d bytes instead of %d; restore it from a backup", name, len(b), keyhash.SecretSize)
	}
	s.hash = bloom.SecretHash([keyhash.SecretSize]byte(b))
	return s.hash.Validate()
}

func (s *Store) start() {
	s.opened = s.opts.Now()
	s.checkpointed.Store(s.now())
	s.considerCheckpoint()
	go s.commit()
	s.background.Go(s.checkpoints)
	s.background.Go(s.sweep)
	s.background.Go(s.watch)
	s.background.Go(s.records)
	s.background.Go(s.scrubs)
	s.background.Go(s.watchFiles)
}

// every calls do after each tick of time until the store is closed.
func (s *Store) every(tick time.Duration, do func()) {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			do()
		case <-s.closing:
			return
		}
	}
}

// release gives back what open has taken.
func (s *Store) release() error {
	var errs []error
	if db := s.db.Load(); db != nil {
		errs = append(errs, db.close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}
