package cli

import (
	"errors"
	"fmt"

	"seen/bloom"
	"seen/internal/kernel"
)

// maxNth bounds --nth, because each occurrence up to the Nth is a key of its own in the
// set.
const maxNth = 64

// occurrences counts in one set how often a key was seen, up to a number. The i-th
// occurrence of a key with hash h is recorded as a hash that levelHash derives from h
// and i. For the first it is h itself, so that a set can be used with and without
// --nth.
type occurrences struct {
	set     bloom.Set
	times   bool // times are taken from the records
	canFill bool // the run stops when the set is full
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

// nth records one more occurrence of each key and sets keep where it is the n-th. It
// returns the number of keys that it has recorded. If that is not all, the error says
// that the set is full.
func (o *occurrences) nth(n int, keep []bool, hs []uint64, times []int64) (int, error) {
	if n == 1 {
		return o.add(keep, hs, times)
	}
	if o.canFill {
		return o.oneByOne(n, keep, hs)
	}
	// Keys that were seen before go to the next level in their order, so that repeats
	// within a batch count too.
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

// oneByOne is nth for a set that may become full in the middle. No key after that point
// may be recorded.
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

// add adds the hashes and sets added for the new ones.
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
