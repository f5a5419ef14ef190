package cluster

import (
	"context"
	"sync"
)

// lock is a mutex whose callers wait no longer than their context. Its holder talks to an
// engine, with another deadline or none. The zero value is free.
type lock struct {
	once  sync.Once
	taken chan struct{} // has one token while the lock is taken
}

// take waits for the lock. With an error, that of ctx, it is not taken.
func (l *lock) take(ctx context.Context) error {
	l.once.Do(func() { l.taken = make(chan struct{}, 1) })
	select {
	case l.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release gives back the lock, which the caller has taken.
func (l *lock) release() { <-l.taken }
