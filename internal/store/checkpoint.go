package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// A checkpoint writes the values that have changed since the last one to new files
// and images, names these in the catalogue, and drops the part of the log that they
// make superfluous, in one synced batch. While it runs everything goes on.

// stored is what the catalogue and the log have of a value.
type stored struct {
	at    LSN // position of the image in the catalogue, 0 if there is none; for the checkpoint
	mu    sync.Mutex
	files []storedFile // that an image refers to
}

// storedFile is a file that the image of some position refers to.
type storedFile struct {
	number uint64
	at     LSN
}

// add notes further files.
func (s *stored) add(files []storedFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = append(s.files, files...)
}

// replace notes that an image of position at is in the catalogue, and returns the
// files that only images before it refer to.
func (s *stored) replace(files []storedFile, at LSN) (superfluous []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keep := slices.Clone(files)
	for _, f := range s.files {
		switch {
		case slices.ContainsFunc(keep, func(k storedFile) bool { return k.number == f.number }):
		case f.at > at:
			keep = append(keep, f)
		default:
			superfluous = append(superfluous, f.number)
		}
	}
	s.at, s.files = at, keep
	return superfluous
}

// numbers returns all files.
func (s *stored) numbers() (numbers []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		numbers = append(numbers, f.number)
	}
	return numbers
}

// dead is a value that was deleted. Its files stay until its deletion has left the
// log: before, the log may have its creation.
type dead struct {
	id uint64
	at LSN // of the deletion
	*stored
}

// catalogued is an image on its way into the catalogue.
type catalogued struct {
	*capture
	in *stored // what is there of it so far
	mu *sync.Mutex
}

// Checkpoint makes a checkpoint and waits for it.
func (s *Store) Checkpoint(ctx context.Context) error {
	if err := s.log.stopped(); err != nil {
		return err
	}
	return s.checkpoint(s.upToWritten)
}

// LastCheckpoint returns when the last checkpoint ended, at first that of Open.
func (s *Store) LastCheckpoint() time.Time { return time.UnixMilli(s.checkpointed.Load()) }

// Checkpointing reports whether a checkpoint is being made.
func (s *Store) Checkpointing() bool { return s.inCheckpoint.Load() }

// upToWritten says that a checkpoint is to drop the log as far as it is in the
// database, and that the rest must be there before the images are.
func (s *Store) upToWritten() (upTo LSN, flush bool) { return LSN(s.written.Load()), true }

// checkpoint makes a checkpoint. position returns up to where the log is to be
// dropped, the end of one of its records, and whether what comes after must be in
// the log before the images, which may show it, are in the catalogue.
func (s *Store) checkpoint(position func() (upTo LSN, flush bool)) (err error) {
	s.checkpointing.Lock()
	defer s.checkpointing.Unlock()
	s.inCheckpoint.Store(true)
	defer s.inCheckpoint.Store(false)
	begin := time.Now()
	// The order matters: what is in the log up to upTo is in memory of values
	// whose mutex, or space, is free after this.
	length := s.log.bytes.Load()
	upTo, flush := position()
	s.space.Lock()
	ids := make([]uint64, 0, len(s.values))
	for id := range s.values {
		ids = append(ids, id)
	}
	var gone []uint64 // values of which no image may stay
	for _, d := range s.dead {
		gone = append(gone, d.id)
	}
	s.space.Unlock()

	var images []catalogued
	var written []uint64 // files
	var size uint64
	defer func() {
		if err != nil {
			s.files.remove(written)
		}
	}()
	for _, id := range ids {
		im, err := s.captureByID(id)
		if err != nil {
			return err
		}
		if im.in == nil {
			gone = append(gone, id)
		}
		if im.capture == nil {
			continue
		}
		files, n, err := s.writeParts(im.capture)
		written = append(written, files...)
		if err != nil {
			return err
		}
		size += n
		images = append(images, im)
	}
	if len(images) > 0 || len(gone) > 0 || upTo != s.trimmed {
		if len(written) > 0 {
			if err := s.files.sync(); err != nil {
				return err
			}
		}
		if flush { // or an EXEC would be there by half
			if err := s.flush(context.Background(), s.Last()); err != nil {
				return err
			}
		}
		if err := s.replaceCatalogue(images, gone, upTo); err != nil {
			// The disk may have the catalogue that names them nevertheless.
			s.doubtful, written = append(s.doubtful, written...), nil
			return err
		}
	}
	s.log.bytes.Add(-length)
	s.checkpointed.Store(s.now())
	s.checkpointTook.Store(int64(time.Since(begin)))
	s.checkpointSize.Store(size)
	s.checkpointCount.Add(1)
	s.opts.Events.Checkpoint(time.Since(begin), size)
	return nil
}

// captureByID describes a value as it is now. There is no description if it has not
// changed, and nothing at all if it is gone.
func (s *Store) captureByID(id uint64) (catalogued, error) {
	for {
		s.space.Lock()
		v := s.values[id]
		s.space.Unlock()
		if v == nil {
			return catalogued{}, nil
		}
		h := v.head()
		h.mu.Lock()
		if h.gone { // renamed or deleted since
			h.mu.Unlock()
			continue
		}
		if h.LSN() <= h.stored.at {
			h.mu.Unlock()
			return catalogued{in: h.stored}, nil
		}
		c, err := v.capture()
		h.mu.Unlock()
		return catalogued{c, h.stored, h.mu}, err
	}
}

// writeParts puts the arrays of a value that need it into files.
func (s *Store) writeParts(c *capture) (files []uint64, size uint64, err error) {
	for i, write := range c.write {
		if write == nil {
			continue
		}
		n := s.files.last.Add(1)
		bytes, err := s.files.write(n, write)
		if err != nil {
			return files, size, err
		}
		files = append(files, n)
		size += bytes
		c.parts[i] = part{state: partFile, file: n}
	}
	return files, size, nil
}

// putParts is writeParts for an image that the log is going to have: the files are
// durable when it returns.
func (s *Store) putParts(c *capture) (files []uint64, err error) {
	files, _, err = s.writeParts(c)
	if err == nil && len(files) > 0 {
		err = s.files.sync()
	}
	if err != nil {
		s.files.remove(files)
		return nil, err
	}
	return files, nil
}

// replaceCatalogue names new images and drops what they replace: first in the
// catalogue, and then the files.
func (s *Store) replaceCatalogue(images []catalogued, gone []uint64, upTo LSN) error {
	s.space.Lock()
	st := state{keyID: s.hash.KeyID(), trimmed: upTo, lastID: s.lastID, lastFile: s.files.last.Load()}
	s.space.Unlock()
	err := s.db.Load().apply(func(b *pebble.Batch) error {
		for _, im := range images {
			if err := b.Set(catalogueKey(im.id), im.encode(), nil); err != nil {
				return err
			}
		}
		// Also of those whose deletion stays in the log: of what was done to them
		// before, a part may have been dropped.
		for _, id := range gone {
			if err := errors.Join(b.Delete(catalogueKey(id), nil), forget(b, id)); err != nil {
				return err
			}
		}
		if err := b.DeleteRange(logKey(0), logKey(upTo+1), nil); err != nil {
			return err
		}
		return b.Set(stateKey, st.encode(), nil)
	}, !s.opts.hooks.noCatalogueSync)
	if err != nil {
		return err
	}
	s.trimmed = upTo
	superfluous := s.doubtful // this catalogue names none of them
	s.doubtful = nil
	for _, im := range images {
		superfluous = append(superfluous, im.in.replace(im.files(), im.at)...)
		if im.saved != nil {
			im.mu.Lock()
			im.saved(im.image, im.at)
			im.mu.Unlock()
		}
	}
	s.space.Lock()
	s.dead = slices.DeleteFunc(s.dead, func(d dead) bool {
		if d.at <= upTo {
			superfluous = append(superfluous, d.numbers()...)
			return true
		}
		return false
	})
	s.space.Unlock()
	s.files.remove(superfluous)
	return nil
}

// maxLog is the length of the log that replays in a few seconds.
const maxLog = 512 << 20

// considerCheckpoint starts a checkpoint if the log has become long: longer than
// was asked for, and, so that large filters are not written all the time, than an
// eighth of what there may be to write.
func (s *Store) considerCheckpoint() {
	if s.log.bytes.Load() < max(s.opts.CheckpointBytes, min(s.Memory()/8, maxLog)) {
		return
	}
	select {
	case s.due <- struct{}{}:
	default:
	}
}

// checkpoints is the goroutine that makes them when they are due.
func (s *Store) checkpoints() {
	var tick <-chan time.Time
	if s.opts.CheckpointEvery > 0 {
		t := time.NewTicker(s.opts.CheckpointEvery)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-s.due:
		case <-tick:
		case <-s.closing:
			return
		}
		if s.log.stopped() != nil {
			continue
		}
		if err := s.checkpoint(s.upToWritten); err != nil {
			s.opts.Events.Error(fmt.Errorf("store: checkpoint: %w", err))
			select { // whatever it is, not at once again
			case <-time.After(time.Second):
			case <-s.closing:
				return
			}
		}
	}
}
