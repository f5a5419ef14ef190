// Package once is a small interface for programs that may change where they remember
// what they have seen: in their own memory, in a "seen serve", or in a fleet of Redis or
// Valkey. It is for crawlers and other programs that begin as one process and become many.
//
// A [cluster.Filter], [cluster.Window] or [cluster.ServerFilter] is a [Memory] as it is;
// [Local] makes one of a filter of package bloom. The error rate, what happens at capacity
// and what survives a crash are those of the filter.
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
	// Add adds keys and reports for each whether it was certainly not there before. If
	// several goroutines or processes add one new key at the same time, exactly one is
	// told true, and of equal keys in one call only one. False means that the key was
	// there, or, with the error rate, that it was not. With an error, some answers may
	// still be valid; the implementation says which.
	Add(ctx context.Context, keys ...[]byte) ([]bool, error)
}

// Memory is a Set that can be queried without adding.
type Memory interface {
	Set
	// Has reports for each key whether it may have been added. False is certain, except
	// for keys that others are adding meanwhile; true is wrong with the error rate.
	Has(ctx context.Context, keys ...[]byte) ([]bool, error)
}

// Filter is what Local needs. Shared, Scalable, Window, Adaptive and all other filters of
// package bloom to which keys can be added have it.
type Filter interface {
	Add(key []byte) bool
	Has(key []byte) bool
}

// Local returns a Memory in this process. Calls use a [bloom.Shared] concurrently. They
// use any other filter one at a time, and the program must not use it in another way
// meanwhile.
//
// If the context has ended, a call does nothing. A Scalable or an Adaptive at its memory
// limit gives [bloom.ErrFull], with the answers for the keys before the one that had no
// room. That key was not recorded.
func Local(f Filter) Memory {
	l := local{add: func(key []byte) (bool, error) { return f.Add(key), nil }, has: f.Has, lock: new(sync.Mutex)}
	switch f := f.(type) {
	case *bloom.Shared:
		l.lock = nil
	case bloom.Growing:
		h := f.Hash()
		l.add = func(key []byte) (bool, error) { return f.TryAddHash(h.Sum(key)) }
	}
	return l
}

type local struct {
	add  func(key []byte) (bool, error)
	has  func(key []byte) bool
	lock *sync.Mutex // nil for a filter that has its own
}

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
	if l.lock != nil {
		l.lock.Lock()
		defer l.lock.Unlock()
	}
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
