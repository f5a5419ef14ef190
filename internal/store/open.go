package store

import (
	"crypto/rand"

	"seen/bloom"
	"seen/internal/keyhash"
)

// Open returns a store.
func Open(dir string, o Options) (*Store, error) {
	o.complete()
	s := &Store{opts: o, values: map[uint64]value{}}
	var secret [keyhash.SecretSize]byte
	rand.Read(secret[:])
	s.hash = bloom.SecretHash(secret)
	s.fsync.Store(uint32(o.Fsync))
	s.layout.Store(uint32(o.Layout))
	s.memory.limit.Store(o.MaxMemory)
	s.names.init()
	s.log.init(0)
	return s, nil
}

// Close closes the store.
func (s *Store) Close() error {
	s.log.trouble.Store(&trouble{ErrClosed, true})
	return nil
}

// Failed returns why changes are refused at present, or nil.
func (s *Store) Failed() error { return s.log.writable() }
