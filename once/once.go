// Package once is the one small interface behind which a program can change
// where it remembers what it has seen: in its own memory, in a "seen serve", or on
// a fleet of Redis or Valkey. It is for crawlers and other programs that begin as
// one process and end as many.
//
// The filters of package cluster, a [cluster.Filter] on a fleet and a
// [cluster.ServerFilter] inside a server, are a [Memory] as they are; [Local] makes
// one of a filter of package bloom. It adds nothing to them: the error rate, what
// happens at capacity and what survives a crash are theirs.
//
// A Memory is safe for concurrent use.
package once

import (
	"context"
	"fmt"
	"sync"

	"seen/bloom"
)

// Set remembers keys.
type Set interface {
	// Add adds keys and reports of each whether it was certainly not there before.
	// Of any number of goroutines and processes that add one new key at the same
	// time exactly one is told true, and of equal keys in one call only one. A false
	// means that the key was there, or that the filter takes it for seen, with its
	// error rate. With an error, the answers that are there may be of use; the
	// implementation says which.
	Add(ctx context.Context, keys ...[]byte) ([]bool, error)
}

// Memory is a Set that can be asked without adding.
type Memory interface {
	Set
	// Has reports of each key whether it may have been added. No is certain, but
	// for keys that others are adding meanwhile; yes is wrong with the error rate.
	Has(ctx context.Context, keys ...[]byte) ([]bool, error)
}

// Filter is what Local needs of a filter: that of package bloom has it in Shared,
// Scalable, Window, Adaptive and all others that can be added to.
type Filter interface {
	Add(key []byte) bool
	Has(key []byte) bool
}

// Local returns a Memory in this process. A [bloom.Shared] is asked as it is; any
// other filter is asked by one call at a time, and must not be used otherwise as
// long. A call costs what the filter does and the slice of answers.
//
// If the context has ended nothing is done. A Scalable or an Adaptive that has
// reached its limit of memory gives [bloom.ErrFull] with the answers for the keys
// before the one that had no room, which was not recorded.
func Local(f Filter) Memory {
	l := local{add: func(key []byte) (bool, error) { return f.Add(key), nil }, has: f.Has, lock: new(sync.Mutex)}
	switch f := f.(type) {
	case *bloom.Shared:
		l.lock = nothing{}
	case bloom.Growing:
		h := f.Hash()
		l.add = func(key []byte) (bool, error) { return f.TryAddHash(h.Sum(key)) }
	}
	return l
}

type local struct {
	add  func(key []byte) (bool, error)
	has  func(key []byte) bool
	lock sync.Locker
}

// nothing is the lock of a filter that has its own.
type nothing struct{}

func (nothing) Lock()   {}
func (nothing) Unlock() {}

func (l local) Add(ctx context.Context, keys ...[]byte) ([]bool, error) {
	return l.each(ctx, keys, l.add)
}

func (l local) Has(ctx context.Context, keys ...[]byte) ([]bool, error) {
	return l.each(ctx, keys, func(key []byte) (bool, error) { return l.has(key), nil })
}

func (l local) each(ctx context.Context, keys [][]byte, ask func([]byte) (bool, error)) ([]bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	answers := make([]bool, 0, len(keys))
	for i, key := range keys {
		yes, err := ask(key)
		if err != nil {
			return answers, fmt.Errorf("key %d of %d: %w", i, len(keys), err)
		}
		answers = append(answers, yes)
	}
	return answers, nil
}
