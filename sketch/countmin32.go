package sketch

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"

	"seen/bloom"
	"seen/internal/frame"
	"seen/internal/keyhash"
	"seen/internal/pages"
)

// CountMin32 is a count-min sketch for servers: counters of 32 bits, in half the memory of a
// [CountMin], weighted sums of sketches, and one goroutine that adds while any number ask.
//
// Its counts are those of a CountMin with plain update, up to 4294967295. There a counter
// sticks, and a count of that value means "that often or more".
//
// Any number of goroutines may ask (Count, CountHash, Total, Width, Depth, Bytes, Hash,
// Stuck) while one changes the sketch; they never wait. While a key is added, its count is
// between the old and the new one; while Clear runs, it is made of old and new counters.
// All other calls are for one goroutine at a time.
//
// The zero value is not usable; make one with [NewCountMin32] or read one. A CountMin32
// must not be copied.
type CountMin32 struct {
	total uint64 // first, where 32-bit systems align it for atomic access
	width uint64
	depth int
	hashed
	words []uint64     // two counters each, the first in the low half; row by row
	mem   *pages.Array // what words is a part of; nil if that is a slice
	redis bool         // has the columns of RedisBloom
}

// CountMin32Config says how large a [CountMin32] is.
type CountMin32Config struct {
	// Width is the number of counters of a row, Depth the number of rows, 1 to 1024.
	Width uint64
	Depth int
	// Hash is the key hash; the zero value is XXH3 with seed 0.
	Hash bloom.Hash
	// RedisBloom makes a sketch with the counters of RedisBloom, so that it can be moved
	// from and to that system. Its hash is public: everybody can construct keys that
	// collide. Hash is not used, and AddHash and CountHash do not work.
	RedisBloom bool
	// Reserve, unless it is nil, is called with the number of bytes before memory is
	// allocated. If it returns an error, so does NewCountMin32.
	Reserve func(bytes uint64) error
}

// ErrOverflow is matched by errors about a sum of sketches with a counter below 0 or above
// the largest value.
var ErrOverflow = errors.New("a counter overflows")

const (
	maxDepth32 = frame.MaxProbes
	// maxTotal32 fits into signed numbers, such as those of clients of a server.
	maxTotal32 = math.MaxInt64
	// countMin32Overhead is the memory of a sketch without its counters.
	countMin32Overhead = 192
)

// NewCountMin32 returns an empty sketch of 4 * Width * Depth bytes.
func NewCountMin32(c CountMin32Config) (*CountMin32, error) {
	if c.RedisBloom {
		c.Hash = bloom.Hash{}
	}
	if err := c.Hash.Validate(); err != nil {
		return nil, err
	}
	if c.Width < 1 || c.Depth < 1 || c.Depth > maxDepth32 {
		return nil, fmt.Errorf("width %d and depth %d; the width is 1 or more, the depth 1 to %d", c.Width, c.Depth, maxDepth32)
	}
	if c.Width > maxCounters/uint64(c.Depth) {
		return nil, fmt.Errorf("%d rows of %d counters are more than the limit of %d counters", c.Depth, c.Width, uint64(maxCounters))
	}
	words := (c.Width*uint64(c.Depth) + 1) / 2
	if c.Reserve != nil {
		if err := c.Reserve(words*8 + countMin32Overhead); err != nil {
			return nil, fmt.Errorf("%d bytes for a count-min sketch are refused: %w", words*8, err)
		}
	}
	mem, err := pages.New(words)
	if err != nil {
		return nil, fmt.Errorf("%w; lower the width or the depth", err)
	}
	return &CountMin32{width: c.Width, depth: c.Depth, hashed: hashed{hash: keyOf(c.Hash)}, words: mem.Words(), mem: mem, redis: c.RedisBloom}, nil
}

// Width returns the number of counters of a row.
func (c *CountMin32) Width() uint64 { return c.width }

// Depth returns the number of rows.
func (c *CountMin32) Depth() int { return c.depth }

// Bytes returns the memory of the sketch: what Reserve was asked for.
func (c *CountMin32) Bytes() uint64 { return uint64(len(c.words))*8 + countMin32Overhead }

// Total returns the sum of all that was added, at most math.MaxInt64.
func (c *CountMin32) Total() uint64 { return atomic.LoadUint64(&c.total) }

// counter returns a counter.
func (c *CountMin32) counter(i uint64) uint32 {
	return uint32(atomic.LoadUint64(&c.words[i/2]) >> (i % 2 * 32))
}

// set stores a counter.
func (c *CountMin32) set(i uint64, n uint32) {
	w := &c.words[i/2]
	shift := i % 2 * 32
	atomic.StoreUint64(w, atomic.LoadUint64(w)&^(math.MaxUint32<<shift)|uint64(n)<<shift)
}

// redisColumn returns the column of a key in row i of RedisBloom's sketches.
func redisColumn(key []byte, i int, width uint64) uint64 {
	return uint64(keyhash.SumMurmur32(key, uint32(i))) % width
}

// Add adds n to the count of key and returns the count, which is at least the true one, or
// the largest value.
func (c *CountMin32) Add(key []byte, n uint64) uint32 {
	if !c.redis {
		return c.AddHash(c.hash.Sum(key), n)
	}
	c.addTotal(n)
	least := uint32(math.MaxUint32)
	for row := range uint64(c.depth) {
		least = min(least, c.raise(row*c.width+redisColumn(key, int(row), c.width), n))
	}
	runtime.KeepAlive(c)
	return least
}

// AddHash is Add for a key whose hash is h. In a sketch with the counters of RedisBloom it
// does nothing and returns 0.
func (c *CountMin32) AddHash(h, n uint64) uint32 {
	if c.redis {
		return 0
	}
	c.addTotal(n)
	least := uint32(math.MaxUint32)
	for row := range uint64(c.depth) {
		h += rowStep
		least = min(least, c.raise(row*c.width+column(h, c.width), n))
	}
	runtime.KeepAlive(c)
	return least
}

func (c *CountMin32) addTotal(n uint64) {
	atomic.StoreUint64(&c.total, min(addSaturating(c.Total(), n), maxTotal32))
}

// raise adds n to a counter and returns what it is then.
func (c *CountMin32) raise(i, n uint64) uint32 {
	m := uint32(min(addSaturating(uint64(c.counter(i)), n), math.MaxUint32))
	c.set(i, m)
	return m
}

// Count returns the count of key: never less than what was added for it, up to the
// largest value.
func (c *CountMin32) Count(key []byte) uint32 {
	if !c.redis {
		return c.CountHash(c.hash.Sum(key))
	}
	least := uint32(math.MaxUint32)
	for row := range uint64(c.depth) {
		least = min(least, c.counter(row*c.width+redisColumn(key, int(row), c.width)))
	}
	runtime.KeepAlive(c)
	return least
}

// CountHash is Count for a key whose hash is h. In a sketch with the counters of RedisBloom
// it returns 0.
func (c *CountMin32) CountHash(h uint64) uint32 {
	if c.redis {
		return 0
	}
	least := uint32(math.MaxUint32)
	for row := range uint64(c.depth) {
		h += rowStep
		least = min(least, c.counter(row*c.width+column(h, c.width)))
	}
	runtime.KeepAlive(c)
	return least
}

// Sum returns a new sketch of the size of c: the sum of sketches, each multiplied by its
// weight; nil weights are all 1. A stuck counter counts as its value. Unless step is nil it
// is called now and then with the number of counters read since the last call, and an error
// ends Sum.
//
// Sum fails with [ErrIncompatible] if the width, depth or hash of a source differs from that
// of c, with [ErrOverflow] if a counter of the sum is outside 0 to 4294967295 or the total
// outside 0 to math.MaxInt64, and if there is not enough memory.
func (c *CountMin32) Sum(sources []*CountMin32, weights []int64, step func(counters int) error) (*CountMin32, error) {
	terms, total, err := c.terms(sources, weights)
	if err != nil {
		return nil, err
	}
	mem, err := pages.New(uint64(len(c.words)))
	if err != nil {
		return nil, err
	}
	sum := &CountMin32{total: total, width: c.width, depth: c.depth, hashed: c.hashed, words: mem.Words(), mem: mem, redis: c.redis}
	if err := sum.add(terms, step); err != nil {
		mem.Release()
		return nil, err
	}
	return sum, nil
}

// term is a sketch in a sum, with its weight.
type term struct {
	of     *CountMin32
	weight wide
}

// terms returns the terms of a sum, one for each different sketch, and the total.
func (c *CountMin32) terms(sources []*CountMin32, weights []int64) (terms []term, total uint64, err error) {
	if len(sources) == 0 || weights != nil && len(weights) != len(sources) {
		return nil, 0, fmt.Errorf("%d sketches to add up, %d weights; give one or more sketches, and a weight for each", len(sources), len(weights))
	}
	sum := new(big.Int)
	place := map[*CountMin32]int{}
	for i, s := range sources {
		if err := c.checkAlike(s); err != nil {
			return nil, 0, err
		}
		weight := int64(1)
		if weights != nil {
			weight = weights[i]
		}
		at, known := place[s]
		if !known {
			at = len(terms)
			place[s], terms = at, append(terms, term{of: s})
		}
		terms[at].weight.add(weight)
		t := new(big.Int).SetUint64(s.Total())
		sum.Add(sum, t.Mul(t, big.NewInt(weight)))
	}
	if !sum.IsInt64() || sum.Sign() < 0 {
		return nil, 0, fmt.Errorf("%w: the total would be %v", ErrOverflow, sum)
	}
	return terms, sum.Uint64(), nil
}

// add adds terms to c, which is all zero and not yet shared.
func (c *CountMin32) add(terms []term, step func(counters int) error) error {
	const stepCounters = 1 << 12
	for i := range c.width * uint64(c.depth) {
		if step != nil && i%stepCounters == 0 {
			if err := step(stepCounters * len(terms)); err != nil {
				return err
			}
		}
		var sum wide
		for _, t := range terms {
			if n := t.of.counter(i); n != 0 {
				sum.addProduct(t.weight, n)
			}
		}
		if sum.high != 0 || sum.low > math.MaxUint32 {
			return fmt.Errorf("%w: counter %d of row %d", ErrOverflow, i%c.width, i/c.width)
		}
		if sum.low != 0 { // zeros stay untouched, so that they take no memory
			c.words[i/2] |= sum.low << (i % 2 * 32)
		}
	}
	for _, t := range terms {
		runtime.KeepAlive(t.of)
	}
	runtime.KeepAlive(c)
	return nil
}

// wide is a signed number of 128 bits, enough for the sum of 2^32 weights of 64 bits
// times counters of 32.
type wide struct{ high, low uint64 }

// add adds a weight.
func (w *wide) add(n int64) {
	var carry uint64
	w.low, carry = bits.Add64(w.low, uint64(n), 0)
	w.high += uint64(n>>63) + carry
}

// addProduct adds weight * n.
func (w *wide) addProduct(weight wide, n uint32) {
	high, low := bits.Mul64(weight.low, uint64(n))
	var carry uint64
	w.low, carry = bits.Add64(w.low, low, 0)
	w.high += high + weight.high*uint64(n) + carry
}

func (c *CountMin32) checkAlike(other *CountMin32) error {
	return c.hashed.checkAlike(&other.hashed, IncompatibleError{"width", c.width, other.width}, IncompatibleError{"depth", c.depth, other.depth},
		IncompatibleError{"use of RedisBloom's counters", c.redis, other.redis})
}

// Stuck reads an evenly spread sample of at most n counters. It returns how many of them are
// at their largest value, where they stay, and how many it has read. Another goroutine may
// change the sketch meanwhile.
func (c *CountMin32) Stuck(n uint64) (stuck, of uint64) {
	all := c.width * uint64(c.depth)
	of = min(n, all)
	for i := range of {
		hi, lo := bits.Mul64(i, all)
		if at, _ := bits.Div64(hi, lo, of); c.counter(at) == math.MaxUint32 {
			stuck++
		}
	}
	runtime.KeepAlive(c)
	return stuck, of
}

// Clear forgets all counts. The memory stays.
func (c *CountMin32) Clear() {
	for i := range c.words {
		if c.words[i] != 0 {
			atomic.StoreUint64(&c.words[i], 0)
		}
	}
	atomic.StoreUint64(&c.total, 0)
	runtime.KeepAlive(c)
}

// Clone returns a copy that shares nothing with c. It fails if there is not enough memory.
func (c *CountMin32) Clone() (*CountMin32, error) {
	d := &CountMin32{total: c.Total(), width: c.width, depth: c.depth, hashed: c.hashed, redis: c.redis}
	err := d.fill(c.words)
	runtime.KeepAlive(c)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// fill gives c, which has no counters, a copy of words.
func (c *CountMin32) fill(words []uint64) error {
	mem, err := pages.New(uint64(len(words)))
	if err != nil {
		return err
	}
	c.words, c.mem = mem.Words(), mem
	pages.Copy(c.words, words)
	return nil
}

// Equal reports whether c and other have the same size, hash and counters.
func (c *CountMin32) Equal(other *CountMin32) bool {
	equal := c.checkAlike(other) == nil && c.Total() == other.Total() && slices.Equal(c.words, other.words)
	runtime.KeepAlive(c)
	runtime.KeepAlive(other)
	return equal
}
