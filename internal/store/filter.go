package store

import (
	"fmt"
	"math"
	"time"

	"seen/sizing"
)

// Filter is a Bloom filter of any layout: a *Bloom, a *RedisBloom or a *Foreign.
type Filter interface {
	Value
	// Add adds keys in order and stores in added, which is as long as keys, whether
	// each was new; of equal keys in one call only the first is. It returns how many
	// keys were dealt with, which is all unless there is an error: ErrFull, ErrMemory,
	// ErrGone, ErrReadOnly, ErrDiskFull, ErrFailed. The answers up to done are right then,
	// too. at is the position that the answers depend on.
	Add(added []bool, keys [][]byte) (done int, at LSN, err error)
	// Has stores in found, which is as long as keys, whether each key may have been
	// added, and returns the position that the answers depend on.
	Has(found []bool, keys [][]byte) LSN
	// Layers returns the number of arrays that a question looks at. It costs nothing.
	Layers() int
	// Info describes the filter.
	Info() FilterInfo
	// Dump returns part of the filter in the form that Store.Load takes, as the
	// protocol's SCANDUMP does: iterator 0 gives the header, and each call the
	// iterator for the next; at the end next is 0 and data is empty.
	Dump(iterator int64) (next int64, data []byte, at LSN, err error)
	// Clear forgets all keys.
	Clear() (LSN, error)
}

// BloomConfig says how a Bloom filter is made.
type BloomConfig struct {
	// ErrorRate bounds the error rate of the whole filter, growth included; between
	// 0 and 1, exclusively.
	ErrorRate float64
	// Capacity is the number of keys until the filter grows or is full; of a
	// window, the number of distinct keys in a span.
	Capacity uint64
	// Expansion is the capacity of a layer relative to the one before; 0 means that
	// the filter does not grow.
	Expansion uint32
	// Layout is that of the bits.
	Layout Layout
	// Span, if it is not 0, makes a window: a filter that forgets a key no sooner
	// than that after it was last added, and no later than G/(G-1) spans after, with
	// G Generations. A window is always of LayoutSeen.
	Span time.Duration
	// Generations of a window, 2 to 64; 0 means 8.
	Generations int
}

const (
	defaultGenerations = 8
	maxGenerations     = 64
	// maxSpan leaves room for arithmetic with generations.
	maxSpan = 100 * 365 * 24 * time.Hour
)

// complete checks c and fills in what was left out.
func (c *BloomConfig) complete(layout Layout) error {
	if c.Layout == DefaultLayout {
		c.Layout = layout
	}
	switch {
	case !(c.ErrorRate > 0 && c.ErrorRate < 1):
		return fmt.Errorf("error rate is %v; it must be above 0 and below 1, for example 0.01", c.ErrorRate)
	case c.Capacity == 0:
		return fmt.Errorf("capacity is 0; it must be at least 1")
	case c.Layout > LayoutRedisBloom:
		return fmt.Errorf("unknown layout %v", c.Layout)
	}
	if c.Span == 0 {
		return nil
	}
	c.Layout, c.Expansion = LayoutSeen, sizing.WindowGrowth
	if c.Generations == 0 {
		c.Generations = defaultGenerations
	}
	switch {
	case c.Span < time.Duration(c.Generations) || c.Span > maxSpan:
		return fmt.Errorf("a window cannot span %v; give a span from 1 ms to %v", c.Span, maxSpan)
	case c.Generations < 2 || c.Generations > maxGenerations:
		return fmt.Errorf("a window cannot have %d generations; give 2 to %d", c.Generations, maxGenerations)
	}
	return nil
}

// FilterInfo describes a Bloom filter.
type FilterInfo struct {
	Layout    Layout
	ErrorRate float64 // as asked for
	Capacity  uint64  // of all layers together
	Added     uint64  // keys that were new
	Bytes     uint64  // memory, all included
	Size      uint64  // of the arrays, with some bytes for each as the protocol counts them
	Expansion uint32  // 0: does not grow
	Span      time.Duration
	// Layers are the sub-filters, the oldest first.
	Layers []LayerInfo
	// ErrorRateNow is the error rate with the keys that it has.
	ErrorRateNow float64
	// Fill is the share of ones that the keys make expect, over all layers.
	Fill float64
}

// PastRate reports whether the filter errs more often than was asked for, beyond what
// rounding makes of its layout.
func (i *FilterInfo) PastRate() bool { return sizing.PastRate(i.ErrorRateNow, i.ErrorRate) }

// LayerInfo describes one array of a Bloom filter.
type LayerInfo struct {
	Bytes     uint64 // of the array
	Bits      uint64
	Probes    int
	Capacity  uint64
	Added     uint64
	ErrorRate float64 // that it was made for
	Fill      float64
	Begin     time.Time // of a window: when its generation began; else zero
	// Params is the layout; without bits where it is that of another system.
	Params sizing.Params
}

// sum fills in what follows from the layers. The rate is that of independent
// layers, asked one after another; rates are those of each.
func (i *FilterInfo) sum(rates []float64) {
	no, bits, ones := 0.0, 0.0, 0.0
	i.Size = 32
	for n, l := range i.Layers {
		i.Size += 64 + l.Bytes
		i.Capacity += l.Capacity
		i.Added += l.Added
		bits += float64(l.Bits)
		ones += float64(l.Bits) * l.Fill
		no += math.Log1p(-min(rates[n], 1))
	}
	i.ErrorRateNow = 0 - math.Expm1(no) // a minus sign would make -0 of 0
	if bits > 0 {
		i.Fill = ones / bits
	}
}
