package store

import (
	"fmt"
	"sync"
	"time"
)

// disk watches the free space of the disk, so that changes are refused before the
// database runs into the end of it.
type disk struct {
	mu      sync.Mutex // held while trouble of the log changes
	closed  bool
	failure error // the log is not written any more
	full    error // the disk has too little room

	sinceLook uint64 // bytes written since the last look; for the committer
}

const (
	// lookEvery is the time between two looks at the free space.
	lookEvery = time.Second
	// looksPerReserve is how many looks there are while as many bytes as the reserve are
	// written.
	looksPerReserve = 16
)

// Failed returns why changes are refused at present: an error that is ErrDiskFull,
// ErrFailed or ErrClosed; nil if all is well.
func (s *Store) Failed() error { return s.log.writable() }

// show makes the trouble known. mu is held.
func (s *Store) show() {
	d := &s.disk
	switch {
	case d.failure != nil:
		s.log.trouble.Store(&trouble{err: d.failure, stopped: true})
	case s.ground.lost != nil:
		s.log.trouble.Store(&trouble{err: s.ground.lost, stopped: true, drains: !d.closed})
	case d.closed:
		s.log.trouble.Store(&trouble{err: ErrClosed})
	case d.full != nil:
		s.log.trouble.Store(&trouble{err: d.full})
	default:
		if s.log.trouble.Swap(nil) != nil {
			s.opts.Events.Recovered()
		}
	}
	s.announce()
}

// free returns the bytes that are free on the disk; false if that is unknown.
func (s *Store) free() (uint64, bool) {
	u, err := s.opts.FS.GetDiskUsage(s.dir)
	return u.AvailBytes, err == nil
}

// considerSpace looks at the free space, and refuses changes if it is too little or accepts
// them again.
func (s *Store) considerSpace() {
	free, known := s.free()
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	was := s.disk.full != nil
	s.disk.full = nil
	if known && free < s.opts.Reserve {
		s.disk.full = fmt.Errorf("%w: %d bytes are free, less than the reserve of %d; make room", ErrDiskFull, free, s.opts.Reserve)
	}
	if was != (s.disk.full != nil) {
		if !was {
			s.opts.Events.Error(s.disk.full)
		}
		s.show()
	}
}

// watchSpace is told by the committer what it is going to write.
func (s *Store) watchSpace(bytes uint64) {
	s.disk.sinceLook += bytes
	if s.disk.sinceLook > s.opts.Reserve/looksPerReserve {
		s.disk.sinceLook = 0
		s.considerSpace()
	}
}

// fail notes that a database has failed. What is not durable is lost, unless the disk was
// full: then there may be space again.
func (s *Store) fail(db *database, err error) {
	if db != s.db.Load() {
		return
	}
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if s.disk.failure != nil {
		return
	}
	kind := ErrFailed
	if isFull(err) {
		kind = ErrDiskFull
	}
	s.disk.failure = fmt.Errorf("%w: %w", kind, err)
	s.opts.Events.Error(s.disk.failure)
	s.show()
	select {
	case s.failing <- struct{}{}:
	default:
	}
}

// close begins to refuse changes.
func (s *Store) close() {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	s.disk.closed = true
	s.show()
}

func (s *Store) stop(err error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if s.disk.failure == nil {
		s.disk.failure = err
	}
	s.show()
}

// watch is the goroutine that looks at the free space, and at how far the log is.
func (s *Store) watch() {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			_ = s.considerGround() // it is shown
			s.considerSpace()
			s.considerHealing()
			s.considerShadows()
			_ = s.mark() // what cannot be written says nothing, which does no harm
		case <-s.failing:
			s.considerShadows()
		case <-s.closing:
			return
		}
	}
}

// considerHealing begins to write again after the disk was full, if it has room now.
func (s *Store) considerHealing() {
	s.retreat.Lock()
	defer s.retreat.Unlock()
	s.disk.mu.Lock()
	wanted := s.disk.failure != nil && s.ground.lost == nil && s.disk.full == nil && isFull(s.disk.failure)
	s.disk.mu.Unlock()
	if !wanted {
		return
	}
	if err := s.heal(); err != nil {
		s.opts.Events.Error(fmt.Errorf("the disk has room again, but the log cannot be opened: %w", err))
	}
}

// heal opens the database anew after it has failed because the disk was full. The values
// in memory are complete, including changes whose log was lost: a checkpoint of them
// replaces the log. No client has been told of changes that were not durable, so they may
// become durable now.
func (s *Store) heal() error {
	s.writing.Lock() // the committer
	defer s.writing.Unlock()
	s.db.Load().die(ErrDiskFull)
	db, err := s.openDB()
	if err != nil {
		return err
	}
	s.db.Store(db)
	last := s.log.forget()
	s.failedOps, s.failedCount = nil, 0
	if err := s.checkpoint(func() (LSN, bool) { return last, false }); err != nil {
		// There is another attempt every second: this one must leave nothing.
		_ = db.close() // what is wrong with it does not matter any more
		db.die(err)
		return err
	}
	s.written.Store(uint64(last))
	s.durable.Store(uint64(last))
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	s.dropShadows()
	s.disk.failure = nil
	s.show()
	s.log.signal()
	return nil
}
