package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"seen/bloom"
	"seen/internal/bridge"
	"seen/internal/frame"
)

// What package bloom does for the store; see package bridge.
var (
	fromFrame        = bridge.FromFrame.(func(*frame.Header, [][]byte, bloom.LoadOptions, func(int, uint64, uint64)) (bloom.View, error))
	served           = bridge.ServedCuckoo.(func(*bloom.Cuckoo) bridge.Cuckoo)
	cuckooFromHeader = bridge.CuckooFromHeader.(func([]byte, bloom.CuckooConfig) (*bloom.Cuckoo, error))
)

// Cuckoo is a cuckoo filter. Questions take no lock; changes wait for each other.
type Cuckoo struct {
	held[bloom.Cuckoo, *bloom.Cuckoo]
	maxFilters int
}

// CuckooConfig says how a cuckoo filter is made. Zeros, except in Expansion, mean the
// defaults of bloom.Cuckoo.
type CuckooConfig struct {
	Capacity      uint64
	BucketSize    int
	MaxIterations int
	Expansion     int // 0: does not grow
	MaxFilters    int // sub-filters at most
	Layout        Layout
}

// CuckooInfo describes a cuckoo filter.
type CuckooInfo struct {
	bloom.CuckooInfo
	Layout Layout
	Size   uint64 // as the protocol counts it
	Bytes  uint64 // memory, all included
}

// CreateCuckoo makes a cuckoo filter under a name that has no value. The error is ErrExists
// if it has one, and ErrMemory if there is too little memory.
func (s *Store) CreateCuckoo(name []byte, c CuckooConfig) (*Cuckoo, LSN, error) {
	return s.CreateCuckooWith(name, c, func(*Cuckoo) {})
}

// CreateCuckooWith is CreateCuckoo of a filter that begins with some keys, as
// CreateBloomWith is CreateBloom.
func (s *Store) CreateCuckooWith(name []byte, c CuckooConfig, first func(*Cuckoo)) (*Cuckoo, LSN, error) {
	if s.lookup(name) != nil {
		return nil, 0, fmt.Errorf("%w: %q", ErrExists, name)
	}
	if c.Layout == DefaultLayout {
		c.Layout = s.Layout()
	}
	v := s.newCuckoo(c.MaxFilters)
	f, err := bloom.NewCuckoo(bloom.CuckooConfig{
		Capacity: c.Capacity, BucketSize: c.BucketSize, MaxIterations: c.MaxIterations,
		Expansion: c.Expansion, MaxFilters: c.MaxFilters, Hash: s.hashOf(c.Layout), Reserve: v.ask,
	})
	at, err := v.enter(v, name, f, cuckooError(err), false, func() { first(v) })
	return v, at, err
}

func (s *Store) hashOf(l Layout) bloom.Hash {
	if l == LayoutRedisBloom {
		return bloom.Hash{Algorithm: bloom.Murmur64A}
	}
	return s.hash
}

func (s *Store) newCuckoo(maxFilters int) *Cuckoo {
	c := &Cuckoo{maxFilters: maxFilters}
	c.start(s, kindCuckoo)
	return c
}

func (c *Cuckoo) set(f *bloom.Cuckoo) {
	served(f).SetReserve(c.ask)
	served(f).SetMaxFilters(c.maxFilters)
	c.now.Store(f)
}

func cuckooError(err error) error {
	switch {
	case errors.Is(err, bloom.ErrMaxFilters):
		return fmt.Errorf("%w: %w", ErrExpansions, err)
	case errors.Is(err, bloom.ErrFull):
		return fmt.Errorf("%w: %w", ErrFull, err)
	case errors.Is(err, bridge.ErrBadDump):
		return fmt.Errorf("%w: %w", ErrData, err)
	}
	return err
}

// Has stores in found, which is as long as keys, whether each key may be there, and
// returns the position that the answers depend on. It takes no lock.
func (c *Cuckoo) Has(found []bool, keys [][]byte) LSN {
	c.now.Load().HasKeys(found, keys)
	c.traffic.asked(found[:len(keys)])
	return c.LSN()
}

// Count returns how often a key may be there. It takes no lock, and may wait some
// nanoseconds for a fingerprint that is being moved.
func (c *Cuckoo) Count(key []byte) (uint64, LSN) {
	n := c.now.Load().Count(key)
	c.traffic.asked([]bool{n > 0})
	return n, c.LSN()
}

// The changes of a cuckoo filter.
const (
	cuckooAdd     = 1 // a hash
	cuckooRemove  = 2 // a hash
	cuckooCompact = 3 // nothing
)

// change logs a change that is decided.
func (c *Cuckoo) change(code byte, h uint64) LSN {
	l := &c.store.log
	start := l.open(opChange, c.id)
	l.buf = append(l.buf, code)
	if code != cuckooCompact {
		l.buf = binary.LittleEndian.AppendUint64(l.buf, h)
	}
	at := l.close(start)
	c.made(at)
	return at
}

// Add adds a copy of each key, whether it is there or not, and passes each nil, or why the
// key could not be added: ErrFull, ErrExpansions or ErrMemory. If Add returns an error,
// nothing has changed.
func (c *Cuckoo) Add(keys [][]byte, each func(i int, err error)) (LSN, error) {
	return c.eachKey(keys, func(f *bloom.Cuckoo, i int, h uint64) { each(i, c.add(f, h)) })
}

// AddNew adds the keys that are not there, and passes each whether the key was added, or
// why it could not be, as Add does.
func (c *Cuckoo) AddNew(keys [][]byte, each func(i int, added bool, err error)) (LSN, error) {
	return c.eachKey(keys, func(f *bloom.Cuckoo, i int, h uint64) {
		if f.HasHash(h) {
			c.traffic.adds.Add(1)
			each(i, false, nil)
			return
		}
		err := c.add(f, h)
		each(i, err == nil, err)
	})
}

// eachKey calls do for the hash of each key, with the mutex held.
func (c *Cuckoo) eachKey(keys [][]byte, do func(f *bloom.Cuckoo, i int, h uint64)) (LSN, error) {
	if err := c.lock(); err != nil {
		return 0, err
	}
	defer c.mu.Unlock()
	if len(keys) > 1 {
		c.store.log.hold() // all of the call or nothing, after a crash
		defer c.store.log.release()
	}
	f := c.now.Load()
	hash := f.Hash()
	for i, key := range keys {
		do(f, i, hash.Sum(key))
	}
	c.settle()
	return c.LSN(), nil
}

// add decides, logs and makes the addition of a hash.
func (c *Cuckoo) add(f *bloom.Cuckoo, h uint64) error {
	if err := served(f).PrepareHash(h); err != nil {
		return cuckooError(err)
	}
	c.traffic.adds.Add(1) // refused keys do not count
	c.change(cuckooAdd, h)
	return f.AddHash(h)
}

// Remove removes a copy of a key and reports whether there was one.
func (c *Cuckoo) Remove(key []byte) (bool, LSN, error) {
	removed := false
	at, err := c.eachKey([][]byte{key}, func(f *bloom.Cuckoo, _ int, h uint64) {
		if removed = f.HasHash(h); removed {
			c.change(cuckooRemove, h)
			f.RemoveHash(h)
		}
	})
	return removed, at, err
}

// Compact moves keys to older sub-filters, and drops those that become empty.
func (c *Cuckoo) Compact() (LSN, error) {
	if err := c.lock(); err != nil {
		return 0, err
	}
	defer c.mu.Unlock()
	at := c.change(cuckooCompact, 0)
	f := c.now.Load()
	f.Compact()
	c.settle()
	return at, nil
}

// Layers returns the number of sub-filters that a question looks at.
func (c *Cuckoo) Layers() int { return c.now.Load().Info().Filters }

// AddCost returns how many places an addition may look at.
func (c *Cuckoo) AddCost() int {
	i := c.now.Load().Info()
	return 2*i.Filters + i.BucketSize*i.MaxIterations
}

func (c *Cuckoo) layout() Layout {
	if hash := c.now.Load().Hash(); hash.Algorithm == bloom.Murmur64A {
		return LayoutRedisBloom
	}
	return LayoutSeen
}

// Info describes the filter.
func (c *Cuckoo) Info() CuckooInfo {
	f := c.now.Load()
	i := CuckooInfo{CuckooInfo: f.Info(), Layout: c.layout(), Bytes: c.Bytes()}
	i.Size = 40 + 16*uint64(i.Filters) + i.Slots
	return i
}

// ErrorRate returns the error rate, under the assumption that all sub-filters are equally
// full.
func (i CuckooInfo) ErrorRate() float64 {
	const other = 254.0 / 255 // that a fingerprint is not the one asked for
	load := float64(i.Added) / float64(max(i.Slots, 1))
	return 1 - math.Pow(other, 2*float64(i.BucketSize)*float64(i.Filters)*load)
}

// cuckooMagic begins the header of a dump of LayoutSeen. The id of the hash's secret
// follows, and the header as Redis has it.
const cuckooMagic = "\x89SEEN-CF\x01"

// Dump returns part of the filter in the form that Store.LoadCuckoo takes, as
// Filter.Dump does; an empty filter has no parts.
func (c *Cuckoo) Dump(iterator int64) (next int64, data []byte, at LSN, err error) {
	c.mu.Lock() // no fingerprint may be on its way
	defer c.mu.Unlock()
	f := c.now.Load()
	next, data = served(f).ScanDump(nil, iterator)
	if hash := f.Hash(); iterator == 0 && next != 0 && c.layout() == LayoutSeen {
		data = append(binary.LittleEndian.AppendUint64([]byte(cuckooMagic), hash.KeyID()), data...)
	}
	return next, data, c.LSN(), nil
}

// LoadCuckoo takes a pair that Dump has returned, here or in Redis. Iterator 1 is for a
// name without a value. maxFilters is that of the new filter.
func (s *Store) LoadCuckoo(name []byte, iterator int64, data []byte, maxFilters int) (LSN, error) {
	v := s.lookup(name)
	if iterator == 1 {
		if v != nil {
			return 0, fmt.Errorf("%w: %q", ErrExists, name)
		}
		return s.loadCuckooHeader(name, data, maxFilters)
	}
	switch c := v.(type) {
	case nil:
		return 0, fmt.Errorf("%w: %q", ErrNotFound, name)
	case *Cuckoo:
		at, err := c.loadChunk(iterator, data, served(c.now.Load()).LoadChunk)
		return at, cuckooError(err)
	}
	return 0, fmt.Errorf("%w: %q is a %s", ErrWrongType, name, v.Type())
}

func (s *Store) loadCuckooHeader(name, header []byte, maxFilters int) (LSN, error) {
	layout := LayoutRedisBloom
	if n := len(cuckooMagic); len(header) >= n+8 && string(header[:n]) == cuckooMagic {
		if id := binary.LittleEndian.Uint64(header[n:]); id != s.hash.KeyID() {
			return 0, fmt.Errorf("%w: the filter's keys are hashed with the secret %016x, and this server has %016x", ErrData, id, s.hash.KeyID())
		}
		layout, header = LayoutSeen, header[n+8:]
	}
	c := s.newCuckoo(maxFilters)
	f, err := cuckooFromHeader(header, bloom.CuckooConfig{Hash: s.hashOf(layout), MaxFilters: maxFilters, Reserve: c.ask})
	return c.enter(c, name, f, cuckooError(err), false, nil)
}

func (c *Cuckoo) capture() (*capture, error) {
	meta := binary.AppendUvarint(nil, uint64(c.maxFilters))
	meta = append(meta, byte(c.Info().Layout))
	return c.captureHeld(served(c.now.Load()).AppendHeader(meta))
}

func (s *Store) loadCuckoo(im *image, contents []byte) (value, error) {
	r := reader{b: im.meta}
	c := s.newCuckoo(int(min(r.uvarint(), 1<<16)))
	layout := Layout(r.byte())
	if r.err != nil {
		return nil, r.err
	}
	var f *bloom.Cuckoo
	var err error
	if contents == nil {
		f, err = cuckooFromHeader(r.b, bloom.CuckooConfig{Hash: s.hashOf(layout)})
	} else {
		f, err = s.decodeCuckoo(contents)
	}
	if err != nil {
		return nil, err
	}
	return c.fill(c, im, f), nil
}

// decodeCuckoo returns the filter that b holds. It does not refer to b.
func (s *Store) decodeCuckoo(b []byte) (*bloom.Cuckoo, error) {
	h, parts, err := frame.Parse(b)
	if err != nil {
		return nil, err
	}
	v, err := fromFrame(h, parts, bloom.LoadOptions{Secret: s.hash.Secret}, nil)
	if err != nil {
		return nil, err
	}
	f, ok := v.(*bloom.Cuckoo)
	if !ok {
		return nil, fmt.Errorf("a %T where a cuckoo filter should be", v)
	}
	return f.Clone()
}

func (c *Cuckoo) renamed() value {
	d := &Cuckoo{maxFilters: c.maxFilters}
	c.moveTo(&d.whole)
	d.set(c.now.Load())
	return d
}

func (c *Cuckoo) replay(op operation, at LSN) error {
	f := c.now.Load()
	// The change was decided when it was logged: it is not refused now.
	served(f).SetReserve(nil)
	served(f).SetMaxFilters(0)
	defer func() {
		c.set(f)
		c.settle()
	}()
	c.made(at)
	r := reader{b: op.body}
	switch op.code {
	case opLoad:
		iterator := r.varint()
		if r.err != nil {
			return r.err
		}
		if err := cuckooError(served(f).LoadChunk(iterator, r.b)); !errors.Is(err, ErrData) {
			return err
		}
		return nil
	case opChange:
		switch code := r.byte(); code {
		case cuckooAdd:
			if h := r.uint64(); r.err == nil {
				return f.AddHash(h)
			}
		case cuckooRemove:
			if h := r.uint64(); r.err == nil {
				f.RemoveHash(h)
			}
		case cuckooCompact:
			f.Compact()
		default:
			return fmt.Errorf("change %d does not exist for cuckoo filters", code)
		}
		return r.end()
	}
	return fmt.Errorf("operation %d does not exist for cuckoo filters", op.code)
}
