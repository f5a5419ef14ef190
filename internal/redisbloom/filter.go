// Package redisbloom is the Bloom filter of RedisBloom: in memory, as BF.SCANDUMP and
// BF.LOADCHUNK pass it on, and as the payload of DUMP and RESTORE; and the payloads of
// cuckoo filters, count-min sketches and top-k, whose contents packages bloom and sketch
// have. It is for package sketch, for interop, which reads and writes files, and for
// internal/store, which keeps values in a server.
//
// It does no I/O but on writers that it is given. Its input may be hostile: it checks
// lengths, and asks the caller, before it takes memory. Each type says what several
// goroutines may do with it.
package redisbloom

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"seen/internal/rdb"
)

// Errors of [Filter] that callers tell apart with errors.Is; the errors
// returned wrap them and say more. An error of the Reserve function is wrapped
// likewise.
var (
	// ErrFull says that a filter which does not grow has reached its capacity.
	ErrFull = errors.New("the filter is full and does not grow")
	// ErrGrow says that a filter cannot grow any more, with any memory: the error rate of
	// the next sub-filter would be 0, or its size is beyond 64 bits.
	ErrGrow = errors.New("the filter cannot grow any more")
	// ErrBadData says that bytes are not a filter, or not an iterator of a dump.
	ErrBadData = rdb.ErrBadData
	// ErrNoLink says that a chunk of a dump is outside the filter.
	ErrNoLink = errors.New("no sub-filter has this offset")
	// ErrTooBig says that a chunk of a dump crosses the end of a sub-filter.
	ErrTooBig = errors.New("the chunk is too big")
)

// Options of a chain. The numbers are part of its header.
const (
	noRound        = 1 // lengths are not rounded up to a power of two
	capacityAsBits = 2 // capacities were given as the logarithm of the length
	force64        = 4 // 64-bit hashes
	noScaling      = 8 // does not grow

	allOptions = noRound | capacityAsBits | force64 | noScaling
)

// noExpansion is the expansion in the header of a filter that does not grow, where it has
// no effect.
const noExpansion = 2

// Filter is a Bloom filter as RedisBloom keeps it: a chain of sub-filters, each with half
// the error rate of the one before it, and MurmurHash64A with a fixed seed. It answers as
// RedisBloom does for the same dump, and RedisBloom loads what it dumps.
//
// The hash is public: an attacker can choose keys that collide, and the error rate does
// not hold for them. Nor does it hold for arrays of a few bytes. Use this filter to
// exchange data with RedisBloom.
//
// Any number of goroutines may ask (Has, HasHash, HasHashes, Added, Capacity, Bytes,
// Info, Hash, Hashes, ScanDump, and the methods that encode) while one changes the
// filter; they never wait. What is encoded during an addition may lack keys, or count
// keys whose bits it lacks: for a dump of one moment stop the writer, or encode a Clone.
// All other methods are for one goroutine at a time.
//
// The zero value is not usable. A Filter must not be copied.
type Filter struct {
	options   uint32
	expansion uint32
	links     atomic.Pointer[[]*link] // oldest first, never empty
	added     atomic.Uint64
	bytes     atomic.Uint64
	spare     []*link // made by Prepare, the next first
	reserve   func(bytes uint64) error
}

// MaxErrorRate is the highest error rate that RedisBloom makes a filter for. A
// higher one would need less than two bits per key.
const MaxErrorRate = 0.25

// Config says how large a [Filter] is to be.
type Config struct {
	// Capacity is the number of keys of the first sub-filter, at least 1.
	Capacity uint64
	// ErrorRate is between 0 and 1, exclusively. It is cut to [MaxErrorRate], as in
	// RedisBloom. A filter that grows gives half of it to the first sub-filter, a quarter
	// to the second, and so on.
	ErrorRate float64
	// Expansion is what the capacity of a sub-filter is multiplied by for the next;
	// 0 means that the filter does not grow.
	Expansion uint32
	// Reserve, unless it is nil, is called with the number of bytes before memory is
	// allocated. If it returns an error, the call that needed the memory fails and
	// changes nothing. It is not part of a dump.
	Reserve func(bytes uint64) error
}

// New returns an empty filter, with the sizes that RedisBloom would give
// it.
func New(c Config) (*Filter, error) {
	if c.Capacity == 0 {
		return nil, errors.New("capacity is 0; give the number of keys of the first sub-filter, 1 or more")
	}
	if !(c.ErrorRate > 0 && c.ErrorRate < 1) {
		return nil, fmt.Errorf("error rate %v; give a number between 0 and 1, both excluded", c.ErrorRate)
	}
	f := &Filter{options: noRound | force64, expansion: c.Expansion, reserve: c.Reserve}
	asked := min(c.ErrorRate, MaxErrorRate)
	rate := asked * tighten
	if c.Expansion == 0 {
		f.options |= noScaling
		f.expansion = noExpansion
		rate = asked
	}
	first, err := newShape(c.Capacity, rate, f.options)
	if err != nil {
		return nil, fmt.Errorf("%w; lower the capacity or raise the error rate", err)
	}
	if err := f.build([]shape{first}, nil); err != nil {
		return nil, err
	}
	return f, nil
}

// build gives f, which is empty, sub-filters of the given shapes, which hold as many
// keys as added says; nil means none.
func (f *Filter) build(shapes []shape, added []uint64) error {
	bytes := uint64(overhead)
	for i := range shapes {
		bytes += shapes[i].memory()
	}
	if err := f.ask(bytes); err != nil {
		return err
	}
	links := make([]*link, len(shapes))
	total := uint64(0)
	for i, s := range shapes {
		l, err := s.link()
		if err != nil {
			return err
		}
		if added != nil {
			l.added.Store(added[i])
			total += added[i]
		}
		links[i] = l
	}
	f.links.Store(&links)
	f.added.Store(total)
	f.bytes.Store(bytes)
	return nil
}

// ask calls Reserve.
func (f *Filter) ask(bytes uint64) error {
	if f.reserve == nil {
		return nil
	}
	if err := f.reserve(bytes); err != nil {
		return fmt.Errorf("cannot reserve %d bytes for a filter: %w", bytes, err)
	}
	return nil
}

// SetReserve replaces the function that is asked before memory is allocated.
func (f *Filter) SetReserve(reserve func(bytes uint64) error) { f.reserve = reserve }

// chain returns the sub-filters, oldest first. A caller that reads their bits keeps it
// alive until the last access.
func (f *Filter) chain() []*link { return *f.links.Load() }

// Add adds key and reports whether it was certainly not there before. It fails when
// the key is new and the filter is full or cannot grow, and then changes nothing.
func (f *Filter) Add(key []byte) (bool, error) { return f.AddHash(f.Hash(key)) }

// AddHash is Add for a key whose hash is h.
func (f *Filter) AddHash(h Hash) (bool, error) {
	if f.HasHash(h) {
		return false, nil
	}
	links := f.chain()
	last := links[len(links)-1]
	if last.added.Load() >= last.capacity {
		if err := f.extend(1); err != nil {
			return false, err
		}
		last = f.spare[0]
		f.spare = f.spare[1:]
		// A new slice, since readers may hold the old one.
		links = append(append(make([]*link, 0, len(links)+1), links...), last)
		f.links.Store(&links)
	}
	last.set(h)
	runtime.KeepAlive(links)
	last.added.Add(1)
	f.added.Add(1)
	return true, nil
}

// AddHashes does AddHash for each of hs in order and stores the answers in added,
// which must be as long as hs. It stops at the first that fails, and returns how
// many were dealt with before that.
func (f *Filter) AddHashes(added []bool, hs []Hash) (done int, err error) {
	for at := 0; at < len(hs); at += batchKeys {
		n := min(batchKeys, len(hs)-at)
		// Asking for all at once brings their words into the cache. Only keys that are
		// new need a second look.
		answers := added[at : at+n]
		f.HasHashes(answers, hs[at:at+n])
		for i := range answers {
			if answers[i] {
				answers[i] = false
				continue
			}
			if answers[i], err = f.AddHash(hs[at+i]); err != nil {
				return at + i, err
			}
		}
	}
	return len(hs), nil
}

// Prepare makes the sub-filters that n more new keys will need, so that adding them
// cannot fail. If there is room for fewer, it returns their number and the error that
// prevents the next.
func (f *Filter) Prepare(n uint64) (uint64, error) {
	for {
		room := f.room()
		if room >= n {
			return n, nil
		}
		if err := f.extend(len(f.spare) + 1); err != nil {
			return room, err
		}
	}
}

// room returns the number of new keys for which there are sub-filters.
func (f *Filter) room() uint64 {
	links := f.chain()
	last := links[len(links)-1]
	room := last.capacity - min(last.capacity, last.added.Load())
	for _, l := range f.spare {
		room += min(l.capacity, ^uint64(0)-room)
	}
	return room
}

// extend makes sub-filters until n are in store.
func (f *Filter) extend(n int) error {
	for len(f.spare) < n {
		if f.options&noScaling != 0 {
			return fmt.Errorf("%w: it was made for %d keys", ErrFull, f.Capacity())
		}
		last := f.chain()[len(f.chain())-1]
		if len(f.spare) > 0 {
			last = f.spare[len(f.spare)-1]
		}
		if len(f.chain())+len(f.spare) == maxLinks {
			return fmt.Errorf("%w: it has %d sub-filters", ErrGrow, maxLinks)
		}
		shape, err := last.next(f.expansion, f.options)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrGrow, err)
		}
		if err := f.ask(shape.memory()); err != nil {
			return err
		}
		l, err := shape.link()
		if err != nil {
			return err
		}
		f.spare = append(f.spare, l)
		f.bytes.Add(shape.memory())
	}
	return nil
}

// Clear forgets all keys, and all sub-filters but the first. Goroutines that ask
// meanwhile may find a key that is being forgotten.
func (f *Filter) Clear() {
	first := f.chain()[0]
	f.links.Store(&[]*link{first})
	f.spare = nil
	for i := range first.words {
		if atomic.LoadUint64(&first.words[i]) != 0 {
			atomic.StoreUint64(&first.words[i], 0)
		}
	}
	runtime.KeepAlive(first)
	first.added.Store(0)
	f.added.Store(0)
	f.bytes.Store(overhead + first.memory())
}

// Clone returns a copy that shares nothing with f but the Reserve function, which is not
// asked. It fails if there is not enough memory.
func (f *Filter) Clone() (*Filter, error) {
	c := &Filter{options: f.options, expansion: f.expansion}
	links := f.chain()
	if err := c.build(shapesOf(links)); err != nil {
		return nil, err
	}
	c.reserve = f.reserve
	for i, l := range c.chain() {
		for j := range l.words {
			// Zeros are not written, so a copy takes no more memory than the original.
			if w := atomic.LoadUint64(&links[i].words[j]); w != 0 {
				l.words[j] = w
			}
		}
	}
	runtime.KeepAlive(links)
	return c, nil
}

// shapesOf returns the shapes of the sub-filters, and the keys in each.
func shapesOf(links []*link) (shapes []shape, added []uint64) {
	for _, l := range links {
		shapes = append(shapes, l.shape)
		added = append(added, l.added.Load())
	}
	return shapes, added
}

// Release returns the memory of the filter to the system at once, not when the filter is
// collected. It must not run at the same time as any other call. Later calls panic.
func (f *Filter) Release() {
	for _, l := range append(f.chain(), f.spare...) {
		l.words = nil
		l.mem.Release()
	}
}

// Added returns the number of keys that were new when they were added.
func (f *Filter) Added() uint64 { return f.added.Load() }

// Bytes returns the memory of the filter, with sub-filters that [Filter.Prepare]
// has made: what Reserve was asked for.
func (f *Filter) Bytes() uint64 { return f.bytes.Load() }

// Capacity returns the number of keys that the sub-filters are made for.
func (f *Filter) Capacity() uint64 {
	n := uint64(0)
	for _, l := range f.chain() {
		n += min(l.capacity, ^uint64(0)-n)
	}
	return n
}

// Info describes a filter, in the terms of BF.INFO and BF.DEBUG.
type Info struct {
	Capacity  uint64 // of all sub-filters
	Size      uint64 // bytes, as BF.INFO counts them
	Added     uint64 // keys that were new when they were added
	Scaling   bool   // whether the filter grows
	Expansion uint32 // factor of the capacities of sub-filters, 0 if it does not grow
	Hash32    bool   // hashes have 32 bits, as in early versions
	Filters   []SubFilter
}

// SubFilter describes a sub-filter.
type SubFilter struct {
	Bytes      uint64  // of its array
	Bits       uint64  // 8 * Bytes
	Capacity   uint64  // keys it takes before the filter grows
	Added      uint64  // keys it has taken
	ErrorRate  float64 // asked of it
	BitsPerKey float64 // that follow from the rate
	Hashes     uint32  // probes of a key
	PowerOfTwo uint8   // logarithm of the number of bits in use, 0: all
}

// SubFilters returns the number of sub-filters.
func (f *Filter) SubFilters() int { return len(f.chain()) }

// Info describes the filter and its sub-filters, oldest first.
func (f *Filter) Info() Info {
	i := f.headerOf(f.chain()).info()
	i.Added = f.Added()
	return i
}

// headerOf is what the header of a dump says of the filter.
func (f *Filter) headerOf(links []*link) header {
	h := header{options: f.options, expansion: f.expansion}
	h.shapes, h.added = shapesOf(links)
	return h
}

func (h header) info() Info {
	i := Info{Size: 32, Hash32: h.options&force64 == 0}
	if h.options&noScaling == 0 {
		i.Scaling, i.Expansion = true, h.expansion
	}
	for at, s := range h.shapes {
		i.Capacity += min(s.capacity, ^uint64(0)-i.Capacity)
		i.Added += h.added[at]
		i.Size += 64 + s.bytes
		i.Filters = append(i.Filters, SubFilter{
			Bytes: s.bytes, Bits: s.bits, Capacity: s.capacity, Added: h.added[at],
			ErrorRate: s.errorRate, BitsPerKey: s.bitsPerKey, Hashes: s.hashes, PowerOfTwo: s.power,
		})
	}
	return i
}
