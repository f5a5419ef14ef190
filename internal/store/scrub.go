package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// Files of arrays are written once and read at the next start, when the disk may have lost
// them long ago. So the server reads all of them now and then, while it has the arrays in
// memory: a file that is missing or damaged is written again at once.

const (
	scrubTick = time.Minute
	// filesEvery is the time between two looks for files that have vanished.
	filesEvery = 10 * time.Second
	// scrubRate is the least number of bytes that are read in a second.
	scrubRate = 4 << 20
)

// scrubbing is how far it is; guarded by disk.mu.
type scrubbing struct {
	ended   time.Time // of the last pass through all files; zero: none yet
	damaged uint64    // files that were missing or damaged, since the start
}

// scrubs is the goroutine that reads the files of arrays.
func (s *Store) scrubs() {
	if s.opts.ScrubEvery <= 0 {
		return
	}
	ctx, cancel := context.WithCancel(s.life)
	defer cancel()
	s.background.Go(func() {
		select {
		case <-s.closing:
			cancel()
		case <-ctx.Done():
		}
	})
	begun := s.opts.Now()
	s.every(min(scrubTick, s.opts.ScrubEvery), func() {
		if now := s.opts.Now(); now.Sub(begun) >= s.opts.ScrubEvery/2 {
			begun = now
			s.scrub(ctx)
		}
	})
}

// scrub reads all files once: in at most half of the time that a pass may take, or, without
// such a time, as fast as it can.
func (s *Store) scrub(ctx context.Context) {
	refs := s.currentFiles()
	rate := max(scrubRate, float64(s.Memory())/(s.opts.ScrubEvery.Seconds()/2+1))
	began, read := time.Now(), 0.0
	pace := func(n int) error {
		read += float64(n)
		ahead := time.Duration(read/rate*float64(time.Second)) - time.Since(began)
		if s.opts.ScrubEvery > 0 && ahead > 10*time.Millisecond {
			select {
			case <-time.After(ahead):
			case <-ctx.Done():
			}
		}
		return ctx.Err()
	}
	for _, ref := range refs {
		_, err := s.files.check(ref.fileRef, ref.want, pace)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.mend(ref.number, err)
		}
	}
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	s.scrubbing.ended = s.opts.Now()
}

// mend writes the arrays again whose file is missing or damaged.
func (s *Store) mend(number uint64, cause error) {
	if s.log.stopped() != nil {
		return // the next pass finds it again
	}
	if !s.renew(map[uint64]bool{number: true}) {
		return // a checkpoint has replaced it meanwhile
	}
	s.disk.mu.Lock()
	s.scrubbing.damaged++
	s.disk.mu.Unlock()
	if err := s.checkpoint(s.upToWritten); err != nil {
		s.opts.Events.Error(fmt.Errorf("a filter file is missing or damaged on disk and cannot be rewritten from memory: %w; %w", cause, err))
		return
	}
	s.opts.Events.Error(fmt.Errorf("a filter file was missing or damaged on disk and has been rewritten from memory: %w; check the disk", cause))
}

// currentFiles returns the files that the newest images of the values refer to.
func (s *Store) currentFiles() (refs []reference) {
	for _, id := range s.withFile(func(uint64) bool { return true }) {
		if v := s.lockByID(id); v != nil {
			refs = v.appendFiles(refs)
			v.head().mu.Unlock()
		}
	}
	return refs
}

// withFile returns the ids of the values that have a file whose number satisfies wanted.
func (s *Store) withFile(wanted func(n uint64) bool) (ids []uint64) {
	s.space.Lock()
	defer s.space.Unlock()
	for id, v := range s.values {
		if slices.ContainsFunc(v.head().stored.numbers(), wanted) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (b *Bloom) appendFiles(refs []reference) []reference {
	for _, l := range b.view.Load().layers {
		if l.large != nil && l.large.file.number != 0 {
			refs = append(refs, reference{fileRef: l.large.file, want: l.header(b.store.hash.KeyID())})
		}
	}
	return refs
}

func (w *whole) appendFiles(refs []reference) []reference {
	if w.file.number != 0 {
		refs = append(refs, reference{fileRef: w.file})
	}
	return refs
}

// watchFiles is the goroutine that looks for files of arrays that have vanished, whenever
// the names in their folder have changed. It may wait for long changes, and for the
// checkpoint that writes such files again.
func (s *Store) watchFiles() {
	if s.opts.ScrubEvery <= 0 {
		return
	}
	var changed time.Time
	s.every(filesEvery, func() {
		info, err := s.opts.FS.Stat(s.files.dir)
		if err == nil && s.log.stopped() == nil && !info.ModTime().Equal(changed) {
			changed = info.ModTime()
			s.considerFiles()
		}
	})
}

// considerFiles looks for each file of an array.
func (s *Store) considerFiles() {
	for _, ref := range s.currentFiles() {
		if _, err := s.opts.FS.Stat(s.files.path(ref.number)); errors.Is(err, os.ErrNotExist) {
			s.mend(ref.number, err)
		}
	}
}
