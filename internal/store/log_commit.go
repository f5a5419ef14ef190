package store

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// commits is how far the log is written, and the callers that wait for it.
type commits struct {
	written atomic.Uint64 // handed to the database, in order
	durable atomic.Uint64 // synced: a power failure does not lose it
	marked  atomic.Uint64 // in the file that tells how far it is durable

	writing     sync.Mutex // held while a record is made of the buffer
	failedOps   []byte     // the record that could not be written
	failedCount uint64     // operations in it

	mu   sync.Mutex
	more chan struct{} // closed, and replaced, when the above or trouble change

	force chan struct{} // asks the committer not to tarry
	quit  chan struct{} // closed: commit what is left, and end
	ended chan struct{} // closed when the committer has ended
}

const (
	// tarry is how long the committer collects operations that no caller waits for.
	tarry = 10 * time.Millisecond
	// maxBuffered is the length of the buffer above which changes wait until it is
	// written, even if they do not have to be synced.
	maxBuffered = 32 << 20
	// syncEvery is the time between syncs with EverySecond.
	syncEvery = time.Second
)

func (c *commits) init(last LSN) {
	c.written.Store(uint64(last))
	c.durable.Store(uint64(last))
	c.more = make(chan struct{})
	c.force = make(chan struct{}, 1)
	c.quit = make(chan struct{})
	c.ended = make(chan struct{})
}

// announce wakes all waiting callers, to look again.
func (c *commits) announce() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.more)
	c.more = make(chan struct{})
}

// await waits until done reports true.
func (c *commits) await(ctx context.Context, done func() (bool, error)) error {
	for {
		c.mu.Lock()
		more := c.more
		c.mu.Unlock()
		if is, err := done(); is || err != nil {
			return err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Wait waits until the log is durable up to at, as Fsync says. Call it before you send
// answers that depend on at, never between Begin and End. It returns the error of ctx, or
// ErrFailed or ErrClosed if the log is no longer written. If there is nothing to wait
// for, it costs next to nothing.
func (s *Store) Wait(ctx context.Context, at LSN) error {
	if uint64(at) <= s.durable.Load() {
		return nil
	}
	if s.Fsync() != Always && s.log.buffered.Load() < maxBuffered && !s.log.frozen.Load() {
		return s.log.stopped()
	}
	return s.await(ctx, func() (bool, error) {
		if uint64(at) <= s.durable.Load() || s.Fsync() != Always && uint64(at) <= s.written.Load() {
			return true, nil
		}
		return false, s.log.stopped()
	})
}

// Durable returns the position up to which the log is synced.
func (s *Store) Durable() LSN { return LSN(s.durable.Load()) }

// flush waits until the log is in the database up to at.
func (s *Store) flush(ctx context.Context, at LSN) error {
	select {
	case s.force <- struct{}{}:
	default:
	}
	return s.await(ctx, func() (bool, error) {
		if uint64(at) <= s.written.Load() {
			return true, nil
		}
		return false, s.log.stopped()
	})
}

// commit is the goroutine that takes operations from the buffer to the database.
func (s *Store) commit() {
	defer close(s.ended)
	var spare []byte
	var due <-chan time.Time // when to sync what was written without
	for {
		select {
		case <-s.log.work:
			if s.Fsync() != Always {
				s.tarry()
			}
		case <-s.force:
		case <-due:
			due = nil
			s.sync()
		case <-s.quit:
			s.commitAll(spare, true)
			s.sync() // also what was written before without
			return
		}
		always := s.Fsync() == Always
		spare = s.commitAll(spare, always)
		if always {
			s.sync() // what was written before it was always so
		}
		if !always && due == nil && s.Fsync() == EverySecond && s.durable.Load() < s.written.Load() {
			due = time.After(syncEvery)
		}
	}
}

// tarry waits for more operations, unless a caller waits for these.
func (s *Store) tarry() {
	t := time.NewTimer(tarry)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.force:
	case <-s.quit:
	}
}

// commitAll commits until the buffer is empty. It returns memory for the next time.
func (s *Store) commitAll(spare []byte, sync bool) []byte {
	for more := true; more; {
		spare, more = s.commitOnce(spare, sync)
	}
	return spare
}

// commitOnce makes one record of all that is in the buffer, and reports whether
// there may be more.
func (s *Store) commitOnce(spare []byte, sync bool) (_ []byte, more bool) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if t := s.log.trouble.Load(); t != nil && t.stopped && !t.drains {
		return spare, false
	}
	ops, first, count := s.log.take(spare)
	if count == 0 {
		return spare, false
	}
	s.watchSpace(uint64(len(ops)))
	begin := time.Now()
	db := s.db.Load()
	err := db.apply(func(b *pebble.Batch) error { return b.Set(logKey(first), ops, nil) }, sync && !s.opts.hooks.noLogSync)
	if err != nil {
		s.failedOps, s.failedCount = ops, count
		db.die(err)
		return nil, false
	}
	last := uint64(first) + count - 1
	s.written.Store(last)
	if sync {
		s.synced(last, time.Since(begin))
	}
	s.announce()
	s.considerCheckpoint()
	if cap(ops) > maxBuffered {
		ops = nil
	}
	return ops, true
}

// synced notes that the log is durable up to last, unless it was synced in a folder that
// the next start does not find.
func (s *Store) synced(last uint64, took time.Duration) {
	if s.considerGround() != nil {
		return
	}
	s.durable.Store(last)
	s.opts.Events.Fsync(took)
}

// sync makes what is written durable.
func (s *Store) sync() {
	if s.written.Load() == s.durable.Load() {
		return
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	last, begin := s.written.Load(), time.Now()
	if last == s.durable.Load() || s.log.stopped() != nil {
		return
	}
	// A record of nothing: the sync covers all before it.
	db := s.db.Load()
	if err := db.apply(func(b *pebble.Batch) error { return b.LogData(nil, nil) }, true); err != nil {
		db.die(err)
		return
	}
	s.synced(last, time.Since(begin))
	s.announce()
}

// The keys of the database: a letter and what it stands for.
const (
	prefixLog       = 'l' // with the number of the first operation, big-endian: operations
	prefixCatalogue = 'v' // with the id of a value, big-endian: its image
	prefixState     = 's' // alone: state
	prefixHistory   = 'h' // with the id of a value, a resolution and a place: a sample
)

var stateKey = []byte{prefixState}

func numbered(prefix byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{prefix}, n)
}

func logKey(first LSN) []byte       { return numbered(prefixLog, uint64(first)) }
func catalogueKey(id uint64) []byte { return numbered(prefixCatalogue, id) }
