package main

import (
	"github.com/zeebo/xxh3"

	"seen/bloom"
)

// ours returns the rows of this module.
func ours() []row {
	const module = "seen"
	return []row{
		{"Filter", module, func(n int, rate float64) (filter, error) {
			f, err := newFilter(n, rate)
			if err != nil {
				return filter{}, err
			}
			return filter{
				add: func(s keySet) {
					for _, key := range s.keys {
						f.Add(key)
					}
				},
				has: func(s keySet) int {
					n := 0
					for _, key := range s.keys {
						if f.Has(key) {
							n++
						}
					}
					return n
				},
				bits: func() uint64 { return f.Stats().Bits },
			}, nil
		}},
		{"Filter, batch", module, batch(newFilter)},
		{"Filter, hashes", module, func(n int, rate float64) (filter, error) {
			f, err := newFilter(n, rate)
			if err != nil {
				return filter{}, err
			}
			return filter{
				add: func(s keySet) {
					for _, h := range s.hashes {
						f.AddHash(h)
					}
				},
				has: func(s keySet) int {
					n := 0
					for _, h := range s.hashes {
						if f.HasHash(h) {
							n++
						}
					}
					return n
				},
				bits: func() uint64 { return f.Stats().Bits },
			}, nil
		}},
		{"Filter, batch, hashes", module, func(n int, rate float64) (filter, error) {
			f, err := newFilter(n, rate)
			if err != nil {
				return filter{}, err
			}
			found := make([]bool, batchKeys)
			return filter{
				add: func(s keySet) {
					for hs := range chunks(s.hashes) {
						f.AddHashes(found[:len(hs)], hs)
					}
				},
				has: func(s keySet) int {
					// Each call has its own answers: two goroutines may call it.
					found, n := make([]bool, batchKeys), 0
					for hs := range chunks(s.hashes) {
						n += f.HasHashes(found[:len(hs)], hs)
					}
					return n
				},
				bits: func() uint64 { return f.Stats().Bits },
			}, nil
		}},
		{"Shared", module, single(newShared)},
		{"Shared, batch", module, batch(newShared)},
		{"Scalable", module, single(newScalable)},
		{"Scalable, batch", module, batch(newScalable)},
		{"Classic", module, single(newClassic)},
		{"Static", module, static(false)},
		{"Static, batch", module, static(true)},
	}
}

// batchKeys is the number of keys in a batch.
const batchKeys = 1024

// chunks yields s in pieces of batchKeys.
func chunks[T any](s []T) func(yield func([]T) bool) {
	return func(yield func([]T) bool) {
		for len(s) > 0 {
			n := min(len(s), batchKeys)
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}

// set has the methods of the filters that the rows use.
type set interface {
	Add(key []byte) bool
	Has(key []byte) bool
	AddKeys(added []bool, keys [][]byte) int
	HasKeys(found []bool, keys [][]byte) int
	AddHash(h uint64) bool
	HasHash(h uint64) bool
	AddHashes(added []bool, hs []uint64) int
	HasHashes(found []bool, hs []uint64) int
	Stats() bloom.Stats
}

func newFilter(n int, rate float64) (*bloom.Filter, error) {
	return bloom.New(bloom.Config{Capacity: uint64(n), ErrorRate: rate})
}

func newShared(n int, rate float64) (*bloom.Shared, error) {
	return bloom.NewShared(bloom.Config{Capacity: uint64(n), ErrorRate: rate})
}

func newClassic(n int, rate float64) (*bloom.Classic, error) {
	return bloom.NewClassic(bloom.Config{Capacity: uint64(n), ErrorRate: rate})
}

// newScalable begins with a capacity of a hundredth of n, as if n were unknown.
func newScalable(n int, rate float64) (*bloom.Scalable, error) {
	return bloom.NewScalable(bloom.ScalableConfig{Capacity: uint64(n/100 + 1), ErrorRate: rate})
}

// single uses a filter one key at a time, by indirect calls. They cost about a
// nanosecond more than calls in a program that names the type.
func single[F set](build func(n int, rate float64) (F, error)) func(int, float64) (filter, error) {
	return func(n int, rate float64) (filter, error) {
		f, err := build(n, rate)
		if err != nil {
			return filter{}, err
		}
		return filter{
			add: func(s keySet) {
				for _, key := range s.keys {
					f.Add(key)
				}
			},
			has: func(s keySet) int {
				n := 0
				for _, key := range s.keys {
					if f.Has(key) {
						n++
					}
				}
				return n
			},
			bits: func() uint64 { return f.Stats().Bits },
		}, nil
	}
}

// batch uses a filter in batches of keys.
func batch[F set](build func(n int, rate float64) (F, error)) func(int, float64) (filter, error) {
	return func(n int, rate float64) (filter, error) {
		f, err := build(n, rate)
		if err != nil {
			return filter{}, err
		}
		added := make([]bool, batchKeys)
		return filter{
			add: func(s keySet) {
				for keys := range chunks(s.keys) {
					f.AddKeys(added[:len(keys)], keys)
				}
			},
			has: func(s keySet) int {
				found, n := make([]bool, batchKeys), 0
				for keys := range chunks(s.keys) {
					n += f.HasKeys(found[:len(keys)], keys)
				}
				return n
			},
			bits: func() uint64 { return f.Stats().Bits },
		}, nil
	}
}

// static collects hashes and builds the filter at the end.
func static(inBatches bool) func(int, float64) (filter, error) {
	return func(n int, rate float64) (filter, error) {
		hs := make([]uint64, 0, n)
		f := new(bloom.Static)
		all := filter{
			add: func(s keySet) {
				for _, key := range s.keys {
					hs = append(hs, xxh3.HashSeed(key, 0))
				}
			},
			done: func() (err error) {
				f, err = bloom.NewStatic(bloom.StaticConfig{ErrorRate: rate, Hashes: hs})
				hs = nil
				return err
			},
			has: func(s keySet) int {
				n := 0
				for _, key := range s.keys {
					if f.Has(key) {
						n++
					}
				}
				return n
			},
			bits: func() uint64 { return f.Stats().Bytes * 8 },
		}
		if inBatches {
			all.has = func(s keySet) int {
				found, n := make([]bool, batchKeys), 0
				for keys := range chunks(s.keys) {
					n += f.HasKeys(found[:len(keys)], keys)
				}
				return n
			}
		}
		return all, nil
	}
}
