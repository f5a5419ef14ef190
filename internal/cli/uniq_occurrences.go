package cli

import (
	"errors"
	"fmt"

	"seen/bloom"
	"seen/internal/kernel"
)

// maxNth bounds --nth: each occurrence up to the Nth takes a place of its own.
const maxNth = 64

// occurrences counts how often a key was seen, up to a number, in one set: the
// i-th occurrence of a key with hash h is remembered as the hash that levelHash
// makes of h and i. The first is h itself, so that a set made without --nth can
// be used with it and the other way round.
type occurrences struct {
	set     bloom.Set
	times   bool // times are taken from the records
	canFill bool // the set has a limit at which the run is to stop
	rest    []uint64
	where   []int
	at      []int64
	fresh   []bool
	show    []bool
}

// levelHash derives the hash for the occurrence after one whose hash is h.
func levelHash(h uint64) uint64 { return kernel.Next(h ^ 0x5bd1e9955bd1e995) }

// errTorn says that the set has recorded keys whose records are not decided.
var errTorn = errors.New("the filter became full in the middle of a block; the state is not saved")

// nth records one more occurrence of each key and tells in keep for which it is
// the n-th. It returns the number of keys dealt with, which is less than all only
// with an error: the set is full.
func (o *occurrences) nth(n int, keep []bool, hs []uint64, times []int64) (int, error) {
	if n == 1 {
		return o.add(keep, hs, times)
	}
	if o.canFill {
		return o.oneByOne(n, keep, hs)
	}
	// The keys that were seen before go on to the next level, in their order, so
	// that repeats within a batch count as well.
	o.rest, o.where, o.at = append(o.rest[:0], hs...), o.where[:0], append(o.at[:0], times...)
	for i := range hs {
		o.where = append(o.where, i)
		keep[i] = false
	}
	for level := 1; level <= n && len(o.rest) > 0; level++ {
		o.fresh = resize(o.fresh, len(o.rest))
		if _, err := o.add(o.fresh, o.rest, o.at); err != nil {
			return 0, fmt.Errorf("%w: %w", errTorn, err)
		}
		m := 0
		for i, isNew := range o.fresh {
			switch {
			case !isNew:
				o.rest[m], o.where[m] = levelHash(o.rest[i]), o.where[i]
				if len(o.at) > 0 {
					o.at[m] = o.at[i]
				}
				m++
			case level == n:
				keep[o.where[i]] = true
			}
		}
		o.rest, o.where = o.rest[:m], o.where[:m]
		if len(o.at) > 0 {
			o.at = o.at[:m]
		}
	}
	return len(hs), nil
}

// oneByOne is nth for a set that may be full in the middle: no key after that
// point must be recorded.
func (o *occurrences) oneByOne(n int, keep []bool, hs []uint64) (int, error) {
	for i, h := range hs {
		keep[i] = false
		for level := 1; level <= n; level++ {
			o.fresh = resize(o.fresh, 1)
			if _, err := o.add(o.fresh, []uint64{h}, nil); err != nil {
				return i, err
			}
			if o.fresh[0] {
				keep[i] = level == n
				break
			}
			h = levelHash(h)
		}
	}
	return len(hs), nil
}

// add adds the hashes and tells which were new.
func (o *occurrences) add(added []bool, hs []uint64, times []int64) (int, error) {
	if w, ok := o.set.(*bloom.Window); ok && o.times {
		w.AddHashesAt(added, times, hs)
		return len(hs), nil
	}
	if l, ok := o.set.(bloom.Growing); ok {
		return l.TryAddHashes(added, hs)
	}
	o.set.AddHashes(added, hs)
	return len(hs), nil
}
