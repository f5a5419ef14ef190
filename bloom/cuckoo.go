package bloom

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"

	"seen/internal/frame"
	"seen/internal/pages"
)

// Cuckoo is a cuckoo filter (Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo Filter:
// Practically Better Than Bloom", 2014): a table of buckets for fingerprints of one byte.
// Each key has two buckets to choose from. You can remove keys, and add a key several times
// and count it. If you need neither, a [Filter] has fewer errors in the same memory.
//
// You cannot choose the error rate. An absent key is found with a probability of about
// 2 * BucketSize / 255 in each full sub-filter: 1.6 % for buckets of two. Choose a
// sufficient capacity: sub-filters that are added later cost errors and time.
//
// Remove only keys that were added: removing another key, found by mistake, removes a copy
// of a key that was added. One sub-filter has room for at most 2 * BucketSize copies of a
// key; with more it grows, however large it is.
//
// Any number of goroutines may ask (the calls with a key or a hash, and Added, Removed,
// Bytes, Info, Hash, Stats) while one changes the filter. Has does not wait, and always
// finds a key that is there, also while its fingerprint moves. Count may wait some
// nanoseconds for a move. All other calls are for one goroutine at a time.
//
// The filter is deterministic: the same calls on equal filters leave equal filters, bit by
// bit.
//
// The zero value is not usable; make one with [NewCuckoo] or read one. A Cuckoo must not be
// copied.
type Cuckoo struct {
	storedView
	capacity   uint64 // as asked, 0 if it was not
	bucketSize uint64
	iterations int
	expansion  uint64 // a power of two, or 0
	maxFilters int
	reserve    func(bytes uint64) error

	tables  atomic.Pointer[[]*cuckooTable] // oldest first, never empty
	added   atomic.Uint64                  // fingerprints in the tables
	removed atomic.Uint64                  // since the last compaction
	bytes   atomic.Uint64

	spare *cuckooTable // made ahead, for the next growth
	plan  cuckooPlan
	path  []uint64 // of plan: slots whose fingerprints move on by one
	onWay map[uint64]int
}

// CuckooConfig says how large a [Cuckoo] is and how it grows.
type CuckooConfig struct {
	// Capacity is the number of keys of the first sub-filter, at least 1. The number of
	// buckets is Capacity / BucketSize, rounded up to a power of two. A table cannot be
	// filled to the last slot: with 65536 slots and 20 iterations, the first key finds no
	// room at 60 % with buckets of two, at 80 % with four, at 90 % with eight. Larger tables
	// are full somewhat earlier, since a fingerprint of one byte has few second buckets.
	Capacity uint64
	// BucketSize is the number of fingerprints in a bucket, 1 to 255; 0 means 2.
	// Larger buckets can be filled further and err more often.
	BucketSize int
	// MaxIterations is the number of fingerprints that an addition may move before the
	// table counts as full, 1 to 65535; 0 means 20.
	MaxIterations int
	// Expansion is the size of a sub-filter relative to the one before it, at most 32768,
	// rounded up to a power of two; 0 means that the filter does not grow.
	Expansion int
	// MaxFilters is the largest number of sub-filters, at most 4096; 0 means 4096.
	// Files do not contain it.
	MaxFilters int
	// Hash is the key hash; the zero value is XXH3 with seed 0.
	Hash Hash
	// Reserve, unless it is nil, is called with the number of bytes before memory is
	// allocated. If it returns an error, the call fails and changes nothing. Files do not
	// contain it.
	Reserve func(bytes uint64) error
}

const (
	defaultBucketSize = 2
	defaultIterations = 20
	maxBucketSize     = 255
	maxIterations     = 65535
	maxExpansion      = 32768
	maxCuckooFilters  = frame.MaxParts
	maxBuckets        = 1 << 56
)

// NewCuckoo returns an empty filter.
func NewCuckoo(c CuckooConfig) (*Cuckoo, error) {
	if err := c.Hash.Validate(); err != nil {
		return nil, err
	}
	if c.BucketSize == 0 {
		c.BucketSize = defaultBucketSize
	}
	if c.MaxIterations == 0 {
		c.MaxIterations = defaultIterations
	}
	switch {
	case c.Capacity == 0:
		return nil, errors.New("capacity 0 of a cuckoo filter; give the number of keys, 1 or more")
	case c.BucketSize < 0 || c.BucketSize > maxBucketSize:
		return nil, fmt.Errorf("buckets of %d fingerprints; the limits are 1 and %d", c.BucketSize, maxBucketSize)
	case c.MaxIterations < 0 || c.MaxIterations > maxIterations:
		return nil, fmt.Errorf("%d iterations; the limits are 1 and %d", c.MaxIterations, maxIterations)
	case c.Expansion < 0 || c.Expansion > maxExpansion:
		return nil, fmt.Errorf("expansion %d of a cuckoo filter; the limits are 0 and %d", c.Expansion, maxExpansion)
	case c.MaxFilters < 0 || c.MaxFilters > maxCuckooFilters:
		return nil, fmt.Errorf("%d sub-filters; the limits are 1 and %d", c.MaxFilters, maxCuckooFilters)
	}
	f := &Cuckoo{
		capacity: c.Capacity, bucketSize: uint64(c.BucketSize), iterations: c.MaxIterations,
		expansion: roundUpToPower(uint64(c.Expansion)), reserve: c.Reserve,
	}
	f.setMaxFilters(c.MaxFilters)
	f.bindView(c.Hash.key(), c.Hash.KeyID(), f)
	buckets := c.Capacity / f.bucketSize
	if buckets > maxBuckets {
		return nil, fmt.Errorf("a cuckoo filter for %d keys is larger than one array can be; lower the capacity", c.Capacity)
	}
	if err := f.build([]uint64{roundUpToPower(max(1, buckets))}); err != nil {
		return nil, err
	}
	return f, nil
}

// roundUpToPower returns the least power of two that is not below n, or 0 for 0.
func roundUpToPower(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	return 1 << bits.Len64(n-1)
}

// build gives f, which has no tables yet, empty ones of the given numbers of buckets.
func (f *Cuckoo) build(buckets []uint64) error {
	total := uint64(cuckooOverhead)
	for _, n := range buckets {
		memory, err := f.tableMemory(n)
		if err != nil {
			return err
		}
		total += memory
		if total/8 > maxWords {
			return fmt.Errorf("a cuckoo filter of %d bytes or more is larger than the limit of %d", total, uint64(maxWords)*8)
		}
	}
	if err := f.ask(total); err != nil {
		return err
	}
	tables := make([]*cuckooTable, len(buckets))
	for i, n := range buckets {
		t, err := newCuckooTable(n, f.bucketSize)
		if err != nil {
			return err
		}
		tables[i] = t
	}
	f.tables.Store(&tables)
	f.bytes.Store(total)
	return nil
}

// ask calls Reserve.
func (f *Cuckoo) ask(bytes uint64) error {
	if f.reserve == nil {
		return nil
	}
	if err := f.reserve(bytes); err != nil {
		return fmt.Errorf("%d bytes for a cuckoo filter are refused: %w", bytes, err)
	}
	return nil
}

// setMaxFilters sets the largest number of sub-filters; 0, and any number above 4096, stand
// for 4096.
func (f *Cuckoo) setMaxFilters(n int) {
	if n <= 0 || n > maxCuckooFilters {
		n = maxCuckooFilters
	}
	f.maxFilters = n
}

// all returns the tables, oldest first. A caller that reads them must keep the result
// alive until the last access.
func (f *Cuckoo) all() []*cuckooTable { return *f.tables.Load() }

// HasHash is Has for a key whose hash is h. It looks from the newest sub-filter to the
// oldest, as fingerprints are only ever moved to older ones.
func (f *Cuckoo) HasHash(h uint64) bool {
	tables := f.all()
	found := false
	for i := len(tables) - 1; i >= 0 && !found; i-- {
		found = tables[i].has(h)
	}
	runtime.KeepAlive(tables)
	return found
}

// HasHashes is HasKeys for hashes.
func (f *Cuckoo) HasHashes(found []bool, hs []uint64) int {
	checkAnswers(found, len(hs))
	tables := f.all()
	newest := tables[len(tables)-1]
	n := 0
	const chunk = 32
	for at := 0; at < len(hs); at += chunk {
		m := min(chunk, len(hs)-at)
		newest.touch(hs[at : at+m])
		n += f.lookup.HasHashes(part(found, at, m), hs[at:at+m])
	}
	runtime.KeepAlive(tables)
	return n
}

// Count returns how often key is in the filter: at least as often as it was added and
// not removed, and more if other keys have the same fingerprint and buckets.
func (f *Cuckoo) Count(key []byte) uint64 { return f.CountHash(f.hash.Sum(key)) }

// CountHash is Count for a key whose hash is h.
func (f *Cuckoo) CountHash(h uint64) uint64 {
	tables := f.all()
	defer runtime.KeepAlive(tables)
	for {
		before, moving := cuckooMoves(tables, h)
		if !moving {
			n := uint64(0)
			for _, t := range tables {
				n += t.count(h)
			}
			if after, _ := cuckooMoves(tables, h); after == before {
				return n
			}
		}
		runtime.Gosched()
		tables = f.all()
	}
}

// Add adds a copy of key. If it fails, with [ErrFull], [ErrMaxFilters] or the error of
// Reserve, it changes nothing.
func (f *Cuckoo) Add(key []byte) error { return f.AddHash(f.hash.Sum(key)) }

// AddHash is Add for a key whose hash is h.
func (f *Cuckoo) AddHash(h uint64) error {
	if err := f.prepare(h); err != nil {
		return err
	}
	f.execute()
	f.added.Add(1)
	return nil
}

// Remove removes a copy of key and reports whether there was one. Keys that were not
// added must not be removed.
func (f *Cuckoo) Remove(key []byte) bool { return f.RemoveHash(f.hash.Sum(key)) }

// RemoveHash is Remove for a key whose hash is h.
func (f *Cuckoo) RemoveHash(h uint64) bool {
	tables := f.all()
	for i := len(tables) - 1; i >= 0; i-- {
		t := tables[i]
		slot, ok := t.find(h, fingerprint(h))
		if !ok {
			continue
		}
		f.plan = cuckooPlan{}
		t.remove(slot)
		runtime.KeepAlive(t)
		f.added.Add(^uint64(0))
		if removed := f.removed.Add(1); len(tables) > 1 && removed > f.added.Load()/10 {
			f.compact(false)
		}
		return true
	}
	return false
}

// Clear forgets all keys and keeps only the first sub-filter. Goroutines that ask meanwhile
// may find a key that is being forgotten.
func (f *Cuckoo) Clear() {
	f.plan, f.spare = cuckooPlan{}, nil
	first := f.all()[0]
	f.tables.Store(&[]*cuckooTable{first})
	for i := range first.words {
		if first.words[i] != 0 {
			atomic.StoreUint64(&first.words[i], 0)
		}
	}
	runtime.KeepAlive(first)
	f.added.Store(0)
	f.removed.Store(0)
	f.bytes.Store(cuckooOverhead + first.memory)
}

// Clone returns a copy that shares nothing with f but the Reserve function, which is
// not asked. It fails if there is not enough memory.
func (f *Cuckoo) Clone() (*Cuckoo, error) {
	c := &Cuckoo{
		capacity: f.capacity, bucketSize: f.bucketSize, iterations: f.iterations, expansion: f.expansion, maxFilters: f.maxFilters,
	}
	c.bindView(f.hash, f.keyID, c)
	c.label = f.label
	tables := f.all()
	var buckets []uint64
	for _, t := range tables {
		buckets = append(buckets, t.buckets())
	}
	if err := c.build(buckets); err != nil {
		return nil, err
	}
	for i, t := range c.all() {
		pages.Copy(t.words, tables[i].words)
	}
	runtime.KeepAlive(tables)
	c.reserve = f.reserve
	c.added.Store(f.added.Load())
	c.removed.Store(f.removed.Load())
	return c, nil
}

// Equal reports whether f and g have the same parameters, hash and fingerprints, each
// in the same place.
func (f *Cuckoo) Equal(g *Cuckoo) bool {
	a, b := f.all(), g.all()
	equal := f.bucketSize == g.bucketSize && f.iterations == g.iterations && f.expansion == g.expansion &&
		f.checkHash(&g.lookup) == nil && f.Removed() == g.Removed() && len(a) == len(b)
	for i := 0; equal && i < len(a); i++ {
		equal = slices.Equal(a[i].words, b[i].words)
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	return equal
}

// Release returns the memory of the filter to the system at once, instead of when the
// filter is collected. It must not run at the same time as any other call, and the filter
// must not be used afterwards: calls panic.
func (f *Cuckoo) Release() {
	for _, t := range f.all() {
		t.words = nil
		if t.mem != nil {
			t.mem.Release()
		}
	}
	f.spare = nil
}

// Added returns the number of copies that are in the filter.
func (f *Cuckoo) Added() uint64 { return f.added.Load() }

// Removed returns the number of copies that were removed since the last compaction.
func (f *Cuckoo) Removed() uint64 { return f.removed.Load() }

// Bytes returns the memory of the filter: what Reserve was asked for.
func (f *Cuckoo) Bytes() uint64 { return f.bytes.Load() }

// CuckooInfo describes a cuckoo filter.
type CuckooInfo struct {
	Buckets       uint64 // of the first sub-filter
	BucketSize    int
	MaxIterations int
	Expansion     int
	Filters       int    // sub-filters
	Added         uint64 // copies in the filter
	Removed       uint64 // copies removed since the last compaction
	Slots         uint64 // places for copies in all sub-filters
}

// Info describes the filter without reading its tables.
func (f *Cuckoo) Info() CuckooInfo {
	tables := f.all()
	i := CuckooInfo{
		Buckets: tables[0].buckets(), BucketSize: int(f.bucketSize), MaxIterations: f.iterations, Expansion: int(f.expansion),
		Filters: len(tables), Added: f.Added(), Removed: f.Removed(),
	}
	for _, t := range tables {
		i.Slots += t.size
	}
	return i
}
