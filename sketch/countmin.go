package sketch

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"seen/bloom"
)

// CountMin counts how often each key was added, in a table of Depth rows of Width counters:
// a key raises one counter in each row, and its count is the least of them. Other keys
// share the counters, so a count may be too high but is never too low. With N the sum of
// all counts, it exceeds the truth by more than e/Width * N with a probability of at most
// e^-Depth (e = 2.718...; Cormode and Muthukrishnan, "An improved data stream summary: the
// count-min sketch and its applications", 2005).
//
// The error is a share of the whole stream: CountMin finds frequent keys, and says little
// about rare ones.
//
// Counters have 64 bits and stick at their largest value, math.MaxUint64. A count of that
// value means "that often or more", and the error bound does not hold any more.
//
// The zero value is not usable; make one with [NewCountMin].
type CountMin struct {
	hashed
	width        uint64
	depth        int
	conservative bool
	counters     []uint64 // row by row
	total        uint64
}

// CountMinConfig says how large a [CountMin] is. Give Epsilon and Delta, or Width and
// Depth.
type CountMinConfig struct {
	// A count exceeds the truth by more than Epsilon, as a share of the sum of all counts,
	// with a probability of at most Delta. Both are between 0 and 1, exclusively; Delta is
	// at least e^-32, about 1.3e-14.
	Epsilon float64
	Delta   float64
	// Width is the number of counters of a row, Depth the number of rows, 1 to 32.
	Width uint64
	Depth int
	// Conservative makes Add raise only the counters that must rise for the new
	// count (Estan and Varghese, "New directions in traffic measurement and
	// accounting", 2002). Counts are never higher than without, and often much lower. Add is
	// slower, and Merge loses part of the advantage.
	Conservative bool
	// Hash is the key hash; the zero value is XXH3 with seed 0.
	Hash bloom.Hash
}

const (
	maxDepth = 32
	// maxCounters keeps the table below what the address space can hold: 32 TiB,
	// or 2 GiB on 32-bit systems.
	maxCounters = min(math.MaxInt/8, 1<<42)
)

// NewCountMin returns an empty sketch of 8 * Width * Depth bytes. Epsilon and Delta mean
// Width = ceil(e / Epsilon) and Depth = ceil(ln(1 / Delta)).
func NewCountMin(c CountMinConfig) (*CountMin, error) {
	if err := c.Hash.Validate(); err != nil {
		return nil, err
	}
	switch {
	case c.Width == 0 && c.Depth == 0:
		if !(c.Epsilon > 0 && c.Epsilon < 1) {
			return nil, fmt.Errorf("epsilon %v is not between 0 and 1, both excluded", c.Epsilon)
		}
		if !(c.Delta > 0 && c.Delta < 1) {
			return nil, fmt.Errorf("delta %v is not between 0 and 1, both excluded", c.Delta)
		}
		width := math.Ceil(math.E / c.Epsilon)
		if width > maxCounters {
			return nil, fmt.Errorf("epsilon %v needs rows of %.3g counters; the limit is %d in all", c.Epsilon, width, uint64(maxCounters))
		}
		c.Width = uint64(width)
		c.Depth = int(math.Ceil(-math.Log(c.Delta)))
		if c.Depth > maxDepth {
			return nil, fmt.Errorf("delta %v needs %d rows; the limit is %d, enough for 1.3e-14", c.Delta, c.Depth, maxDepth)
		}
	case c.Epsilon != 0 || c.Delta != 0:
		return nil, fmt.Errorf("both epsilon %v, delta %v and width %d, depth %d were given; give one pair", c.Epsilon, c.Delta, c.Width, c.Depth)
	}
	if c.Width < 1 {
		return nil, fmt.Errorf("depth %d was given with width 0; give both", c.Depth)
	}
	if c.Depth < 1 || c.Depth > maxDepth {
		return nil, fmt.Errorf("depth %d is not between 1 and %d", c.Depth, maxDepth)
	}
	if c.Width > maxCounters/uint64(c.Depth) {
		return nil, fmt.Errorf("%d rows of %d counters are more than the limit of %d counters", c.Depth, c.Width, uint64(maxCounters))
	}
	return &CountMin{
		width: c.Width, depth: c.Depth, conservative: c.Conservative, hashed: hashed{hash: keyOf(c.Hash)},
		counters: make([]uint64, c.Width*uint64(c.Depth)),
	}, nil
}

// Total returns N, the sum of all that was added, at most math.MaxUint64.
func (c *CountMin) Total() uint64 { return c.total }

// Add adds n to the count of key and returns the count, which is at least the true one. It
// does not allocate and does not keep key.
func (c *CountMin) Add(key []byte, n uint64) uint64 { return c.AddHash(c.hash.Sum(key), n) }

// AddString is Add for a string, without a copy.
func (c *CountMin) AddString(key string, n uint64) uint64 { return c.AddHash(c.hash.SumString(key), n) }

// AddHash is Add for a key whose hash is h.
func (c *CountMin) AddHash(h, n uint64) uint64 {
	if c.conservative {
		return c.raise(h, n)
	}
	c.total = addSaturating(c.total, n)
	least := uint64(math.MaxUint64)
	for row := c.counters; len(row) != 0; row = row[c.width:] {
		h += rowStep
		p := &row[column(h, c.width)]
		*p = addSaturating(*p, n)
		least = min(least, *p)
	}
	return least
}

// raise is AddHash with conservative update: the new count is the old one plus n, and
// counters above it stay.
func (c *CountMin) raise(h, n uint64) uint64 {
	c.total = addSaturating(c.total, n)
	var cells [maxDepth]*uint64
	least := uint64(math.MaxUint64)
	i := 0
	for row := c.counters; len(row) != 0; row = row[c.width:] {
		h += rowStep
		cells[i] = &row[column(h, c.width)]
		least = min(least, *cells[i])
		i++
	}
	least = addSaturating(least, n)
	for _, p := range cells[:i] {
		*p = max(*p, least)
	}
	return least
}

// Count returns the count of key: never less than what was added for it, and
// within the bound of [CountMin.ErrorBound] above. It does not allocate.
func (c *CountMin) Count(key []byte) uint64 { return c.CountHash(c.hash.Sum(key)) }

// CountString is Count for a string, without a copy.
func (c *CountMin) CountString(key string) uint64 { return c.CountHash(c.hash.SumString(key)) }

// CountHash is Count for a key whose hash is h.
func (c *CountMin) CountHash(h uint64) uint64 {
	least := uint64(math.MaxUint64)
	for row := c.counters; len(row) != 0; row = row[c.width:] {
		h += rowStep
		least = min(least, row[column(h, c.width)])
	}
	return least
}

// rowStep separates the rows of one key: 2^64 divided by the golden ratio, the
// step of SplitMix64.
const rowStep = 0x9e3779b97f4a7c15

// column returns the column of a key in a row. x is the key's hash plus rowStep for every
// row up to this one. Mixed, it is an independent number for each row, whose high bits
// select a column without a division.
func column(x, width uint64) uint64 {
	hi, _ := bits.Mul64(mix(x), width)
	return hi
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood 2014, with Stafford's
// constants).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// addSaturating returns a + b, or the largest value if that overflows.
func addSaturating(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	return sum | -carry
}

// ErrorBound returns the present bound of the error: with probability 1-delta a count
// exceeds the truth by at most excess. excess is e/Width * Total, delta is e^-Depth.
//
// The probability is over the choice of the hash: it holds for any key and any stream that
// were chosen without knowing its seed or secret.
func (c *CountMin) ErrorBound() (excess, delta float64) {
	return math.E / float64(c.width) * float64(c.total), math.Exp(-float64(c.depth))
}

// CountMinStats describes a count-min sketch.
type CountMinStats struct {
	Width        uint64 // counters of a row
	Depth        int    // rows
	Conservative bool
	Bytes        uint64  // memory of the table
	Total        uint64  // sum of all that was added
	Epsilon      float64 // e / Width, the bound of the excess as a share of Total
	Delta        float64 // e^-Depth, the probability of a larger excess
	NonZero      uint64  // counters in use
	Stuck        uint64  // counters that reached the largest value
}

// Stats describes the sketch; it reads the whole table.
func (c *CountMin) Stats() CountMinStats {
	s := CountMinStats{
		Width: c.width, Depth: c.depth, Conservative: c.conservative,
		Bytes: 8 * uint64(len(c.counters)), Total: c.total,
		Epsilon: math.E / float64(c.width),
	}
	_, s.Delta = c.ErrorBound()
	for _, n := range c.counters {
		if n != 0 {
			s.NonZero++
		}
		if n == math.MaxUint64 {
			s.Stuck++
		}
	}
	return s
}

// Merge adds the counts of other to c. Without conservative update the result is the sketch
// of both streams together. With it counts are still never too low and within the error
// bound, but may be higher than those of one sketch of both streams. If width, depth,
// update or hash differ, Merge fails with [ErrIncompatible] and does not change c.
func (c *CountMin) Merge(other *CountMin) error {
	if err := c.checkAlike(other); err != nil {
		return err
	}
	for i, n := range other.counters {
		c.counters[i] = addSaturating(c.counters[i], n)
	}
	c.total = addSaturating(c.total, other.total)
	return nil
}

func (c *CountMin) checkAlike(other *CountMin) error {
	return c.hashed.checkAlike(&other.hashed, IncompatibleError{"width", c.width, other.width},
		IncompatibleError{"depth", c.depth, other.depth}, IncompatibleError{"update", c.update(), other.update()})
}

func (c *CountMin) update() string {
	if c.conservative {
		return "conservative"
	}
	return "plain"
}

// Clear forgets all counts. The memory stays.
func (c *CountMin) Clear() {
	clear(c.counters)
	c.total = 0
}

// Clone returns a copy that shares nothing with c.
func (c *CountMin) Clone() *CountMin {
	d := *c
	d.counters = slices.Clone(c.counters)
	return &d
}

// Equal reports whether c and other have the same size, update, hash and counters.
func (c *CountMin) Equal(other *CountMin) bool {
	return c.checkAlike(other) == nil && c.total == other.total && slices.Equal(c.counters, other.counters)
}
