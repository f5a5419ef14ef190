package store

import (
	"sync"
	"sync/atomic"
	"time"
)

// Value is what a name leads to: a *Bloom, *RedisBloom, *Cuckoo, *CountMin, *TopK or
// *Foreign. A Value that was looked up still answers questions after it was deleted or
// renamed, and refuses changes with ErrGone.
type Value interface {
	// Type returns the type as the protocol names it, such as MBbloom--.
	Type() string
	// Bytes returns the memory that the value takes.
	Bytes() uint64
	// Created returns when the value was made, to the millisecond.
	Created() time.Time
	// Expires returns when the value will be gone, or the zero time.
	Expires() time.Time
	// LSN returns the position of the last change. An answer that shows the state
	// of the value depends on it.
	LSN() LSN
	// Traffic returns what the value was asked so far.
	Traffic() Traffic
}

// value is what the store needs of its values.
type value interface {
	Value
	head() *base
	// renamed returns a value of the same contents, for another name.
	renamed() value
	// replay repeats an operation of the log, which has the given number.
	replay(op operation, at LSN) error
	// capture describes the contents as they are now; mu is held, or the value is not
	// shared yet.
	capture() (*capture, error)
	// lost notes that the file of the given number is missing or damaged; mu is held.
	lost(file uint64)
	// appendFiles appends the files that have the contents; mu is held.
	appendFiles(refs []reference) []reference
}

// base is what all kinds of values share.
type base struct {
	store   *Store
	id      uint64        // never used twice
	created int64         // Unix milliseconds
	memory  atomic.Uint64 // without that of the name

	*core        // the same under another name
	name  string // also guarded by Store.space
	kind  kind
	gone  bool // deleted or renamed: this is not the value of the name any more

	// last is the position of the last change. It is set before the change is made, so
	// that a reader that sees the change reads this position or a later one.
	last atomic.Uint64
	// applied is the position up to which all changes were made when it was set. If last
	// still equals it under mu, a lookup made since then does not have to be repeated.
	applied atomic.Uint64
	// floor is the position of the last change that was not an addition: the
	// answer that a key is absent depends on it.
	floor  atomic.Uint64
	expire atomic.Int64 // Unix milliseconds, 0 for never
}

// core is what a value keeps when it gets another name, and what is written all the time.
// It fills a cache line of its own, so that writes do not slow down reads of fields
// beside it.
type core struct {
	// mu is held by changes while they are decided, logged and made. Questions to
	// Bloom filters do not take it.
	mu      sync.Mutex
	traffic traffic
	stored  stored
}

// Type implements [Value].
func (b *base) Type() string { return typeNames[b.kind] }

func (b *base) head() *base        { return b }
func (b *base) Bytes() uint64      { return b.memory.Load() + uint64(len(b.name)) }
func (b *base) Created() time.Time { return time.UnixMilli(b.created) }
func (b *base) LSN() LSN           { return LSN(b.last.Load()) }

func (b *base) Expires() time.Time {
	if at := b.expire.Load(); at != 0 {
		return time.UnixMilli(at)
	}
	return time.Time{}
}

// expired reports whether the value counts as absent.
func (b *base) expired() bool {
	at := b.expire.Load()
	return at != 0 && b.store.now() >= at
}

// lock locks the value for a change, or returns why it cannot change.
func (b *base) lock() error {
	b.mu.Lock()
	if b.gone {
		b.mu.Unlock()
		return ErrGone
	}
	if err := b.store.log.writable(); err != nil {
		b.mu.Unlock()
		return err
	}
	return nil
}

// await waits until the mutex is free.
func (b *base) await() {
	b.mu.Lock()
	defer b.mu.Unlock()
}

// changed notes the position of a change that is about to be made.
func (b *base) changed(at LSN) { b.last.Store(uint64(at)) }

// changedAll is changed for a change that may make keys absent.
func (b *base) changedAll(at LSN) {
	b.last.Store(uint64(at))
	b.floor.Store(uint64(at))
}

// absent returns the position that an answer without keys depends on.
func (b *base) absent() LSN { return LSN(b.floor.Load()) }

// copyTo makes c the head of the same value under another name. mu is held.
func (b *base) copyTo(c *base) {
	c.core = b.core
	c.store, c.kind, c.id, c.created, c.name = b.store, b.kind, b.id, b.created, b.name
	c.memory.Store(b.memory.Load())
	c.last.Store(b.last.Load())
	c.floor.Store(b.floor.Load())
	c.applied.Store(b.applied.Load())
	c.expire.Store(b.expire.Load())
}

// image describes what all values have.
func (b *base) image(meta []byte) *image {
	return &image{
		kind: b.kind, id: b.id, at: b.LSN(), name: b.name, created: b.created, expire: b.expire.Load(), meta: meta,
	}
}
