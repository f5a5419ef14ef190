package bloom

import (
	"errors"
	"fmt"
	"iter"
	"math"

	"seen/internal/bridge"
	"seen/sizing"
)

// AdaptiveConfig says when an [Adaptive] stops being exact, and what it then becomes.
type AdaptiveConfig struct {
	// MaxBytes limits the memory of the exact set, also while it becomes a filter. That
	// happens as late as the limit allows: at one key for each 15 bytes if ErrorRate is
	// 1e-6. 0 means never; the least is 4096.
	MaxBytes uint64
	// ErrorRate bounds the error rate of the filter, however far it grows; between
	// 0 and 1, exclusively. It may be 0 if MaxBytes is.
	ErrorRate float64
	// Growth, FilterMaxBytes and Overfill are Growth, MaxBytes and Overfill of the filter's
	// [ScalableConfig]. FilterMaxBytes must be 0 or at least MaxBytes.
	Growth         float64
	FilterMaxBytes uint64
	Overfill       bool
	// Hash is the key hash; the zero value is XXH3 with seed 0.
	Hash Hash
}

// leastBudget is the least MaxBytes. With less the first layer would be so small that
// dozens had to follow.
const leastBudget = 4096

// Adaptive is an exact set of keys while it is small, and becomes a [Scalable] filter when
// it is too large. Use it for an unknown number of keys that may be small enough for no
// errors at all.
//
// While it is exact it holds the 64-bit hashes of the keys, in about 11 bytes for each. It
// says yes to an absent key only if both have the same hash. Among n keys, n²/2^65 pairs
// are expected to collide (n²/2 pairs, each with probability 2^-64): 1e-5 for 20 million
// keys. When the memory would exceed MaxBytes, the set becomes a filter whose first layer
// is made for the keys that are there. No key is lost. The call of Add in which this
// happens takes longer, by some 50 nanoseconds for each key. Writing an exact set takes 8
// bytes of memory for each key, to sort them.
//
// The zero value is not usable; make one with [NewAdaptive] or read one. Any number of
// goroutines may ask at the same time while none adds. An Adaptive must not be copied.
type Adaptive struct {
	storedSet
	config AdaptiveConfig

	// One of these three is not nil: the set, the set in a mapped file (until a key is
	// added), or the filter.
	set    *fingerprints
	mapped *sortedFingerprints
	filter *Scalable

	err error // why the set could not become a filter

	// bound, unless it is 0, is the memory at which the set is full; see bridge.BoundExact.
	bound uint64

	// The memory of a filter for sized keys, which takes long to compute.
	sized      uint64
	sizedBytes uint64
}

// NewAdaptive returns an empty, exact set.
func NewAdaptive(c AdaptiveConfig) (*Adaptive, error) {
	if err := c.Hash.Validate(); err != nil {
		return nil, err
	}
	if c.Growth == 0 && c.ErrorRate != 0 {
		c.Growth = sizing.DefaultGrowth
	}
	a := &Adaptive{config: c, set: newFingerprints(nil)}
	if err := a.check(); err != nil {
		return nil, err
	}
	a.bind(c.Hash.key(), c.Hash.KeyID(), a)
	return a, nil
}

// check returns an error if the filter that the set becomes is impossible.
func (a *Adaptive) check() error {
	c := &a.config
	switch {
	case c.MaxBytes == 0 && c.ErrorRate == 0:
		if c.Growth != 0 || c.FilterMaxBytes != 0 || c.Overfill {
			return errors.New("a set without MaxBytes never becomes a filter, but Growth, FilterMaxBytes or Overfill is set; set MaxBytes and ErrorRate")
		}
		return nil
	case c.MaxBytes != 0 && c.MaxBytes < leastBudget:
		return fmt.Errorf("MaxBytes is %d; it must be 0 or at least %d", c.MaxBytes, leastBudget)
	case c.FilterMaxBytes != 0 && c.FilterMaxBytes < c.MaxBytes:
		return fmt.Errorf("FilterMaxBytes is %d; it must be 0 or at least MaxBytes, %d", c.FilterMaxBytes, c.MaxBytes)
	}
	// There are never more keys than the fullest segments hold. A filter that is possible
	// for so many keys is possible for fewer.
	const leastBytes = 9
	n := max(1, c.MaxBytes/leastBytes)
	if a.filter == nil {
		n = max(n, a.Added())
	}
	_, err := emptyScalable(c.filter(n))
	return err
}

// filter returns the configuration of the filter that is made for n keys.
func (c *AdaptiveConfig) filter(n uint64) ScalableConfig {
	return ScalableConfig{
		Capacity: n, ErrorRate: c.ErrorRate, Growth: c.Growth, MaxBytes: c.FilterMaxBytes, Overfill: c.Overfill,
	}
}

// Switched reports whether the set has become a filter, and so may be wrong.
func (a *Adaptive) Switched() bool { return a.filter != nil }

// Err returns nil, or an error that says that the filter is full (see [Scalable.Err]), or
// that the filter is impossible, so that the set stays exact beyond MaxBytes.
func (a *Adaptive) Err() error {
	if a.filter != nil {
		return a.filter.Err()
	}
	return a.err
}

// SetLimits replaces MaxBytes, FilterMaxBytes and Overfill, for example of a set that was
// read from a file. A lower MaxBytes takes effect when a new key needs room. If NewAdaptive
// would refuse the limits, SetLimits returns the error and changes nothing.
func (a *Adaptive) SetLimits(maxBytes, filterMaxBytes uint64, overfill bool) error {
	before := a.config
	a.config.MaxBytes, a.config.FilterMaxBytes, a.config.Overfill = maxBytes, filterMaxBytes, overfill
	if err := a.check(); err != nil {
		a.config = before
		return err
	}
	a.err = nil
	if a.filter != nil {
		a.filter.SetLimits(filterMaxBytes, overfill)
	}
	return nil
}

// load takes the set out of a mapped file, before it changes.
func (a *Adaptive) load() {
	if a.mapped != nil {
		a.set, a.mapped = a.mapped.load(), nil
	}
}

// room makes room for h in the set; or it makes the filter, or finds the set full, and
// returns false.
func (a *Adaptive) room(h uint64) bool {
	need := a.set.bytes() + a.set.growth(h)
	if a.bound != 0 && need > a.bound {
		return false
	}
	// A filter takes less than twice the memory of the set, so it matters only close to the
	// limit.
	if limit := a.config.MaxBytes; limit != 0 && need > limit/4 && need+a.filterBytes() > limit && a.makeFilter() {
		return false
	}
	a.set.grow(h)
	return true
}

// filterBytes returns the memory of the filter that would be made now, or of one
// for a few keys more.
func (a *Adaptive) filterBytes() uint64 {
	if n := a.set.count(); n > a.sized {
		n += n / 32
		f, err := emptyScalable(a.config.filter(n))
		if err != nil {
			return 0
		}
		a.sized, a.sizedBytes = n, f.base.Bytes()
	}
	return a.sizedBytes
}

// makeFilter makes the filter from the set, segment by segment, and reports
// whether it could.
func (a *Adaptive) makeFilter() bool {
	n := a.set.count()
	f, err := newScalable(a.config.filter(max(1, n)))
	if err != nil {
		a.err = err
		return false
	}
	first := &f.newest().Filter
	for hs := range a.set.batches(true) {
		first.AddHashes(nil, hs)
	}
	// The layer counts also the keys to which it said "seen" by mistake.
	first.added = n
	a.set, a.filter = nil, f
	return true
}

// TryAddHash is AddHash that reports a full filter: isNew is then true, err is matched by
// [ErrFull], and the key is not recorded. There is no error while the set is exact.
func (a *Adaptive) TryAddHash(h uint64) (isNew bool, err error) {
	a.load()
	for a.filter == nil {
		isNew, done := a.set.add(h)
		if done {
			return isNew, nil
		}
		if !a.room(h) && a.filter == nil {
			return true, ErrFull
		}
	}
	return a.filter.TryAddHash(h)
}

// AddHash is Add for a key whose hash is h. When the filter is full, keys that are not in
// it are new each time; see [Adaptive.Err].
func (a *Adaptive) AddHash(h uint64) bool {
	isNew, _ := a.TryAddHash(h) // Err keeps the error
	return isNew
}

// HasHash is Has for a key whose hash is h.
func (a *Adaptive) HasHash(h uint64) bool {
	switch {
	case a.filter != nil:
		return a.filter.HasHash(h)
	case a.mapped != nil:
		return a.mapped.has(h)
	}
	return a.set.has(h)
}

// addExact adds hs as long as the set is exact. It returns how many were new and
// how many it has handled.
func (a *Adaptive) addExact(added []bool, hs []uint64) (count, n int) {
	checkAnswers(added, len(hs))
	if a.filter != nil {
		return 0, 0
	}
	a.load()
	return a.set.addBatch(added, hs, a.room)
}

// TryAddHashes is AddHashes that stops when the filter is full. It returns the number n of
// hashes that it has handled and, if that is not all of them, an error matched by
// [ErrFull]. Unless added is nil its first n elements are the answers.
func (a *Adaptive) TryAddHashes(added []bool, hs []uint64) (n int, err error) {
	_, n = a.addExact(added, hs)
	switch {
	case n == len(hs):
		return n, nil
	case a.filter == nil:
		return n, ErrFull
	}
	more, err := a.filter.TryAddHashes(part(added, n, len(hs)-n), hs[n:])
	return n + more, err
}

// AddHashes is AddKeys for hashes.
func (a *Adaptive) AddHashes(added []bool, hs []uint64) int {
	count, n := a.addExact(added, hs)
	if n == len(hs) {
		return count
	}
	return count + a.filter.AddHashes(part(added, n, len(hs)-n), hs[n:])
}

// HasHashes is HasKeys for hashes.
func (a *Adaptive) HasHashes(found []bool, hs []uint64) int {
	checkAnswers(found, len(hs))
	switch {
	case a.filter != nil:
		return a.filter.HasHashes(found, hs)
	case a.mapped != nil:
		return a.lookup.HasHashes(found, hs)
	}
	return a.set.hasBatch(found, hs)
}

// Added returns the number of recorded keys: the calls of Add that returned true, without
// those made when the filter was full.
func (a *Adaptive) Added() uint64 {
	switch {
	case a.filter != nil:
		return a.filter.Added()
	case a.mapped != nil:
		return a.mapped.count()
	}
	return a.set.count()
}

// Clear forgets all keys. The set is exact afterwards.
func (a *Adaptive) Clear() {
	a.set, a.mapped, a.filter, a.err = newFingerprints(nil), nil, nil, nil
}

// Stats describes the set or the filter. Of a set, Bits are the slots for hashes, Ones the
// slots in use, and Capacity the number of keys before it takes more memory.
func (a *Adaptive) Stats() Stats {
	if a.filter != nil {
		s := a.filter.Stats()
		s.Type = "adaptive"
		return s
	}
	n := a.Added()
	s := Stats{
		Type: "adaptive", Bits: n, Probes: 1, Layers: 1, Bytes: n * slotBytes, Capacity: n, Added: n, Ones: n,
		AskedErrorRate: a.config.ErrorRate, ErrorRate: hashRate(n),
		Exact: true, ExpectedCollisions: math.Ldexp(float64(n)*float64(n), -65),
	}
	if a.set != nil {
		s.Bits, s.Bytes, s.Capacity = a.set.lines*lineSlots, a.set.bytes(), max(n, uint64(mostIn(int(a.set.lines))))
	}
	if s.Bits > 0 {
		s.Fill = float64(n) / float64(s.Bits)
	}
	s.ErrorRateAtCapacity = hashRate(s.Capacity)
	s.Cardinality = sizing.Estimate{Value: float64(n), StdErr: math.Sqrt(s.ExpectedCollisions)}
	return s
}

// hashRate is the probability that a hash is one of n.
func hashRate(n uint64) float64 { return math.Ldexp(float64(n), -64) }

// exact returns the set of one that is not a filter.
func (a *Adaptive) exact() *fingerprints {
	if a.mapped != nil {
		return a.mapped.load()
	}
	return a.set
}

// Union adds every key of g to a, which keeps its configuration. If only one of them is a
// filter, the hashes of the other are added to it. If g is a filter, the two must have the
// same ErrorRate; two filters are united as by [Scalable.Union].
//
// Union fails with [ErrIncompatible] if they are unlike, and with [ErrFull] if
// FilterMaxBytes of a does not leave room for all keys. It then does not change a, with one
// exception: if a is a filter and g is not, a has some of the keys.
func (a *Adaptive) Union(g *Adaptive) error {
	if err := a.checkHash(&g.lookup); err != nil {
		return err
	}
	switch {
	case g.filter == nil:
		return a.addSet(g.exact())
	case a.filter != nil:
		return a.filter.merge(g.filter)
	}
	if a.config.ErrorRate != g.config.ErrorRate {
		return &IncompatibleError{"error rates", a.config.ErrorRate, g.config.ErrorRate}
	}
	u := &Adaptive{filter: g.filter.clone()}
	u.filter.config.Growth = a.config.Growth
	u.filter.SetLimits(a.config.FilterMaxBytes, a.config.Overfill)
	if err := u.addSet(a.exact()); err != nil {
		return err
	}
	a.set, a.mapped, a.filter = nil, nil, u.filter
	return nil
}

// addSet adds all hashes of t.
func (a *Adaptive) addSet(t *fingerprints) error {
	for hs := range t.batches(false) {
		if _, err := a.TryAddHashes(nil, hs); err != nil {
			return err
		}
	}
	return nil
}

// Equal reports whether a and g have the same hash and, while they are exact, the same
// keys or, as filters, the same parameters, layers and bits.
func (a *Adaptive) Equal(g *Adaptive) bool {
	if a.checkHash(&g.lookup) != nil || a.Switched() != g.Switched() {
		return false
	}
	if a.filter != nil {
		return a.filter.equal(g.filter)
	}
	return a.exact().equal(g.exact())
}

// Clone returns a copy that shares nothing with a.
func (a *Adaptive) Clone() *Adaptive {
	c := &Adaptive{config: a.config, err: a.err}
	switch {
	case a.filter != nil:
		c.filter = a.filter.clone()
	case a.mapped != nil:
		c.set = a.mapped.load()
	default:
		c.set = a.set.clone()
	}
	c.bind(a.hash, a.keyID, c)
	c.label = a.label
	return c
}

// Config returns the configuration of the set, with changes since it was made.
func (a *Adaptive) Config() AdaptiveConfig { return a.config }

// Capacity returns the number of distinct keys that the filter is made for, or 0 while the
// set is exact.
func (a *Adaptive) Capacity() uint64 {
	if a.filter == nil {
		return 0
	}
	return a.filter.Capacity()
}

// Bytes returns the memory of the set or of the filter.
func (a *Adaptive) Bytes() uint64 {
	switch {
	case a.filter != nil:
		return a.filter.Bytes()
	case a.mapped != nil:
		return uint64(a.mapped.count()) * 8
	}
	return a.set.bytes()
}

// Release returns the memory of the filter, if the set has become one, to the system at
// once. The set must not be used afterwards.
func (a *Adaptive) Release() {
	if a.filter != nil {
		a.filter.Release()
	}
	a.set, a.mapped = nil, nil
}

// Hashes returns the hashes of all keys, some at a time, while the set is exact, and
// nothing afterwards. Each slice is valid until the next one. The set must not change
// meanwhile.
func (a *Adaptive) Hashes() iter.Seq[[]uint64] {
	if a.filter != nil {
		return func(func([]uint64) bool) {}
	}
	a.load()
	return a.set.batches(false)
}

func init() {
	bridge.BoundExact = func(a *Adaptive, maxBytes uint64) { a.bound = maxBytes }
	bridge.DrainExact = drainExact
}

// drainExact is [bridge.DrainExact].
func drainExact(a *Adaptive) iter.Seq[[]uint64] {
	a.load()
	all := a.set.batches(true)
	a.set = newFingerprints(nil)
	return all
}
