package bloom

import (
	"io"
	"math/bits"
	"runtime"

	"seen/internal/keyhash"
	"seen/sizing"
)

// Counting is a classic filter with a counter in place of each bit, so that keys
// can be removed again. Counters have 4 bits, or 8 or 16 on request.
//
// Add always increments, also for a key that is there: a key that was added twice must be
// removed twice. A counter that reaches its maximum is stuck and never goes down again, so
// its keys can no longer be removed completely. Stats counts the stuck counters. With 4
// bits, fewer than one counter in 10^14 gets stuck while distinct keys are added up to the
// capacity. Many additions of one key make its counters stuck; wider counters delay that.
//
// Remove only keys that were added, and there are no false negatives. Remove of a key that
// was never added nearly always changes nothing. But where the filter says yes to that key
// by error, Remove lowers counters of other keys, and one of them may disappear.
//
// The zero value is not usable; make one with [NewCounting] or read one. Any number of
// goroutines may ask at the same time while none adds or removes. A Counting must not be
// copied.
type Counting struct {
	array
	perWord uint   // log2 of the counters in a word
	most    uint64 // highest value of a counter
}

// NewCounting returns an empty counting filter. Counters have 4 bits unless
// c.Params.CounterBits is 8 or 16; the rest of Params may then be zero.
func NewCounting(c Config) (*Counting, error) {
	a, err := newArray(c, sizing.Counting)
	if err != nil {
		return nil, err
	}
	return asCounting(a, c.Hash.key(), c.Hash.KeyID()), nil
}

func asCounting(a array, h keyhash.Hash, keyID uint64) *Counting {
	width := uint(a.params.CounterBits)
	f := &Counting{a, uint(bits.TrailingZeros(64 / width)), 1<<width - 1}
	f.bind(h, keyID, f)
	return f
}

// counter locates counter i: its word and its lowest bit there. The filter must be
// kept alive for the word.
func (f *Counting) counter(i uint64) (word *uint64, shift uint64) {
	f.touchWord(i >> f.perWord)
	return &f.words[i>>f.perWord], (i & (1<<f.perWord - 1)) * uint64(f.params.CounterBits)
}

// AddHash is Add for a key whose hash is h.
func (f *Counting) AddHash(h uint64) bool {
	isNew := !f.HasHash(h)
	f.raise(h, f.params.K)
	if isNew {
		f.added++
	}
	return isNew
}

// HasHash is Has for a key whose hash is h.
func (f *Counting) HasHash(h uint64) bool {
	x := h
	for range f.params.K {
		if w, s := f.counter(position(x, f.params.M)); *w>>s&f.most == 0 {
			return false
		}
		x = probeStep(x)
	}
	runtime.KeepAlive(f)
	return true
}

// Count returns an upper bound of how often the key with hash h was added and
// not removed; the largest value of a counter means "that often or more".
func (f *Counting) Count(h uint64) uint64 {
	least := f.most
	x := h
	for range f.params.K {
		w, s := f.counter(position(x, f.params.M))
		least = min(least, *w>>s&f.most)
		x = probeStep(x)
	}
	runtime.KeepAlive(f)
	return least
}

// Remove undoes one Add of key and returns true. If the key is certainly not there it
// changes nothing and returns false.
func (f *Counting) Remove(key []byte) bool { return f.RemoveHash(f.hash.Sum(key)) }

// RemoveString is Remove for a string, without a copy.
func (f *Counting) RemoveString(key string) bool { return f.RemoveHash(f.hash.SumString(key)) }

// RemoveHash is Remove for a key whose hash is h.
func (f *Counting) RemoveHash(h uint64) bool {
	x := h
	for i := range f.params.K {
		w, s := f.counter(position(x, f.params.M))
		switch c := *w >> s & f.most; c {
		case 0:
			// The key is absent, perhaps because two probes of h share a counter that was
			// raised only once: undo what was done so far.
			f.raise(h, i)
			return false
		case f.most:
		default:
			*w -= 1 << s
		}
		x = probeStep(x)
	}
	if !f.HasHash(h) && f.added > 0 {
		f.added--
	}
	return true
}

// raise raises the first n counters of h.
func (f *Counting) raise(h uint64, n int) {
	x := h
	for range n {
		if w, s := f.counter(position(x, f.params.M)); *w>>s&f.most != f.most {
			*w += 1 << s
		}
		x = probeStep(x)
	}
	runtime.KeepAlive(f)
}

// Union adds every key of g to f, as often as it was added to g: the counters are summed,
// and stick at their maximum. Added becomes an estimate. If parameters or hashes differ,
// Union fails with [ErrIncompatible] and does not change f.
func (f *Counting) Union(g *Counting) error {
	return f.combine(g, func(a, b uint64) uint64 { return min(a+b, f.most) })
}

// LossyAnd keeps in f the smaller of the two filters' counters. Keys that were added to
// both stay. The result is not the filter of the intersection: it says yes to more keys.
func (f *Counting) LossyAnd(g *Counting) error {
	return f.combine(g, func(a, b uint64) uint64 { return min(a, b) })
}

func (f *Counting) combine(g *Counting, op func(a, b uint64) uint64) error {
	if err := f.checkAlike(&g.array); err != nil {
		return err
	}
	theirs := g.all()
	for i := range f.words {
		w := uint64(0)
		for s := 0; s < 64; s += f.params.CounterBits {
			w |= op(f.words[i]>>s&f.most, theirs[i]>>s&f.most) << s
		}
		f.words[i] = w
	}
	runtime.KeepAlive(g)
	f.capacity = max(f.capacity, g.capacity)
	ones, _ := f.census()
	f.added = uint64(min(f.params.Cardinality(ones).Value, float64(f.params.M)))
	return nil
}

// Equal reports whether f and g have the same parameters, hash and counters.
func (f *Counting) Equal(g *Counting) bool { return f.equal(&g.array) }

// Clone returns a copy that shares nothing with f.
func (f *Counting) Clone() *Counting { return asCounting(f.clone(), f.hash, f.keyID) }

// census counts the counters that are not zero and those that are stuck.
func (f *Counting) census() (nonZero, stuck uint64) {
	for _, w := range f.all() {
		for ; w != 0; w >>= f.params.CounterBits {
			c := w & f.most
			nonZero += uint64(one(c != 0))
			stuck += uint64(one(c == f.most))
		}
	}
	runtime.KeepAlive(f)
	return nonZero, stuck
}

// Stats describes the filter; it reads the whole array.
func (f *Counting) Stats() Stats {
	nonZero, stuck := f.census()
	s := f.statsOf(nonZero)
	s.Stuck = stuck
	return s
}

// UnmarshalBinary replaces f by the counting filter in b. After an error f is
// unchanged. A SipHash filter is read with the secret of f.
func (f *Counting) UnmarshalBinary(b []byte) error { return decodeInto(f, b) }

// ReadFrom replaces f by the counting filter in r, which it reads to the end.
func (f *Counting) ReadFrom(r io.Reader) (int64, error) { return readInto(f, r) }

func (f *Counting) replace(g *Counting) { become(f, g) }
