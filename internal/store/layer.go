package store

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"

	"seen/bloom"
	"seen/internal/frame"
	"seen/internal/pages"
	"seen/sizing"
)

// layer is one array of a Bloom filter.
type layer struct {
	layerConfig
	f     *bloom.Shared
	mem   *pages.Array // what f lies in, kept alive by the layer
	added atomic.Uint64

	// Guarded by the mutex of the value.
	changed LSN    // the last operation that concerned it
	file    uint64 // the newest file that has the layer, 0 if none has
	fileAt  LSN    // operations up to it are in the file
	loaded  bool   // it has bits of keys that added may not count
}

// empty reports whether no bit is set; the mutex of the value is held.
func (l *layer) empty() bool { return l.added.Load() == 0 && !l.loaded }

// layerConfig describes a layer. It is logged when the layer is made, so that a
// later version that would choose other parameters repeats what this one chose.
type layerConfig struct {
	serial   uint64 // of the layer within the value, never used twice
	gen      int64  // of a window: the generation, numbered by time
	index    int    // of the layer among those of its generation
	capacity uint64
	rate     float64
	params   sizing.Params
}

// layerOverhead is about what a layer takes besides its bits: its locks, of which
// there are at most one for each line, and what describes it.
func layerOverhead(p sizing.Params) uint64 {
	return 1<<10 + 16*min(p.M/sizing.LineBits, 1<<12)
}

func (c layerConfig) bytes() uint64 { return c.params.Bytes() + layerOverhead(c.params) }

// make makes the empty layer of a store.
func (c layerConfig) make(s *Store) (*layer, error) {
	mem, err := pages.New(c.params.Bytes() / 8)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMemory, err)
	}
	l := &layer{layerConfig: c, mem: mem}
	v, err := bloom.FromFrame(c.header(s.hash), [][]byte{l.bits()}, bloom.LoadOptions{Secret: s.hash.Secret}, nil)
	if err != nil {
		return nil, err
	}
	f, ok := v.(*bloom.Blocked)
	if !ok {
		return nil, fmt.Errorf("store: a layer that is a %T", v)
	}
	l.f = bloom.NewSharedFrom(f)
	return l, nil
}

// bits returns the memory of the layer, which must be kept alive meanwhile. The
// words of it are little-endian in memory too; Open sees to that.
func (l *layer) bits() []byte { return frame.Bytes(l.mem.Words()) }

// header is that of the file of the layer.
func (c layerConfig) header(hash bloom.Hash) *frame.Header {
	return &frame.Header{
		Type: frame.TypeBlocked, HashAlgorithm: uint8(hash.Algorithm), HashKeyID: hash.KeyID(),
		Capacity: c.capacity, ErrorRate: c.rate,
		Parts: []frame.Part{{
			Kind: frame.KindBlocked, Lines: uint8(c.params.Lines), Lanes: uint8(c.params.Lanes), K: uint32(c.params.K),
			M: c.params.M, Capacity: c.capacity, ErrorRate: c.rate, Length: c.params.Bytes(),
		}},
	}
}

func (c layerConfig) append(b []byte) []byte {
	b = binary.AppendUvarint(b, c.serial)
	b = binary.AppendVarint(b, c.gen)
	b = binary.AppendUvarint(b, uint64(c.index))
	b = binary.AppendUvarint(b, c.capacity)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c.rate))
	b = binary.AppendUvarint(b, c.params.M)
	return append(b, byte(c.params.Lines), byte(c.params.Lanes))
}

// maxLayers bounds the layers of a filter, and so the cost of a question.
const maxLayers = 1 << 16

func (r *reader) layerConfig() layerConfig {
	c := layerConfig{serial: r.uvarint(), gen: r.varint(), index: int(r.uvarint()), capacity: r.uvarint()}
	c.rate = math.Float64frombits(r.uint64())
	c.params = sizing.Params{Shape: sizing.Blocked, M: r.uvarint(), Lines: int(r.byte()), Lanes: int(r.byte())}
	c.params.K = c.params.Lines * c.params.Lanes
	if r.err == nil {
		r.err = c.validate()
	}
	return c
}

func (c layerConfig) validate() error {
	switch {
	case c.index < 0 || c.index >= maxLayers:
		return fmt.Errorf("layer number %d", c.index)
	case !(c.rate > 0 && c.rate < 1):
		return fmt.Errorf("a layer with error rate %v", c.rate)
	case c.capacity == 0:
		return fmt.Errorf("a layer for no keys")
	}
	return c.params.Validate()
}

// nextLayer describes the layer that follows after others of the same generation,
// or the first one if after is nil.
func (c BloomConfig) nextLayer(serial uint64, gen int64, after *layer) (layerConfig, error) {
	n := layerConfig{serial: serial, gen: gen, capacity: c.Capacity, rate: c.ErrorRate}
	if c.Span != 0 {
		n.capacity = (c.Capacity + uint64(c.Generations) - 2) / uint64(c.Generations-1)
		n.rate /= float64(c.Generations)
	}
	if after != nil {
		n.index = after.index + 1
		if n.index >= maxLayers || c.Expansion == 0 {
			return n, fmt.Errorf("%w: it has %d layers of at most %d", ErrFull, n.index, n.index)
		}
		n.capacity = math.MaxUint64
		if after.capacity <= math.MaxUint64/uint64(c.Expansion) {
			n.capacity = after.capacity * uint64(c.Expansion)
		}
	}
	if c.Expansion != 0 {
		// The rates of all layers sum up to the filter's, as those of bloom.Scalable.
		i := float64(n.index) + 1
		n.rate *= 6 / (math.Pi * math.Pi * i * i)
	}
	var err error
	n.params, err = sizing.For(sizing.Blocked, n.capacity, n.rate)
	if err != nil && after != nil {
		err = fmt.Errorf("%w: %w", ErrFull, err)
	}
	return n, err
}
