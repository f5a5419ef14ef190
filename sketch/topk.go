package sketch

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"

	"seen/bloom"
	"seen/internal/keyhash"
	"seen/internal/pages"
)

// TopK finds the k keys that come most often, with HeavyKeeper (Yang, Zhang, Li, Gong,
// Uhlig, Chen and Li, "HeavyKeeper: An Accurate Algorithm for Finding Top-k Elephant
// Flows", 2018): Depth rows of Width buckets, each with the fingerprint of one key and
// its count. A key that meets a bucket of another key lowers that count by one with a
// probability of Decay to the power of the count, and takes the bucket when the count is 0.
// So frequent keys stay, and the others displace each other. The sketch keeps the k best
// keys as they are.
//
// Counts are never too high, except for keys in one bucket with equal fingerprints of 32
// bits. They are a little too low for keys that share buckets: with N the sum of all counts,
// the count of a key that came n times is too low by eps * N or more with a probability of
// at most (1 / (eps * Width * n * (1/Decay - 1)))^Depth.
//
// The random numbers are part of the sketch: the same calls on equal sketches leave equal
// sketches. A key is any sequence of bytes.
//
// Any number of goroutines may ask while none changes the sketch. The zero value is not
// usable; make one with [NewTopK] or read one.
type TopK struct {
	k, width, depth int
	decay           float64
	hashed
	random  uint64
	mem     *pages.Array // what buckets is a part of; nil if that is a slice
	buckets []uint64     // row by row: the fingerprint in the high half, the count in the low
	best    best
	redis   bool         // places and counts keys as RedisBloom does
	chances [256]float64 // decay to the power of the index
}

// TopKConfig says how large a [TopK] is.
type TopKConfig struct {
	// K is the number of most frequent keys to find.
	K int
	// Width is the number of buckets of a row, and Depth the number of rows, 1 to 1024;
	// 0 means that of [DefaultTopK]. [TopKNeed] computes other sizes.
	Width, Depth int
	// Decay is above 0 and at most 1; 0 means 0.9. With 1 every other key lowers a
	// count, however high it is.
	Decay float64
	// Hash is the key hash; the zero value is XXH3 with seed 0.
	Hash bloom.Hash
	// Seed is the start of the random numbers.
	Seed uint64
	// RedisBloom makes a sketch with the buckets, fingerprints and counts of RedisBloom, so
	// that it can be moved from and to that system. Its hash is public: everybody can
	// construct keys that collide. Hash is not used.
	RedisBloom bool
	// Reserve, unless it is nil, is called with the number of bytes before memory is
	// allocated for the buckets. If it returns an error, so does NewTopK.
	Reserve func(bytes uint64) error
}

const (
	defaultTopKDecay = 0.9
	maxTopKDepth     = 1024
	maxTopK          = math.MaxInt32
	maxRedisTopK     = 1 << 24 // more do not fit into the payload of DUMP
	// topKOverhead is the memory of a sketch without buckets and keys, entryOverhead that of
	// a kept key without its bytes.
	topKOverhead  = 2304
	entryOverhead = 96
)

// NewTopK returns an empty sketch.
func NewTopK(c TopKConfig) (*TopK, error) {
	if c.RedisBloom {
		c.Hash = bloom.Hash{}
	}
	if err := c.Hash.Validate(); err != nil {
		return nil, err
	}
	if c.Decay == 0 {
		c.Decay = defaultTopKDecay
	}
	if c.K >= 1 && c.K <= maxTopK && (c.Width == 0 || c.Depth == 0) {
		size, err := DefaultTopK(c.K)
		if err != nil {
			return nil, err
		}
		if c.Width == 0 {
			c.Width = size.Width
		}
		if c.Depth == 0 {
			c.Depth = size.Depth
		}
	}
	if err := checkTopK(c.K, c.Width, c.Depth, c.Decay); err != nil {
		return nil, err
	}
	if c.RedisBloom && c.K > maxRedisTopK {
		return nil, fmt.Errorf("k = %d of a top-k sketch for RedisBloom is not between 1 and %d", c.K, maxRedisTopK)
	}
	n := c.Width * c.Depth
	if c.Reserve != nil {
		if err := c.Reserve(8*uint64(n) + topKOverhead); err != nil {
			return nil, fmt.Errorf("%d bytes for a top-k sketch are refused: %w", n*8, err)
		}
	}
	mem, err := pages.New(uint64(n))
	if err != nil {
		return nil, fmt.Errorf("%w; lower the width or the depth", err)
	}
	t := &TopK{
		k: c.K, width: c.Width, depth: c.Depth, decay: c.Decay, hashed: hashed{hash: keyOf(c.Hash)}, random: c.Seed,
		mem: mem, buckets: mem.Words(), best: best{k: c.K, place: map[string]int{}}, redis: c.RedisBloom,
	}
	t.setChances()
	return t, nil
}

// checkTopK returns an error for an impossible size.
func checkTopK(k, width, depth int, decay float64) error {
	switch {
	case k < 1 || k > maxTopK:
		return fmt.Errorf("k = %d of a top-k sketch is not between 1 and %d", k, maxTopK)
	case depth < 1 || depth > maxTopKDepth:
		return fmt.Errorf("depth %d of a top-k sketch is not between 1 and %d", depth, maxTopKDepth)
	case width < 1 || uint64(width) > maxCounters/uint64(depth):
		return fmt.Errorf("width %d of a top-k sketch with %d rows is not between 1 and %d", width, depth, uint64(maxCounters)/uint64(depth))
	case !(decay > 0 && decay <= 1):
		return fmt.Errorf("decay %v of a top-k sketch is not above 0 and at most 1", decay)
	}
	return nil
}

// setChances fills the table of powers. It multiplies one by one instead of calling a
// function that may round differently, so the table is the same on all machines.
func (t *TopK) setChances() {
	p := 1.0
	for i := range t.chances {
		t.chances[i] = p
		p *= t.decay
	}
}

// chance returns decay to the power of count.
func (t *TopK) chance(count uint32) float64 {
	const last = uint32(len(t.chances) - 1)
	p := t.chances[count%last]
	// Square the highest power of the table for the rest.
	for rest, square := count/last, t.chances[last]; rest > 0 && p > 0; rest >>= 1 {
		if rest&1 != 0 {
			p *= square
		}
		square *= square
	}
	return p
}

// leastChance is a probability that the random numbers cannot tell from 0.
const leastChance = 1.0 / (1 << 53)

// lucky is true with probability p.
func (t *TopK) lucky(p float64) bool {
	t.random += rowStep
	return float64(mix(t.random)>>11)*leastChance < p
}

// K returns the number of keys that are kept.
func (t *TopK) K() int { return t.k }

// Width returns the number of buckets of a row.
func (t *TopK) Width() int { return t.width }

// Depth returns the number of rows.
func (t *TopK) Depth() int { return t.depth }

// Decay returns the base of the probabilities.
func (t *TopK) Decay() float64 { return t.decay }

// Bytes returns the memory of the sketch, which depends on the keys that it keeps.
func (t *TopK) Bytes() uint64 {
	return topKOverhead + 8*uint64(len(t.buckets)) + t.best.bytes + entryOverhead*uint64(t.best.kept)
}

// Add counts key once. If key displaces another from the best k, Add returns that key and
// true.
func (t *TopK) Add(key []byte) (expelled []byte, ok bool) { return t.Incr(key, 1) }

// Incr counts key n times. Its time does not depend on n, except if Decay is slightly below
// 1.
func (t *TopK) Incr(key []byte, n uint32) (expelled []byte, ok bool) {
	if n == 0 {
		return nil, false
	}
	count := t.raise(key, n)
	if at, member := t.best.place[string(key)]; member {
		// A count is never too high, so the higher one is right. RedisBloom takes the new one.
		if t.redis && count >= t.best.least() || !t.redis && count > t.best.slots[at].count {
			t.best.raise(at, count)
		}
		return nil, false
	}
	if count == 0 || count < t.best.least() { // of two with equal counts the newer one stays
		return nil, false
	}
	return t.best.take(string(key), count)
}

// raise counts a key in the buckets and returns its highest count there.
func (t *TopK) raise(key []byte, n uint32) (highest uint32) {
	h, fp := t.hashes(key)
	for i := range t.depth {
		h += rowStep
		b := t.bucket(key, h, i)
		theirs, count := uint32(*b>>32), uint32(*b)
		switch {
		case count == 0:
			count = n
		case theirs == fp:
			count = uint32(min(uint64(count)+uint64(n), math.MaxUint32))
		default:
			left := t.wear(&count, n)
			*b = uint64(theirs)<<32 | uint64(count)
			if left == 0 {
				continue
			}
			count = left
		}
		*b = uint64(fp)<<32 | uint64(count)
		highest = max(highest, count)
	}
	runtime.KeepAlive(t)
	return highest
}

// redisFingerprint is the seed of fingerprints in RedisBloom.
const redisFingerprint = 1919

// hashes returns the hash of a key, which is for bucket, and its fingerprint.
func (t *TopK) hashes(key []byte) (h uint64, fp uint32) {
	if t.redis {
		return 0, keyhash.SumMurmur32(key, redisFingerprint)
	}
	h = t.hash.Sum(key)
	return h, uint32(h)
}

// bucket returns the bucket of a key in row i, for which h has had a step for each row.
func (t *TopK) bucket(key []byte, h uint64, i int) *uint64 {
	at := uint64(0)
	if t.redis {
		at = redisColumn(key, i, uint64(t.width))
	} else {
		at = column(h, uint64(t.width))
	}
	return &t.buckets[i*t.width+int(at)]
}

// wear lets n arrivals of another key lower a count. It returns how many of them were left
// when the count reached 0.
func (t *TopK) wear(count *uint32, n uint32) (left uint32) {
	if t.decay == 1 { // each takes one
		if n < *count {
			*count -= n
			return 0
		}
		left, *count = n-*count+1, 0
		return left
	}
	p := t.chance(*count)
	for ; n > 0 && p >= leastChance; n-- {
		if p < rare && n > 1/rare {
			if n -= t.unlucky(p, n); n == 0 {
				return 0
			}
		} else if !t.lucky(p) {
			continue
		}
		if *count--; *count == 0 {
			return n
		}
		p = t.chance(*count)
	}
	return 0
}

// rare is the probability below which it costs less to draw the number of unlucky arrivals
// than to draw for each.
const rare = 1.0 / 64

// unlucky returns how many of n arrivals come before the first that is lucky with
// probability p; n if none is. That number has a geometric distribution, whose binary digits
// are independent: digit i is 1 with the odds of q^(2^i) to 1, where q = 1 - p. This takes
// only products and quotients, which are the same on all machines.
func (t *TopK) unlucky(p float64, n uint32) uint32 {
	digits := bits.Len32(n)
	var powers [33]float64
	powers[0] = 1 - p
	for i := range digits {
		powers[i+1] = powers[i] * powers[i]
	}
	if t.lucky(powers[digits]) {
		return n
	}
	vain := uint32(0)
	for i, q := range powers[:digits] {
		if t.lucky(q / (1 + q)) {
			vain |= 1 << i
		}
	}
	return min(vain, n)
}

// Has reports whether key is among the best now.
func (t *TopK) Has(key []byte) bool {
	_, ok := t.best.place[string(key)]
	return ok
}

// Count returns how often key came, as far as the sketch knows: 0 if the key has no bucket.
func (t *TopK) Count(key []byte) uint32 {
	at, member := t.best.place[string(key)]
	if member && !t.redis {
		return t.best.slots[at].count
	}
	h, fp := t.hashes(key)
	highest, least := uint32(0), uint32(0)
	if member { // RedisBloom takes lower buckets for those of other keys
		least = t.best.least()
	}
	for i := range t.depth {
		h += rowStep
		if b := *t.bucket(key, h, i); uint32(b>>32) == fp && uint32(b) >= least {
			highest = max(highest, uint32(b))
		}
	}
	runtime.KeepAlive(t)
	return highest
}

// TopKEntry is a key with its count.
type TopKEntry struct {
	Key   []byte
	Count uint32
}

// List returns the best keys, by descending counts. Equal counts are in the order in which
// RedisBloom lists them.
func (t *TopK) List() []TopKEntry { return t.best.list() }

// Clear forgets all keys and counts. The random numbers go on.
func (t *TopK) Clear() {
	clear(t.buckets)
	t.best.clear()
	runtime.KeepAlive(t)
}

// Clone returns a copy that shares nothing with t. It fails if there is not enough memory.
func (t *TopK) Clone() (*TopK, error) {
	c := *t
	err := c.fill(t.buckets)
	runtime.KeepAlive(t)
	if err != nil {
		return nil, err
	}
	c.best = t.best.clone()
	return &c, nil
}

// fill gives t a copy of buckets.
func (t *TopK) fill(buckets []uint64) error {
	mem, err := pages.New(uint64(len(buckets)))
	if err != nil {
		return err
	}
	t.buckets, t.mem = mem.Words(), mem
	pages.Copy(t.buckets, buckets)
	return nil
}

// Equal reports whether t and other have the same size, hash, counts, keys and state of
// the random numbers.
func (t *TopK) Equal(other *TopK) bool {
	equal := t.k == other.k && t.width == other.width && t.depth == other.depth && t.decay == other.decay && t.hashed == other.hashed &&
		t.random == other.random && slices.Equal(t.buckets, other.buckets) && t.redis == other.redis && slices.Equal(t.best.slots, other.best.slots)
	runtime.KeepAlive(t)
	runtime.KeepAlive(other)
	return equal
}
