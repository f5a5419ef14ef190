package bloom

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"seen/internal/kernel"
	"seen/internal/keyhash"
	"seen/sizing"
)

// Filter is a blocked Bloom filter: all bits of a key are in one, two or three lines of
// 512 bits. So a key costs at most three cache misses, which do not wait for each other.
// Its memory is within 10 % of the classic optimum for error rates from 0.1 to 1e-6. Use
// it unless you need what another type offers.
//
// docs/FORMAT.md and [sizing.Params] describe the layout.
//
// The zero value is not usable; make one with [New] or read one. Any number of goroutines
// may ask at the same time while none adds; [Shared] is the same filter for concurrent
// adding. A Filter must not be copied.
type Filter struct {
	array
	layout kernel.Layout
	single kernel.Prepared // the array, for single calls
}

// New returns an empty filter.
func New(c Config) (*Filter, error) {
	a, err := newArray(c, sizing.Blocked)
	if err != nil {
		return nil, err
	}
	return asFilter(a, c.Hash.key(), c.Hash.KeyID()), nil
}

func asFilter(a array, h keyhash.Hash, keyID uint64) *Filter {
	f := unboundWith(a, h)
	f.bind(h, keyID, f)
	return f
}

// unbound returns the filter in a, for calls with hashes only.
func unbound(a array) *Filter { return unboundWith(a, keyhash.Hash{}) }

func unboundWith(a array, h keyhash.Hash) *Filter {
	layout := kernel.Layout{RegionLines: a.params.RegionLines(), Lines: a.params.Lines, Lanes: a.params.Lanes}
	f := &Filter{array: a, layout: layout, single: layout.Prepare(a.words, h)}
	if a.touch != nil {
		f.single = kernel.Via(&announced{layout, a.touch, layout.Prepare(a.words, h)}, h)
	}
	return f
}

// announced is an array that announces what it reads and writes, for mapped files.
type announced struct {
	layout kernel.Layout
	touch  func(off, n uint64)
	single kernel.Prepared
}

// AddHash announces and sets the bits of h.
func (a *announced) AddHash(h uint64) bool {
	announce(a.layout, a.touch, h)
	return a.single.AddHash(h)
}

// HasHash announces and tests the bits of h.
func (a *announced) HasHash(h uint64) bool {
	announce(a.layout, a.touch, h)
	return a.single.HasHash(h)
}

// announce announces an access to the lines of h.
func announce(l kernel.Layout, touch func(off, n uint64), h uint64) {
	for j := range uint64(l.Lines) {
		touch((j*l.RegionLines*kernel.LineWords+l.Offset(h))*8, kernel.LineWords*8)
		h = kernel.Next(h)
	}
}

// touchLines announces an access to the lines of hs, if accesses are to be announced.
func (f *Filter) touchLines(hs []uint64) {
	if f.touch != nil {
		for _, h := range hs {
			announce(f.layout, f.touch, h)
		}
	}
}

// Release returns the memory of the filter to the system at once, instead of when the
// filter is collected. The filter must not be used afterwards: calls panic.
func (f *Filter) Release() {
	f.single = kernel.Prepared{}
	f.array.Release()
}

// The compiler inlines single calls down to the one call of assembly that hashes and
// probes. Those that add are just within its budget.

// Add adds key and reports whether it is new. True is certain; false is wrong with the
// filter's error rate. It does not allocate and does not keep key.
func (f *Filter) Add(key []byte) (isNew bool) {
	if isNew = f.single.AddKey(key); isNew {
		f.added++
	}
	return
}

// AddString is Add for a string, without a copy.
func (f *Filter) AddString(key string) (isNew bool) {
	if isNew = f.single.AddString(key); isNew {
		f.added++
	}
	return
}

// AddHash is Add for a key whose hash is h.
func (f *Filter) AddHash(h uint64) (isNew bool) {
	if isNew = f.single.AddHash(h); isNew {
		f.added++
	}
	return
}

// Has reports whether key may have been added. No is certain; yes is wrong with
// the filter's error rate. It does not allocate.
func (f *Filter) Has(key []byte) bool { return f.single.HasKey(key) }

// HasString is Has for a string, without a copy.
func (f *Filter) HasString(key string) bool { return f.single.HasString(key) }

// HasHash is Has for a key whose hash is h.
func (f *Filter) HasHash(h uint64) bool { return f.single.HasHash(h) }

// AddHashes is AddKeys for hashes.
func (f *Filter) AddHashes(added []bool, hs []uint64) int {
	checkAnswers(added, len(hs))
	f.touchLines(hs)
	n := f.layout.AddBatch(f.words, added, hs)
	f.added += uint64(n)
	runtime.KeepAlive(f)
	return n
}

// HasHashes is HasKeys for hashes.
func (f *Filter) HasHashes(found []bool, hs []uint64) int {
	checkAnswers(found, len(hs))
	f.touchLines(hs)
	n := f.layout.HasBatch(f.words, found, hs)
	runtime.KeepAlive(f)
	return n
}

// whole reports whether the kernels can hash keys as they probe: the hash is the default
// one, and accesses are not announced.
func (f *Filter) whole() bool { return f.touch == nil && f.hash == keyhash.Hash{} }

// AddKeys does Add for each key in order, stores the answers in added, which must be nil
// or as long as keys, and returns the number of new keys. Of two equal keys in one call
// only the first is new.
func (f *Filter) AddKeys(added []bool, keys [][]byte) int {
	if !f.whole() {
		return f.keyed.AddKeys(added, keys)
	}
	checkAnswers(added, len(keys))
	n := f.layout.AddKeys(f.words, added, keys)
	f.added += uint64(n)
	runtime.KeepAlive(f)
	return n
}

// AddStrings is AddKeys for strings.
func (f *Filter) AddStrings(added []bool, keys []string) int {
	if !f.whole() {
		return f.keyed.AddStrings(added, keys)
	}
	checkAnswers(added, len(keys))
	n := f.layout.AddStrings(f.words, added, keys)
	f.added += uint64(n)
	runtime.KeepAlive(f)
	return n
}

// HasKeys does Has for each key, stores the answers in found, which must be nil or as
// long as keys, and returns the number of keys that may have been added. For filters
// larger than the caches it is several times faster than single calls, because cache
// misses overlap.
func (f *Filter) HasKeys(found []bool, keys [][]byte) int {
	if !f.whole() {
		return f.keyed.HasKeys(found, keys)
	}
	checkAnswers(found, len(keys))
	n := f.layout.HasKeys(f.words, found, keys)
	runtime.KeepAlive(f)
	return n
}

// HasStrings is HasKeys for strings.
func (f *Filter) HasStrings(found []bool, keys []string) int {
	if !f.whole() {
		return f.keyed.HasStrings(found, keys)
	}
	checkAnswers(found, len(keys))
	n := f.layout.HasStrings(f.words, found, keys)
	runtime.KeepAlive(f)
	return n
}

// Union adds every key of g to f, as [Classic.Union] does.
func (f *Filter) Union(g *Filter) error { return f.union(&g.array) }

// LossyAnd keeps in f the bits that g has too; see [Classic.LossyAnd].
func (f *Filter) LossyAnd(g *Filter) error { return f.lossyAnd(&g.array) }

// Equal reports whether f and g have the same parameters, hash and bits.
func (f *Filter) Equal(g *Filter) bool { return f.equal(&g.array) }

// Grow returns a [Scalable] with the keys of f, whose error rate is at most the one that f
// was made for, however many keys are added to it. Its first layer is a copy of f. Grow
// fails, with an error matched by [ErrFull], if f has nearly as many keys as it was made
// for, which leaves too little of the error rate to other layers.
func (f *Filter) Grow() (*Scalable, error) {
	if !(f.rate > 0 && f.rate < 1) || f.capacity == 0 {
		return nil, errors.New("the filter was not made for a capacity and an error rate")
	}
	c := ScalableConfig{Capacity: 1, ErrorRate: f.rate, Growth: sizing.DefaultGrowth, Hash: f.Hash()}
	share := c.growth().Rate(0)
	var err error
	if c.Capacity, err = f.params.Capacity(share); err != nil {
		return nil, err
	}
	c.Capacity = min(c.Capacity, f.capacity)
	if has := f.Stats().Cardinality; !(max(float64(f.added), has.Value) <= float64(c.Capacity)) {
		return nil, fmt.Errorf("%w: it has %.0f keys, and can become the first layer of a growing filter with at most %d", ErrFull, max(float64(f.added), has.Value), c.Capacity)
	}
	s, err := emptyScalable(c)
	if err != nil {
		return nil, err
	}
	copied := f.clone() // a layer has neither hash nor label
	s.layers = []*layer{asLayer(array{params: f.params, capacity: c.Capacity, rate: share, added: f.added, words: copied.words, mem: copied.mem}, 0)}
	s.bind(f.hash, f.keyID, s)
	s.label = f.label
	return s, nil
}

// Clone returns a copy that shares nothing with f.
func (f *Filter) Clone() *Filter { return asFilter(f.clone(), f.hash, f.keyID) }

// UnmarshalBinary replaces f by the blocked filter in b. After an error f is unchanged.
// A SipHash filter is read with the secret of f.
func (f *Filter) UnmarshalBinary(b []byte) error { return decodeInto(f, b) }

// ReadFrom replaces f by the blocked filter in r, which it reads to the end.
func (f *Filter) ReadFrom(r io.Reader) (int64, error) { return readInto(f, r) }

func (f *Filter) replace(g *Filter) { become(f, g) }
