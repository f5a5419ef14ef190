package store

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync/atomic"

	"seen/bloom"
	"seen/internal/frame"
	"seen/internal/kernel"
	"seen/internal/keyhash"
	"seen/internal/pages"
	"seen/sizing"
)

// layer is one array of a Bloom filter. There may be millions of small ones, so what only
// large ones need is in largeLayer.
type layer struct {
	layerConfig
	words []uint64
	large *largeLayer // of one whose array is longer than maxInline
	added atomic.Uint64

	loaded bool // it has bits of keys that added may not count; guarded by the mutex of the value
}

// largeLayer describes a layer that has files. All fields except mem are guarded by the
// mutex of the value.
type largeLayer struct {
	mem     *pages.Array // what words is a part of; alive as long as the layer
	changed LSN          // the last operation that concerned it
	file    fileRef      // the newest that has the layer
	fileAt  LSN          // operations up to it are in the file
}

// empty reports whether no bit is set; the mutex of the value is held.
func (l *layer) empty() bool { return l.added.Load() == 0 && !l.loaded }

// changedAt notes the position of an operation that concerns the layer.
func (l *layer) changedAt(at LSN) {
	if l.large != nil {
		l.large.changed = at
	}
}

// layerConfig describes a layer. It is logged when the layer is made, so that a later
// version that would choose other parameters repeats the choice of this one.
type layerConfig struct {
	serial uint64 // of the layer within the value, never used twice
	gen    int64  // of a window: the generation, numbered by time
	*shape        // not to be changed
}

// shape is what many layers have in common.
type shape struct {
	index    int // of the layer among those of its generation
	capacity uint64
	rate     float64
	params   sizing.Params
}

// layerOverhead is about the memory that a layer takes in addition to its bits.
const layerOverhead = 128

func (c layerConfig) bytes() uint64 { return sum(c.params.Bytes(), layerOverhead) }

// make makes the empty layer of a store.
func (c layerConfig) make() (*layer, error) {
	l := &layer{layerConfig: c}
	n := c.params.Bytes() / 8
	if c.params.Bytes() <= maxInline {
		l.words = make([]uint64, n)
		return l, nil
	}
	mem, err := pages.New(n)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMemory, err)
	}
	l.words, l.large = mem.Words(), &largeLayer{mem: mem}
	return l, nil
}

// bits returns the memory of the layer; the caller keeps the layer alive. Its words are
// little-endian in memory, too: Open refuses other machines.
func (l *layer) bits() []byte { return frame.Bytes(l.words) }

// layout is that of the bits.
func (c layerConfig) layout() kernel.Layout {
	return kernel.Layout{RegionLines: c.params.RegionLines(), Lines: c.params.Lines, Lanes: c.params.Lanes}
}

// has reports whether all bits of a hash are set.
func (l *layer) has(h uint64) bool { return l.hasAll(nil, []uint64{h}) == 1 }

// hasAll stores in found, which is nil or as long as hs, whether all bits of each hash
// are set, and returns the number of trues. Another goroutine may add.
func (l *layer) hasAll(found []bool, hs []uint64) int {
	n := l.layout().HasBatchAtomic(l.words, found, hs)
	runtime.KeepAlive(l)
	return n
}

// put makes an addition that is logged. The mutex of the value is held.
func (l *layer) put(hs []uint64, at LSN) {
	l.layout().AddBatchAtomic(l.words, nil, hs)
	l.added.Add(uint64(len(hs)))
	l.changedAt(at)
	runtime.KeepAlive(l)
}

// write writes the layer as a file of package bloom, while others add to it: the file
// has all keys that were added before. It takes 64 KiB of memory.
func (l *layer) write(w io.Writer, hash bloom.Hash) error {
	h := l.header(hash.KeyID())
	h.Parts[0].Added = l.added.Load()
	buffer := make([]uint64, frame.ChunkSize/8)
	_, err := frame.WritePieces(w, h, func(_ int, off, n uint64) []byte {
		words := buffer[:n/8]
		for i := range words {
			words[i] = atomic.LoadUint64(&l.words[off/8+uint64(i)])
		}
		return frame.Bytes(words)
	})
	runtime.KeepAlive(l)
	return err
}

// header is that of the file of the layer; keyID is that of the hash's secret.
func (c layerConfig) header(keyID uint64) *frame.Header {
	h := frame.ArrayHeader(c.params, c.capacity, c.rate)
	h.SetHash(keyhash.Hash{Algorithm: keyhash.SipHash}, keyID)
	return h
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
	c := layerConfig{serial: r.uvarint(), gen: r.varint()}
	s := shape{index: int(r.uvarint()), capacity: r.uvarint(), rate: math.Float64frombits(r.uint64())}
	s.params = sizing.Params{Shape: sizing.Blocked, M: r.uvarint(), Lines: int(r.byte()), Lanes: int(r.byte())}
	s.params.K = s.params.Lines * s.params.Lanes
	if r.err == nil {
		r.err = s.validate()
	}
	c.shape = shapes.get(s)
	return c
}

func (c *shape) validate() error {
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
	n := shape{capacity: c.Capacity, rate: c.ErrorRate}
	if c.Span != 0 {
		n.capacity, n.rate = sizing.Generation(c.Capacity, c.ErrorRate, c.Generations)
	}
	if after != nil {
		n.index = after.index + 1
		if n.index >= maxLayers || c.Expansion == 0 {
			return layerConfig{}, fmt.Errorf("%w: it has %d layers of at most %d", ErrFull, n.index, n.index)
		}
		n.capacity = sizing.Growth{Factor: float64(c.Expansion)}.Next(after.capacity)
	}
	if c.Expansion != 0 {
		// The share is rounded before the rate, as in all versions of the store.
		n.rate *= sizing.Growth{ErrorRate: 1}.Rate(n.index)
	}
	var err error
	if n.params, err = layouts.of(n.capacity, n.rate); err != nil {
		if after != nil {
			err = fmt.Errorf("%w: %w", ErrFull, err)
		}
		return layerConfig{}, err
	}
	return layerConfig{serial, gen, shapes.get(n)}, nil
}
