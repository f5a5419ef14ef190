package store

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"seen/bloom"
)

// Store is a set of named values that survives crashes.
type Store struct {
	opts   Options
	dir    string
	lock   io.Closer
	hash   bloom.Hash
	fsync  atomic.Uint32
	layout atomic.Uint32

	gate   gate         // Begin and Atomically
	long   atomic.Int32 // works that take long now
	memory memory
	log    log
	commits
	db    atomic.Pointer[database] // another one after a failure
	files files

	// space is held while names are added or removed. It is taken before the mutex of a
	// value.
	space     sync.Mutex
	names     names
	values    map[uint64]value // by id
	expiring  map[uint64]value // those that have a deadline
	dead      []dead
	orphans   map[uint64]LSN // during recovery: values that are changed and do not exist
	lastID    uint64
	recovered LSN // the last operation when the store was opened
	tombs     tombs
	removed   atomic.Uint64 // position of the last deletion

	backingUp     sync.Mutex
	checkpointing sync.Mutex
	trimmed       LSN      // operations up to it are not in the log any more; guarded by checkpointing
	doubtful      []uint64 // files of checkpoints that failed at the end, and may be there all the same; so guarded too
	due           chan struct{}
	inCheckpoint  atomic.Bool
	checkpointed  atomic.Int64 // Unix milliseconds

	disk       disk
	ending     atomic.Bool     // Close was called
	closing    chan struct{}   // closed when Close begins
	life       context.Context // ends when what takes long is to be left out
	abandon    context.CancelFunc
	background sync.WaitGroup
	expired    atomic.Uint64
	opened     time.Time

	shadows  atomic.Pointer[shadows] // while the log cannot be written; else nil
	retreat  sync.Mutex              // held while they are made, or the log is opened anew
	shadowed atomic.Bool             // they were looked for
	restored map[uint64]bool         // deleted values that have shadows; guarded by space
	failing  chan struct{}           // tells watch that the log cannot be written any more
	only     map[uint64]bool         // values that are read; nil: all
	upTo     LSN                     // with only: where the log that is read ends

	ground    ground
	scrubbing scrubbing

	recording sync.Mutex
	recorder  recorder // guarded by recording
}

// Hash returns the key hash of the data directory: SipHash with a secret that no
// client knows.
func (s *Store) Hash() bloom.Hash { return s.hash }

// Opened returns when the store was opened, by the clock of its options.
func (s *Store) Opened() time.Time { return s.opened }

// now returns the time in Unix milliseconds.
func (s *Store) now() int64 { return s.opts.Now().UnixMilli() }

// Begin is [Work.Begin] of a command that does not take long and is always wanted.
func (s *Store) Begin() { s.gate.enter(Entry{}) }

// End ends what Begin has started. Wait comes after it.
func (s *Store) End() { s.gate.leave(false) }

// Atomically is [Work.Atomically] of what may change anything and is always wanted.
func (s *Store) Atomically(do func()) {
	s.gate.run(nil, nil, func() { s.together(do) })
}

// together calls do and keeps what it logs in one record.
func (s *Store) together(do func()) {
	s.log.hold()
	defer s.log.release()
	do()
}

// Last returns the position of the last operation.
func (s *Store) Last() LSN { return LSN(s.log.last.Load()) }

// SetFsync changes when a change counts as durable.
func (s *Store) SetFsync(f Fsync) { s.fsync.Store(uint32(f)); s.log.signal() }

// Fsync returns when a change counts as durable.
func (s *Store) Fsync() Fsync { return Fsync(s.fsync.Load()) }

// SetLayout changes the layout of new Bloom filters that ask for none.
func (s *Store) SetLayout(l Layout) { s.layout.Store(uint32(l)) }

// Layout returns the layout of new Bloom filters that ask for none.
func (s *Store) Layout() Layout { return Layout(s.layout.Load()) }

// CreateBloom makes a Bloom filter, of the layout that c asks for, under a name that
// has no value. The error is ErrExists if it has one, ErrMemory if there is too little
// memory, or says what is wrong with c.
func (s *Store) CreateBloom(name []byte, c BloomConfig) (Filter, LSN, error) {
	return s.CreateBloomWith(name, c, func(Filter) {})
}

// CreateBloomWith is CreateBloom of a filter that begins with some keys: first adds them
// before others can see or delete the filter. After a crash the filter has them or does
// not exist. An error inside first does not undo the creation.
func (s *Store) CreateBloomWith(name []byte, c BloomConfig, first func(Filter)) (Filter, LSN, error) {
	if err := c.complete(s.Layout()); err != nil {
		return nil, 0, err
	}
	if s.lookup(name) != nil {
		return nil, 0, ErrExists
	}
	if c.Layout == LayoutRedisBloom {
		return s.createRedisBloom(name, c, first)
	}
	b := newBloom(c)
	b.store = s
	if b.step != 0 {
		if _, err := b.resize(0); err != nil {
			return nil, 0, err
		}
	} else if err := b.first(); err != nil {
		return nil, 0, err
	}
	at, err := s.create(nil, name, b, false, func() { first(b) })
	return b, at, err
}
