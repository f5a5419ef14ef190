package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"seen/sketch"
)

// CountMin is a count-min sketch with counters of 32 bits that stop at the largest
// value. Questions take no lock; changes are made one after another.
type CountMin struct {
	held[sketch.CountMin32, *sketch.CountMin32]
}

// CountMinConfig says how large a count-min sketch is.
type CountMinConfig struct {
	Width  uint64 // counters of a row
	Depth  int    // rows
	Layout Layout // LayoutSeen or LayoutRedisBloom
}

// CreateCountMin makes a count-min sketch under a name that has no value. The error is
// ErrExists if it has one, and ErrMemory if there is too little memory.
func (s *Store) CreateCountMin(name []byte, c CountMinConfig) (*CountMin, LSN, error) {
	if s.lookup(name) != nil {
		return nil, 0, fmt.Errorf("%w: %q", ErrExists, name)
	}
	v := s.newCountMin(s.ofLayout(c.Layout, kindCountMin, kindRedisCountMin))
	k, err := sketch.NewCountMin32(sketch.CountMin32Config{
		Width: c.Width, Depth: c.Depth, Hash: s.hash, RedisBloom: v.kind == kindRedisCountMin, Reserve: v.ask,
	})
	at, err := v.enter(v, name, k, err, false, nil)
	return v, at, err
}

// ofLayout returns the one of two kinds that a value of a layout is of.
func (s *Store) ofLayout(l Layout, own, redis kind) kind {
	if l == DefaultLayout {
		l = s.Layout()
	}
	if l == LayoutRedisBloom {
		return redis
	}
	return own
}

func (s *Store) newCountMin(k kind) *CountMin {
	c := new(CountMin)
	c.start(s, k)
	return c
}

func (c *CountMin) set(k *sketch.CountMin32) { c.now.Store(k) }

// Width returns the number of counters of a row.
func (c *CountMin) Width() uint64 { return c.now.Load().Width() }

// Depth returns the number of rows.
func (c *CountMin) Depth() int { return c.now.Load().Depth() }

// Total returns the sum of all that was added.
func (c *CountMin) Total() uint64 { return c.now.Load().Total() }

// Increment adds by[i] to the count of keys[i], in order, and stores the new
// estimates in counts; all three are of one length. An estimate of math.MaxUint32
// says that the counters do not go any higher.
func (c *CountMin) Increment(counts []uint32, keys [][]byte, by []uint64) (LSN, error) {
	if err := c.lock(); err != nil {
		return 0, err
	}
	defer c.mu.Unlock()
	c.traffic.adds.Add(uint64(len(keys)))
	k := c.now.Load()
	l := &c.store.log
	start := l.open(opChange, c.id)
	for i, key := range keys {
		if c.kind == kindRedisCountMin { // its columns do not follow from one hash
			l.buf = appendBytes(l.buf, key)
		} else {
			l.buf = binary.LittleEndian.AppendUint64(l.buf, c.store.hash.Sum(key))
		}
		l.buf = binary.AppendUvarint(l.buf, by[i])
	}
	at := l.close(start)
	c.made(at)
	for i, key := range keys {
		counts[i] = k.Add(key, by[i])
	}
	return at, nil
}

// Count stores the estimates for keys in counts, which is as long, and returns the
// position that they depend on. It takes no lock.
func (c *CountMin) Count(counts []uint32, keys [][]byte) LSN {
	k := c.now.Load()
	for i, key := range keys {
		counts[i] = k.Count(key)
	}
	c.traffic.counted(counts[:len(keys)])
	return c.LSN()
}

// MergeCountMin makes dest the sum of sources, each times its weight; nil weights are all
// 1. dest may be among the sources. The error is ErrUnlike if the sizes differ, and
// ErrOverflow if a counter cannot hold a sum; nothing has changed then. After a crash dest
// is the whole sum or unchanged.
func (s *Store) MergeCountMin(w *Work, dest *CountMin, sources []*CountMin, weights []int64) (LSN, error) {
	// All at one moment; always in the same order, so that two merges cannot wait
	// for each other.
	all := append([]*CountMin{dest}, sources...)
	slices.SortFunc(all, func(a, b *CountMin) int { return cmp.Compare(a.id, b.id) })
	all = slices.Compact(all)
	for i, c := range all[1:] {
		if c.id == all[i].id {
			return 0, ErrGone // one of them was looked up before a change of name
		}
	}
	for _, c := range all {
		if err := c.lock(); err != nil {
			return 0, err
		}
		defer c.mu.Unlock()
	}
	size := dest.now.Load().Bytes()
	if err := s.memory.change(0, size); err != nil { // both are there until the end
		return 0, err
	}
	defer s.memory.force(size, 0)
	var from []*sketch.CountMin32
	for _, c := range sources {
		from = append(from, c.now.Load())
	}
	sum, err := dest.now.Load().Sum(from, weights, w.Step)
	switch {
	case err == nil:
	case errors.Is(err, sketch.ErrOverflow):
		return 0, fmt.Errorf("%w: %w", ErrOverflow, err)
	case errors.Is(err, ErrStopped), errors.Is(err, sketch.ErrIncompatible):
		return 0, err
	default:
		return 0, fmt.Errorf("%w: %w", ErrMemory, err)
	}
	at, err := dest.replaceWith(w, dest.meta(), sum, sum.Bytes())
	if err != nil {
		return 0, err
	}
	dest.now.Store(sum)
	return at, nil
}

func (c *CountMin) meta() []byte {
	k := c.now.Load()
	return binary.AppendUvarint(binary.AppendUvarint(nil, k.Width()), uint64(k.Depth()))
}

func (c *CountMin) capture() (*capture, error) { return c.captureHeld(c.meta()) }

func (s *Store) loadCountMin(im *image, contents []byte) (value, error) {
	var k *sketch.CountMin32
	var err error
	if contents != nil {
		k, err = s.decodeCountMin(im.kind, contents)
	} else {
		r := reader{b: im.meta}
		config := sketch.CountMin32Config{Width: r.uvarint(), Depth: int(r.uvarint()), Hash: s.hash, RedisBloom: im.kind == kindRedisCountMin}
		if err := r.end(); err != nil {
			return nil, err
		}
		k, err = sketch.NewCountMin32(config)
	}
	if err != nil {
		return nil, err
	}
	c := s.newCountMin(im.kind)
	return c.fill(c, im, k), nil
}

func (s *Store) decodeCountMin(of kind, b []byte) (*sketch.CountMin32, error) {
	k, err := sketch.NewCountMin32(sketch.CountMin32Config{Width: 1, Depth: 1, Hash: s.hash})
	if err == nil {
		err = k.UnmarshalBinary(b)
	}
	if err == nil && k.RedisBloom() != (of == kindRedisCountMin) {
		err = errOtherLayout(of)
	}
	return k, err
}

func errOtherLayout(of kind) error {
	return fmt.Errorf("the contents of a value of kind %d have another layout", of)
}

func (c *CountMin) renamed() value {
	d := new(CountMin)
	c.moveTo(&d.whole)
	d.now.Store(c.now.Load())
	return d
}

func (c *CountMin) replay(op operation, at LSN) error {
	switch op.code {
	case opReplace:
		b, err := c.replaced(op, at)
		if err != nil {
			return err
		}
		defer b.release()
		k, err := c.store.decodeCountMin(c.kind, b.bytes)
		if err != nil {
			return err
		}
		c.now.Store(k)
		return nil
	case opChange:
		c.made(at)
		k := c.now.Load()
		r := reader{b: op.body}
		for len(r.b) > 0 {
			if c.kind == kindRedisCountMin {
				if key, n := r.bytes(), r.uvarint(); r.err == nil {
					k.Add(key, n)
				}
			} else if h, n := r.uint64(), r.uvarint(); r.err == nil {
				k.AddHash(h, n)
			}
		}
		return r.err
	}
	return fmt.Errorf("operation %d does not exist for count-min sketches", op.code)
}
