package main

import (
	"fmt"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"seen/bloom"
)

// Store is a key-value store with a filter, so that look-ups of absent keys almost
// never read the disk. It is safe for concurrent use.
type Store struct {
	db      *bbolt.DB
	keys    *bloom.Shared
	lookups atomic.Int64
	reads   atomic.Int64
}

var bucket = []byte("values")

// Open opens a store for the given number of keys. More keys only increase the error
// rate. Open scans the store to make the filter from its keys; the filter then saves
// many times the cost of the scan.
func Open(path string, capacity uint64, errorRate float64) (*Store, error) {
	f, err := bloom.NewShared(bloom.Config{Capacity: capacity, ErrorRate: errorRate})
	if err != nil {
		return nil, err
	}
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bucket)
		if err != nil {
			return err
		}
		return b.ForEach(func(key, _ []byte) error {
			f.Add(key)
			return nil
		})
	})
	if err != nil {
		db.Close()
		return nil, err
	}
	return &Store{db: db, keys: f}, nil
}

// Close closes the store.
func (s *Store) Close() error { return s.db.Close() }

// Put stores a value. It adds the key to the filter first: in the other order, Get
// could miss a stored value for a moment. If storing fails, the key stays in the
// filter, and each look-up of it costs a read.
func (s *Store) Put(key, value []byte) error {
	s.keys.Add(key)
	return s.db.Batch(func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Put(key, value) })
}

// PutAll stores values in one transaction.
func (s *Store) PutAll(pairs map[string]string) error {
	for key := range pairs {
		s.keys.AddString(key)
	}
	return s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		for key, value := range pairs {
			if err := b.Put([]byte(key), []byte(value)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Delete removes a value. The key stays in the filter, since other keys may share its
// bits. Each look-up of the key costs a read until the store is opened again.
func (s *Store) Delete(key []byte) error {
	return s.db.Batch(func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Delete(key) })
}

// Get returns a copy of the value of a key, or nil.
func (s *Store) Get(key []byte) (value []byte, err error) {
	s.lookups.Add(1)
	if !s.keys.Has(key) {
		return nil, nil
	}
	s.reads.Add(1)
	err = s.db.View(func(tx *bbolt.Tx) error {
		value = append(value, tx.Bucket(bucket).Get(key)...)
		return nil
	})
	return value, err
}

// Saved returns the number of look-ups, how many of them read the store, and how many
// pages such a read takes.
func (s *Store) Saved() (lookups, reads int64, pages int, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		pages = tx.Bucket(bucket).Stats().Depth
		return nil
	})
	if err != nil {
		return 0, 0, 0, fmt.Errorf("statistics of the store: %w", err)
	}
	return s.lookups.Load(), s.reads.Load(), pages, nil
}
