package bloom

import (
	"fmt"
	"io"
	"math"
	"slices"

	"seen/internal/frame"
	"seen/sizing"
)

// CascadeConfig says how large the filters of a [Cascade] are.
type CascadeConfig struct {
	// Capacity is the number of distinct keys of the first and smallest filter, at
	// least 1.
	Capacity uint64
	// ErrorRate is the error rate of every filter at its own capacity; between 0
	// and 1, exclusively.
	ErrorRate float64
	// Levels is the number of filters, from 2 to 16; 0 means 4.
	Levels int
	// Growth is the capacity of a filter relative to the one before it, above 1
	// and at most 16; 0 means 2.
	Growth float64
	// Hash is the key hash; the zero value is XXH3 with seed 0.
	Hash Hash
}

const (
	defaultLevels = 4
	maxLevels     = 16
)

// cascadeGrowth is the growth in the textbook.
const cascadeGrowth = 2

// Cascade is the answer of some textbooks to an unknown number of keys: every key goes
// into all of several classic filters of growing size, and is seen if all of them say so.
// [Scalable] is nearly always better; Cascade is for comparison, and for filters that are
// described in these terms.
//
// Filter i, counted from 0, is sized for Capacity*Growth^i keys, rounded up at each level.
// The error rate is the product of the rates of all filters: far below ErrorRate with few
// keys, and below it up to the capacity of the last filter. Beyond that it rises quickly.
// So you must know the largest number of keys, and its memory is taken from the start.
//
// With the defaults, a first capacity of 10,000 and 1 %, adding costs 28 probes. The
// measured error rate is 3e-4 at 70,000 keys, 1e-3 at 80,000 (the capacity of the last
// filter, with 18 bits for each key), 0.10 at 160,000 and 0.66 at 320,000. A Scalable with
// the same first capacity and an error rate of 8e-4 keeps that rate. It takes 16 bits for
// each of 10,000 keys, where the cascade takes 144; 21 at 70,000; and 30 at 80,000, when
// its fifth layer has just begun.
//
// The zero value is not usable; make one with [NewCascade] or read one. Any number of
// goroutines may ask at the same time while none adds. A Cascade must not be copied.
type Cascade struct {
	storedSet
	config CascadeConfig
	levels []*Classic // not bound
	added  uint64
}

// NewCascade returns an empty cascade.
func NewCascade(c CascadeConfig) (*Cascade, error) {
	if err := c.Hash.Validate(); err != nil {
		return nil, err
	}
	if c.Levels == 0 {
		c.Levels = defaultLevels
	}
	f, err := emptyCascade(c)
	if err != nil {
		return nil, err
	}
	for i := range c.Levels {
		a, err := newArray(Config{Capacity: f.capacityOf(i), ErrorRate: c.ErrorRate}, sizing.Classic)
		if err != nil {
			return nil, err
		}
		f.levels = append(f.levels, &Classic{a})
	}
	f.bind(c.Hash.key(), c.Hash.KeyID(), f)
	return f, nil
}

// emptyCascade checks c and returns a Cascade without filters.
func emptyCascade(c CascadeConfig) (*Cascade, error) {
	if c.Growth == 0 {
		c.Growth = cascadeGrowth
	}
	if err := c.growth().Validate(); err != nil {
		return nil, err
	}
	if c.Levels < 2 || c.Levels > maxLevels {
		return nil, fmt.Errorf("a cascade of %d levels; give 2 to %d", c.Levels, maxLevels)
	}
	return &Cascade{config: c}, nil
}

// growth returns the rule that decides the capacities of levels. All have the same rate.
func (c *CascadeConfig) growth() sizing.Growth {
	return sizing.Growth{First: c.Capacity, Factor: c.Growth}
}

// capacityOf returns the capacity of the filter at a level.
func (f *Cascade) capacityOf(level int) uint64 { return f.config.growth().Capacity(level) }

// levelHash derives the hash for a level from the hash of the key. Filters whose sizes are
// multiples of each other would, with one hash, err for the same keys. It is the output
// function of SplitMix64 (Steele, Lea and Flood 2014).
func levelHash(h uint64, level int) uint64 {
	if level == 0 {
		return h
	}
	z := h + uint64(level)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// AddHash is Add for a key whose hash is h.
func (f *Cascade) AddHash(h uint64) bool {
	isNew := false
	for i, l := range f.levels {
		if l.AddHash(levelHash(h, i)) {
			isNew = true
		}
	}
	if isNew {
		f.added++
	}
	return isNew
}

// HasHash is Has for a key whose hash is h.
func (f *Cascade) HasHash(h uint64) bool {
	// The last filter first: it is the emptiest.
	for i := len(f.levels) - 1; i >= 0; i-- {
		if !f.levels[i].HasHash(levelHash(h, i)) {
			return false
		}
	}
	return true
}

// Added returns the number of calls of Add that returned true.
func (f *Cascade) Added() uint64 { return f.added }

// Union adds every key of g to f, as [Classic.Union] does.
func (f *Cascade) Union(g *Cascade) error {
	if err := f.checkHash(&g.lookup); err != nil {
		return err
	}
	if len(f.levels) != len(g.levels) {
		return &IncompatibleError{"numbers of levels", len(f.levels), len(g.levels)}
	}
	for i, l := range f.levels {
		if err := l.checkAlike(&g.levels[i].array); err != nil {
			return err
		}
	}
	for i, l := range f.levels {
		if err := l.Union(g.levels[i]); err != nil {
			return err
		}
	}
	f.added = f.levels[len(f.levels)-1].added
	return nil
}

// Clear forgets all keys. The memory stays.
func (f *Cascade) Clear() {
	for _, l := range f.levels {
		l.Clear()
	}
	f.added = 0
}

// Release returns the memory of the filter to the system at once, instead of when
// the filter is collected. The filter must not be used afterwards: calls panic.
func (f *Cascade) Release() {
	for _, l := range f.levels {
		l.Release()
	}
}

// Equal reports whether f and g have the same parameters, hash and bits.
func (f *Cascade) Equal(g *Cascade) bool {
	return f.checkHash(&g.lookup) == nil && slices.EqualFunc(f.levels, g.levels, (*Classic).Equal)
}

// Clone returns a copy that shares nothing with f.
func (f *Cascade) Clone() *Cascade {
	c := &Cascade{config: f.config, added: f.added}
	for _, l := range f.levels {
		c.levels = append(c.levels, &Classic{l.clone()})
	}
	c.bind(f.hash, f.keyID, c)
	c.label = f.label
	return c
}

// Stats describes the filter; it reads all levels. Cardinality and Capacity are those of
// the last filter, the largest.
func (f *Cascade) Stats() Stats {
	t := Stats{Type: "cascade", Layers: len(f.levels), Added: f.added, AskedErrorRate: f.config.ErrorRate, ErrorRate: 1, ErrorRateAtCapacity: 1}
	last := f.levels[len(f.levels)-1]
	for _, l := range f.levels {
		s := l.Stats()
		t.Bits += s.Bits
		t.Probes += s.Probes
		t.Bytes += s.Bytes
		t.Ones += s.Ones
		t.Capacity, t.Cardinality = s.Capacity, s.Cardinality
		t.ErrorRate *= s.ErrorRate
		t.ErrorRateAtCapacity *= l.params.ErrorRate(last.capacity)
	}
	t.Fill = float64(t.Ones) / float64(t.Bits)
	return t
}

func (f *Cascade) encode() (*frame.Header, [][]byte, error) {
	h := f.header(frame.TypeCascade, f.config.Capacity, f.config.ErrorRate)
	h.Fields[0] = math.Float64bits(f.config.Growth)
	h.Fields[1] = f.added
	var bodies [][]byte
	for _, l := range f.levels {
		p, body := l.part()
		h.Parts = append(h.Parts, p)
		bodies = append(bodies, body)
	}
	return h, bodies, nil
}

// cascade returns the filter of a frame of that type.
func (l *loader) cascade() (View, error) {
	if err := l.noFields(2); err != nil {
		return nil, err
	}
	if l.h.Fields[0] == 0 {
		return nil, l.bad("growth is 0")
	}
	f, err := emptyCascade(CascadeConfig{
		Capacity: l.h.Capacity, ErrorRate: l.h.ErrorRate, Levels: len(l.h.Parts),
		Growth: math.Float64frombits(l.h.Fields[0]), Hash: hashOf(l.hash),
	})
	if err != nil {
		return nil, l.bad("%v", err)
	}
	f.added = l.h.Fields[1]
	for i := range l.h.Parts {
		a, err := l.array(i, sizing.Classic)
		if err != nil {
			return nil, err
		}
		if n := f.capacityOf(i); a.capacity != n {
			return nil, l.bad("part %d is for %d keys instead of %d", i, a.capacity, n)
		}
		f.levels = append(f.levels, &Classic{a})
	}
	f.bind(l.hash, l.keyID, f)
	return f, nil
}

// UnmarshalBinary replaces f by the cascade in b. After an error f is unchanged. A
// SipHash filter is read with the secret of f.
func (f *Cascade) UnmarshalBinary(b []byte) error { return decodeInto(f, b) }

// ReadFrom replaces f by the cascade in r, which it reads to the end.
func (f *Cascade) ReadFrom(r io.Reader) (int64, error) { return readInto(f, r) }

func (f *Cascade) replace(g *Cascade) { become(f, g) }
