package cluster

import (
	"context"
	"sync"
)

// lock is a mutex for those who wait no longer than a context lasts: who holds one
// here talks to an engine, by a deadline of its own or without any. The zero value
// is free.
type lock struct {
	once  sync.Once
	taken chan struct{} // holds one token while somebody has the lock
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

// release gives the lock back, which the caller has taken.
func (l *lock) release() { <-l.taken }
