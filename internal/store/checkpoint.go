package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// A checkpoint writes the values that have changed since the last one to new files and
// images (captureByID, writeParts; of a Bloom filter: bloom_checkpoint.go), puts the images
// into the catalogue and drops the part of the log that is no longer needed, in synced
// batches (checkpoint_catalogue.go). Commands go on while it runs. What brings the values
// back begins in recover.go.

// stored is what the catalogue and the log have for a value.
type stored struct {
	at    LSN // position of the image in the catalogue, 0 if there is none; for the checkpoint
	mu    sync.Mutex
	files *[]storedFile // that an image refers to; nil: none
}

// list returns the files; mu is held, or the value is not shared yet.
func (s *stored) list() []storedFile {
	if s.files == nil {
		return nil
	}
	return *s.files
}

// set replaces the files; mu is held, or the value is not shared yet.
func (s *stored) set(files []storedFile) {
	s.files = nil
	if len(files) > 0 {
		s.files = &files
	}
}

// storedFile is a file that the image of some position refers to.
type storedFile struct {
	fileRef
	at LSN
}

// add notes further files.
func (s *stored) add(files []storedFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(append(s.list(), files...))
}

// replace notes that an image of position at is in the catalogue, and returns the
// files that only images before it refer to.
func (s *stored) replace(files []storedFile, at LSN) (superfluous []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keep := slices.Clone(files)
	for _, f := range s.list() {
		switch {
		case slices.ContainsFunc(keep, func(k storedFile) bool { return k.number == f.number }):
		case f.at > at:
			keep = append(keep, f)
		default:
			superfluous = append(superfluous, f.number)
		}
	}
	s.at = at
	s.set(keep)
	return superfluous
}

func (s *stored) numbers() (numbers []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.list() {
		numbers = append(numbers, f.number)
	}
	return numbers
}

// dead is a value that was deleted. Its files stay until its deletion has left the log,
// since the log may also have its creation.
type dead struct {
	id uint64
	at LSN // of the deletion
	*stored
}

// catalogued is an image on its way into the catalogue.
type catalogued struct {
	*capture
	in      *stored // what is there of it so far
	mu      *sync.Mutex
	written []uint64 // files that were written already
	size    uint64   // of these
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

// checkpoint makes a checkpoint. position returns the end of the record up to which the
// log is to be dropped, and whether what comes after must be in the log before the images,
// which may show it, are in the catalogue.
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
	ids := slices.AppendSeq(make([]uint64, 0, len(s.values)), maps.Keys(s.values))
	var gone []uint64 // values of which no image may stay
	for _, d := range s.dead {
		gone = append(gone, d.id)
	}
	s.space.Unlock()

	r := round{store: s, flush: flush}
	defer func() {
		if err != nil {
			s.files.remove(r.written)
			s.doubtful = append(s.doubtful, r.superfluous...) // the next checkpoint cuts the log
		}
	}()
	for _, id := range ids {
		im, err := s.captureByID(id)
		r.written, r.size = append(r.written, im.written...), r.size+im.size
		if err = errors.Join(err, s.life.Err()); err != nil {
			return err
		}
		if im.in == nil {
			gone = append(gone, id)
		}
		if im.capture == nil {
			continue
		}
		if err := r.add(im); err != nil {
			return err
		}
	}
	if r.any || len(gone) > 0 || upTo != s.trimmed {
		if err := r.end(gone, upTo); err != nil {
			return err
		}
	}
	s.log.bytes.Add(-length)
	s.checkpointed.Store(s.now())
	s.opts.Events.Checkpoint(time.Since(begin), r.size)
	return nil
}

// captureByID describes a value as it is now. It returns no capture if the value has not
// changed, and no value if it was deleted.
func (s *Store) captureByID(id uint64) (im catalogued, err error) {
	v := s.lockByID(id)
	if v == nil {
		return catalogued{}, nil
	}
	h := v.head()
	defer h.mu.Unlock()
	if h.LSN() <= h.stored.at {
		return catalogued{in: &h.stored}, nil
	}
	im = catalogued{in: &h.stored, mu: &h.mu}
	im.capture, err = v.capture()
	if err == nil && im.inPlace {
		im.written, im.size, err = s.writeParts(im.capture, s.life.Err)
	}
	return im, err
}

// lockByID returns the value with an id and locks its mutex; nil if it was deleted. It does
// not hold space while it waits, since a long change may have the mutex.
func (s *Store) lockByID(id uint64) value {
	for {
		s.space.Lock()
		v := s.values[id]
		s.space.Unlock()
		if v == nil {
			return nil
		}
		h := v.head()
		h.mu.Lock()
		if !h.gone {
			return v
		}
		h.mu.Unlock() // renamed or deleted since
	}
}

// writeParts writes the arrays of a value that need files. If going, which is called now
// and then, returns an error, it stops.
func (s *Store) writeParts(c *capture, going func() error) (files []uint64, size uint64, err error) {
	defer c.drop() // and with it what was written
	for i, write := range c.write {
		if write == nil {
			continue
		}
		n := s.files.last.Add(1)
		ref, bytes, err := s.files.write(n, write, going)
		if err != nil {
			return files, size, err
		}
		files = append(files, n)
		size += bytes
		c.parts[i] = part{state: partFile, file: ref}
	}
	return files, size, nil
}

// putParts is writeParts for an image that the log is going to have: the files are
// durable when it returns.
func (s *Store) putParts(w *Work, c *capture) (files []uint64, err error) {
	files, _, err = s.writeParts(c, func() error { return w.Step(stepUnits) })
	if err == nil && len(files) > 0 {
		err = s.files.sync()
	}
	if err != nil {
		s.files.remove(files)
		return nil, err
	}
	return files, nil
}

// maxLog is the length of the log that replays in a few seconds.
const maxLog = 512 << 20

// considerCheckpoint starts a checkpoint if the log is longer than the options say and
// than an eighth of what there may be to write, so that large filters are not written all
// the time.
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
			s.opts.Events.Error(fmt.Errorf("checkpoint: %w", err))
			select { // whatever it is, not at once again
			case <-time.After(time.Second):
			case <-s.closing:
				return
			}
		}
	}
}

// renew has the next checkpoint write the arrays anew that are in files of the given
// numbers, and reports whether a value in memory has one of them. Memory has them whole.
// Values that were deleted need nothing: a checkpoint drops their files.
func (s *Store) renew(files map[uint64]bool) bool {
	s.checkpointing.Lock() // for stored.at
	defer s.checkpointing.Unlock()
	found := false
	for _, id := range s.withFile(func(n uint64) bool { return files[n] }) {
		v := s.lockByID(id)
		if v == nil {
			continue // it is among the dead
		}
		h := v.head()
		for _, n := range h.stored.numbers() {
			if files[n] {
				found = true
				v.lost(n)
				h.stored.at = 0 // the image in the catalogue is not good enough
			}
		}
		h.mu.Unlock()
	}
	s.space.Lock()
	defer s.space.Unlock()
	for _, d := range s.dead {
		for _, n := range d.numbers() {
			found = found || files[n]
		}
	}
	return found
}

// lost notes that a file is not there any more.
func (b *Bloom) lost(file uint64) {
	for _, l := range b.view.Load().layers {
		if l.large != nil && l.large.file.number == file {
			l.large.file = fileRef{}
		}
	}
}

// lost notes that a file is not there any more.
func (w *whole) lost(file uint64) {
	if w.file.number == file {
		w.file = fileRef{}
	}
}
