package bloom

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"seen/internal/kernel"
	"seen/internal/keyhash"
	"seen/internal/pages"
	"seen/sizing"
)

// ScalableConfig says how a [Scalable] begins and how it grows.
type ScalableConfig struct {
	// Capacity is the number of distinct keys of the first layer, at least 1. It is not a
	// limit; the closer it is to the true number, the fewer layers there are.
	Capacity uint64
	// ErrorRate bounds the error rate of all layers together, however many there
	// will be; between 0 and 1, exclusively.
	ErrorRate float64
	// Growth is the capacity of a layer relative to the one before it, above 1 and
	// at most 16; 0 means [sizing.DefaultGrowth].
	Growth float64
	// MaxBytes limits the memory of all layers together; 0 means no limit.
	MaxBytes uint64
	// Overfill says what happens to new keys when the filter cannot grow any more. Without
	// it they are not recorded, and the error rate stays as it is. With it the last layer
	// takes them, and the error rate rises above ErrorRate.
	Overfill bool
	// Hash is the key hash; the zero value is XXH3 with seed 0.
	Hash Hash
}

// Scalable is a filter for an unknown number of keys. It is a series of layers, each a
// [Filter] of greater capacity than the one before: a key is added to the newest layer
// and looked for in all.
//
// [sizing.Growth] decides the capacities and error rates of the layers. The sum of the
// error rates is below ErrorRate, however many layers there are.
//
// A question costs about one cache miss for each layer, and those of a Filter where a
// layer has the key. Compared with a Filter of the right size, the memory is least when
// the newest layer is full and greatest when it is empty. Up to a thousand times the first
// capacity, the two are at most
//
//	1.5 and 2.6 times, on average 1.6, at an error rate of 1e-6
//	2.3 and 3.3 times, on average 2.3, at 0.01
//	3.7 and 5.2 times, on average 3.5, at 0.1
//
// and less if the first capacity is close to the true number of keys.
//
// Growth ends at MaxBytes, or where the hash or the address space ends. A key that needs
// another layer is then not recorded: TryAddHash and TryAddHashes return [ErrFull], the
// other calls answer true, because the key is new, and [Scalable.Err] returns the reason.
// See Overfill for the other choice.
//
// The zero value is not usable; make one with [NewScalable] or read one. Any number of
// goroutines may ask at the same time while none adds. A Scalable must not be copied.
type Scalable struct {
	storedSet
	config ScalableConfig
	base   sizing.Params // of the first layer
	layers []*layer      // by ascending index; the last one takes new keys
	full   error         // why there is no further layer, once that is known
}

// layer is one array of a growing filter. Its Filter is not bound to a hash: it
// is asked by hashes only.
type layer struct {
	Filter
	index int // decides its share of the error rate
	// first looks at the first line of a key only, where there are several: that is nearly
	// always enough to know that a layer does not have a key.
	first kernel.Prepared
}

// NewScalable returns an empty filter with its first layer.
func NewScalable(c ScalableConfig) (*Scalable, error) {
	if err := c.Hash.Validate(); err != nil {
		return nil, err
	}
	s, err := newScalable(c)
	if err != nil {
		return nil, err
	}
	s.bind(c.Hash.key(), c.Hash.KeyID(), s)
	return s, nil
}

// newScalable returns a Scalable that is not bound yet.
func newScalable(c ScalableConfig) (*Scalable, error) {
	s, err := emptyScalable(c)
	if err != nil {
		return nil, err
	}
	if need := s.base.Bytes(); c.MaxBytes != 0 && need > c.MaxBytes {
		return nil, fmt.Errorf("the first layer takes %d bytes, more than the limit of %d; raise the limit or the error rate, or lower the capacity", need, c.MaxBytes)
	}
	return s.fresh()
}

func badRate(p float64) error {
	return fmt.Errorf("error rate is %v; it must be above 0 and below 1, for example 0.01", p)
}

// fresh returns an empty filter of the same parameters as s, or an error if there
// is not enough memory for its first layer.
func (s *Scalable) fresh() (*Scalable, error) {
	f := &Scalable{config: s.config, base: s.base}
	a, err := newArray(Config{Capacity: s.config.Capacity, ErrorRate: s.rateOf(0), Params: s.base}, sizing.Blocked)
	if err != nil {
		return nil, err
	}
	f.layers = []*layer{asLayer(a, 0)}
	return f, nil
}

// firstLayer makes the first layer in the given memory, which must be zero.
func (s *Scalable) firstLayer(words []uint64, mem *pages.Array) *layer {
	return asLayer(array{params: s.base, capacity: s.config.Capacity, rate: s.rateOf(0), words: words, mem: mem}, 0)
}

// emptyScalable checks c and returns a Scalable without layers.
func emptyScalable(c ScalableConfig) (*Scalable, error) {
	if !(c.ErrorRate > 0 && c.ErrorRate < 1) {
		return nil, badRate(c.ErrorRate)
	}
	if c.Growth == 0 {
		c.Growth = sizing.DefaultGrowth
	}
	if err := c.growth().Validate(); err != nil {
		return nil, err
	}
	s := &Scalable{config: c}
	var err error
	if s.base, err = (Config{Capacity: c.Capacity, ErrorRate: s.rateOf(0)}).resolve(sizing.Blocked); err != nil {
		return nil, fmt.Errorf("error rate %v over all layers; the first: %w", c.ErrorRate, err)
	}
	return s, nil
}

func asLayer(a array, index int) *layer {
	l := &layer{Filter: *unbound(a), index: index}
	l.first = l.single
	if a.touch == nil {
		l.first = l.firstLines().Prepare(a.words, keyhash.Hash{})
	}
	return l
}

// Release returns the memory of the layer to the system.
func (l *layer) Release() {
	l.first = kernel.Prepared{}
	l.Filter.Release()
}

// has is HasHash, made for the case that the layer does not have the key.
func (l *layer) has(h uint64) bool { return l.first.HasHash(h) && l.single.HasHash(h) }

// growth returns the rule that decides the capacities and error rates of layers.
func (c *ScalableConfig) growth() sizing.Growth {
	return sizing.Growth{First: c.Capacity, Factor: c.Growth, ErrorRate: c.ErrorRate}
}

func (s *Scalable) rateOf(index int) float64 { return s.config.growth().Rate(index) }

func (s *Scalable) newest() *layer { return s.layers[len(s.layers)-1] }

// room returns the number of keys that the newest layer takes.
func (s *Scalable) room() uint64 {
	l := s.newest()
	switch {
	case l.added < l.capacity:
		return l.capacity - l.added
	case s.full != nil && s.config.Overfill:
		return math.MaxUint64
	}
	return 0
}

// makeRoom makes room for a key in the newest layer, or returns why it cannot.
func (s *Scalable) makeRoom() error {
	if s.room() > 0 {
		return nil
	}
	if s.full == nil {
		l, err := s.nextLayer()
		if err == nil {
			s.layers = append(s.layers, l)
			return nil
		}
		s.full = err
	}
	if s.config.Overfill {
		return nil
	}
	return s.full
}

// nextLayer makes the layer after the newest: as large as the rule of growth says, or as
// the limit of memory allows.
func (s *Scalable) nextLayer() (*layer, error) {
	index := s.newest().index + 1
	rate := s.rateOf(index)
	bytes, total, largest := s.Bytes(), s.Capacity(), uint64(0)
	for _, l := range s.layers {
		largest = max(largest, l.capacity)
	}
	want := s.config.growth().Next(largest)
	p, err := sizing.For(sizing.Blocked, want, rate)
	if limit := s.config.MaxBytes; limit != 0 && (err != nil || bytes+p.Bytes() > limit) {
		// A last, smaller one, if it makes a difference.
		want, p, err = sizing.CapacityWithin(sizing.Blocked, limit-min(limit, bytes), rate)
		if err != nil || want < total/lastShare {
			return nil, fmt.Errorf("%w: %d layers take %d bytes of at most %d, which leaves too little for another; raise the limit or begin with a larger capacity",
				ErrFull, len(s.layers), bytes, limit)
		}
	}
	if err == nil {
		var a array
		if a, err = newArray(Config{Capacity: want, ErrorRate: rate, Params: p}, sizing.Blocked); err == nil {
			return asLayer(a, index), nil
		}
	}
	return nil, fmt.Errorf("%w: layer %d for %d keys at error rate %.3g is impossible: %w; begin with a larger capacity or a higher error rate",
		ErrFull, index+1, want, rate, err)
}

// lastShare bounds how small a last layer may be that the limit of memory makes smaller:
// it takes at least a 20th of the keys of the other layers, since each layer makes every
// question slower.
const lastShare = 20

// Err returns nil, or an error, matched by [ErrFull], that says why the filter could not
// grow for a new key. From then on new keys are not recorded or, with Overfill, raise the
// error rate. The error stays until Clear, and files do not contain it.
func (s *Scalable) Err() error { return s.full }

// SetLimits replaces MaxBytes and Overfill, for example of a filter that was read from a
// file. A filter that has reached its limit tries again to grow. Existing layers stay,
// even above the limit.
func (s *Scalable) SetLimits(maxBytes uint64, overfill bool) {
	s.config.MaxBytes, s.config.Overfill = maxBytes, overfill
	s.full = nil
}

// TryAddHash is AddHash that reports a full filter: isNew is then true, err is matched by
// [ErrFull], and the key is not recorded. With Overfill there is no error.
func (s *Scalable) TryAddHash(h uint64) (isNew bool, err error) {
	if s.HasHash(h) {
		return false, nil
	}
	return true, s.addNew(h)
}

// addNew is AddHash for a key that is known not to be in any layer.
func (s *Scalable) addNew(h uint64) error {
	if err := s.makeRoom(); err != nil {
		return err
	}
	s.newest().AddHash(h)
	return nil
}

// AddHash is Add for a key whose hash is h.
func (s *Scalable) AddHash(h uint64) bool {
	isNew, _ := s.TryAddHash(h) // Err keeps the error
	return isNew
}

// HasHash is Has for a key whose hash is h.
func (s *Scalable) HasHash(h uint64) bool {
	// The newest layer first: it is the largest and most likely to have the key.
	for i := len(s.layers) - 1; i >= 0; i-- {
		if s.layers[i].has(h) {
			return true
		}
	}
	return false
}

// TryAddHashes is AddHashes that stops when the filter is full. It returns the number n of
// hashes that it has handled and, if that is not all of them, an error matched by
// [ErrFull]. Unless added is nil its first n elements are the answers.
func (s *Scalable) TryAddHashes(added []bool, hs []uint64) (n int, err error) {
	checkAnswers(added, len(hs))
	_, n, err = s.addBatches(added, hs)
	return n, err
}

// AddHashes is AddKeys for hashes.
func (s *Scalable) AddHashes(added []bool, hs []uint64) int {
	checkAnswers(added, len(hs))
	count, n, err := s.addBatches(added, hs)
	if err == nil {
		return count
	}
	// Full: the rest is only looked up, and what is not there is new.
	rest := hs[n:]
	if added == nil {
		return count + len(rest) - s.HasHashes(nil, rest)
	}
	added = added[n:]
	count += len(rest) - s.HasHashes(added, rest)
	for i, had := range added {
		added[i] = !had
	}
	return count
}

// addBatches adds hs a batch at a time. It returns how many were new and how many
// it has dealt with, which is all unless there is an error.
func (s *Scalable) addBatches(added []bool, hs []uint64) (count, n int, err error) {
	if len(s.layers) == 1 && uint64(len(hs)) <= s.room() {
		return s.newest().AddHashes(added, hs), len(hs), nil
	}
	p := getPending()
	defer p.release()
	for n < len(hs) {
		m := min(keyBatch, len(hs)-n)
		p.start(part(added, n, m), hs[n:n+m], false)
		c, done, err := s.addPending(p)
		count += c
		n += done
		if err != nil {
			return count, n, err
		}
	}
	return count, n, nil
}

// addPending adds a batch. All older layers are asked about all of it, the oldest first:
// it is the smallest, and has the most frequent keys.
func (s *Scalable) addPending(p *pending) (count, n int, err error) {
	n = p.n
	for _, l := range s.layers[:len(s.layers)-1] {
		p.ask(&l.Filter)
	}
	for p.n > 0 {
		if room := s.room(); room > 0 {
			count += p.add(&s.newest().Filter, int(min(room, keyBatch)))
			continue
		}
		// The newest layer is full: ask it as an older one. Make the next layer only if
		// a key is left that needs it.
		p.ask(&s.newest().Filter)
		if p.n == 0 {
			break
		}
		if err := s.makeRoom(); err != nil {
			return count, int(p.at[0]), err
		}
	}
	return count, n, nil
}

// HasHashes is HasKeys for hashes.
func (s *Scalable) HasHashes(found []bool, hs []uint64) int {
	checkAnswers(found, len(hs))
	if len(s.layers) == 1 {
		return s.layers[0].HasHashes(found, hs)
	}
	return hasBatches(found, hs, func(p *pending) { s.askPending(p) })
}

// askPending asks all layers about a batch, and settles those that one of them has.
func (s *Scalable) askPending(p *pending) {
	for i := len(s.layers) - 1; i >= 0 && p.n > 0; i-- {
		p.ask(&s.layers[i].Filter)
	}
}

// addRemaining adds what is left of a batch, and settles those that were there; the
// new ones are left.
func (s *Scalable) addRemaining(p *pending) {
	if s.AddHashes(p.hit[:p.n], p.hs[:p.n]) == p.n {
		return
	}
	for i, isNew := range p.hit[:p.n] {
		p.hit[i] = !isNew
	}
	p.settle()
}

// Union adds every key of g to s. The two must have the same hash and error rate;
// capacities and growth may differ, and s keeps its own. A layer of g is ORed into one of
// s if their parameters are equal and the keys of both fit, and is copied otherwise. So
// there may be more layers, and the error rate is bounded by the sum of both rates; Stats
// tells the rate. If you know that you will merge filters, give each the error rate that
// you want divided by their number.
//
// Union fails with [ErrIncompatible] if the filters are unlike and with [ErrFull] if
// MaxBytes of s is too low, and then does not change s. Added becomes an estimate where
// layers are ORed.
func (s *Scalable) Union(g *Scalable) error {
	if err := s.checkHash(&g.lookup); err != nil {
		return err
	}
	return s.merge(g)
}

// merge is Union for filters that are known to have the same hash.
func (s *Scalable) merge(g *Scalable) error {
	if s == g {
		return nil
	}
	if s.config.ErrorRate != g.config.ErrorRate {
		return &IncompatibleError{"error rates", s.config.ErrorRate, g.config.ErrorRate}
	}
	// Each layer of s takes at most one of g. First decide all, so that nothing changes
	// if one is impossible.
	into := map[*layer]*layer{}
	var copies []*layer
	bytes := s.Bytes()
	for _, theirs := range g.layers {
		i := slices.IndexFunc(s.layers, func(l *layer) bool {
			return into[l] == nil && l.index == theirs.index && l.params == theirs.params &&
				l.added+theirs.added <= max(l.capacity, theirs.capacity)
		})
		switch {
		case theirs.added == 0 && theirs.ones() == 0:
		case i >= 0:
			into[s.layers[i]] = theirs
		default:
			copies = append(copies, theirs)
			bytes += theirs.params.Bytes()
		}
	}
	if limit := s.config.MaxBytes; limit != 0 && len(copies) > 0 && bytes > limit {
		return fmt.Errorf("%w: the union takes %d bytes, more than the limit of %d; raise the limit", ErrFull, bytes, limit)
	}
	for l, theirs := range into {
		most := l.added + theirs.added
		if err := l.union(&theirs.array); err != nil {
			return err
		}
		l.added = min(l.added, most)
	}
	for _, l := range copies {
		s.layers = append(s.layers, l.copy())
	}
	// The emptiest of the highest index comes last and takes what is added next.
	slices.SortStableFunc(s.layers, func(a, b *layer) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(b.added, a.added))
	})
	return nil
}

// copy returns a copy that shares nothing with l.
func (l *layer) copy() *layer { return asLayer(l.clone(), l.index) }

// Added returns the number of recorded keys: the calls of Add that returned true, without
// those made when the filter was full.
func (s *Scalable) Added() uint64 {
	return s.sum(func(l *layer) uint64 { return l.added })
}

// Clear forgets all keys. Only the first layer stays.
func (s *Scalable) Clear() {
	for _, l := range s.layers[1:] {
		l.Release()
	}
	if l := s.layers[0]; l.params == s.base {
		clear(l.words)
		s.layers = []*layer{s.firstLayer(l.words, l.mem)}
	} else {
		l.Release()
		s.layers = []*layer{s.firstLayer(newWords(int(s.base.Bytes() / 8)))}
	}
	s.full = nil
}

// Equal reports whether s and g have the same parameters, hash, layers and bits.
func (s *Scalable) Equal(g *Scalable) bool {
	return s.checkHash(&g.lookup) == nil && s.equal(g)
}

func (s *Scalable) equal(g *Scalable) bool {
	return s.config.Capacity == g.config.Capacity && s.config.ErrorRate == g.config.ErrorRate && s.config.Growth == g.config.Growth &&
		slices.EqualFunc(s.layers, g.layers, func(a, b *layer) bool {
			return a.index == b.index && a.equal(&b.array)
		})
}

// Clone returns a copy that shares nothing with s.
func (s *Scalable) Clone() *Scalable {
	c := s.clone()
	c.bind(s.hash, s.keyID, c)
	c.label = s.label
	return c
}

// clone is Clone without the binding.
func (s *Scalable) clone() *Scalable {
	c := &Scalable{config: s.config, base: s.base, full: s.full}
	for _, l := range s.layers {
		c.layers = append(c.layers, l.copy())
	}
	return c
}

// Stats describes the filter; it reads all layers. Params is zero, and the numbers of
// keys are sums over the layers.
func (s *Scalable) Stats() Stats {
	st := layerStats("scalable", s.layers)
	st.AskedErrorRate = s.config.ErrorRate
	return st
}

// Bytes returns the memory of the layers.
func (s *Scalable) Bytes() uint64 {
	return s.sum(func(l *layer) uint64 { return l.params.Bytes() })
}

// Release returns the memory of the filter to the system at once, rather than when
// the filter is collected. The filter must not be used afterwards.
func (s *Scalable) Release() {
	for _, l := range s.layers {
		l.Release()
	}
}

// Capacity returns the number of distinct keys that the layers are made for.
func (s *Scalable) Capacity() uint64 {
	return s.sum(func(l *layer) uint64 { return l.capacity })
}

// sum adds up a number of each layer.
func (s *Scalable) sum(of func(l *layer) uint64) (n uint64) {
	for _, l := range s.layers {
		n += of(l)
	}
	return n
}

// Config returns the configuration of the filter, with changes since it was made.
func (s *Scalable) Config() ScalableConfig { return s.config }
