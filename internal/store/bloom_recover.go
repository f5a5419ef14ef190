package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

// bloomMeta is a parsed description of appendMeta.
type bloomMeta struct {
	config  BloomConfig
	current int64
	next    uint64
	layers  []layerConfig
	added   []uint64
}

// bytes returns the memory of the layers.
func (m *bloomMeta) bytes() (n uint64) {
	for _, c := range m.layers {
		n = sum(n, c.bytes())
	}
	return n
}

func parseBloomMeta(b []byte) (*bloomMeta, error) {
	r := reader{b: b}
	m := &bloomMeta{config: BloomConfig{Layout: LayoutSeen}}
	m.config.ErrorRate = math.Float64frombits(r.uint64())
	m.config.Capacity = r.uvarint()
	m.config.Expansion = uint32(min(r.uvarint(), math.MaxUint32))
	m.config.Span = time.Duration(r.varint())
	m.config.Generations = int(r.uvarint())
	m.current = r.varint()
	m.next = r.uvarint()
	if m.next > math.MaxInt64 { // no filter comes so far, and the next would be 0
		return nil, fmt.Errorf("a filter whose next layer is %d", m.next)
	}
	n := r.uvarint()
	if r.err == nil && (n > maxLayers || n > uint64(len(r.b))) {
		return nil, fmt.Errorf("a filter of %d layers", n)
	}
	for range n {
		c := r.layerConfig()
		if r.err == nil && c.serial >= m.next {
			return nil, fmt.Errorf("layer %d of a filter whose next is %d", c.serial, m.next)
		}
		m.layers = append(m.layers, c)
		m.added = append(m.added, r.uvarint())
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	if err := m.config.complete(LayoutSeen); err != nil {
		return nil, err
	}
	return m, m.validate()
}

// validate reports layers that no filter can have, which additions and replays rely on.
func (m *bloomMeta) validate() error {
	window := m.config.Span != 0
	if !window && len(m.layers) == 0 {
		return errors.New("a filter without layers")
	}
	var serials map[uint64]bool
	if len(m.layers) > 1 {
		serials = make(map[uint64]bool, len(m.layers))
	}
	for i, c := range m.layers {
		switch {
		case serials[c.serial]:
			return fmt.Errorf("two layers with the number %d", c.serial)
		case !window && c.gen != 0, window && c.gen > m.current:
			return fmt.Errorf("a layer of generation %d in a filter at %d", c.gen, m.current)
		case i > 0 && c.gen < m.layers[i-1].gen:
			return fmt.Errorf("a layer of generation %d after one of %d", c.gen, m.layers[i-1].gen)
		}
		if serials != nil {
			serials[c.serial] = true
		}
	}
	return nil
}

func (s *Store) loadBloom(im *image) (value, error) {
	m, err := parseBloomMeta(im.meta)
	if err != nil {
		return nil, err
	}
	b := newBloom(m.config)
	b.store, b.next = s, m.next
	v, err := s.loadLayers(im, m)
	if err != nil {
		return nil, err
	}
	b.view.Store(v)
	b.memory.Store(v.bytes() + valueOverhead)
	return b, nil
}

func (s *Store) loadLayers(im *image, m *bloomMeta) (*view, error) {
	if len(im.parts) != len(m.layers) {
		return nil, fmt.Errorf("%d arrays for %d layers", len(im.parts), len(m.layers))
	}
	v := &view{current: m.current}
	for i, c := range m.layers {
		l, err := c.make()
		if err != nil {
			return nil, err
		}
		if err := l.fill(s, im.parts[i]); err != nil {
			return nil, err
		}
		l.added.Store(m.added[i])
		if l.large != nil {
			l.large.changed, l.large.fileAt = im.at, im.at
		}
		v.layers = append(v.layers, l)
	}
	slices.Reverse(v.layers)
	return v, nil
}

// fill puts the bits into an empty layer.
func (l *layer) fill(s *Store, p part) error {
	l.loaded = p.state != partEmpty
	switch p.state {
	case partInline:
		defer runtime.KeepAlive(l)
		if bits := l.bits(); copy(bits, p.inline) != len(p.inline) || len(bits) != len(p.inline) {
			return fmt.Errorf("%d bytes for an array of %d", len(p.inline), len(bits))
		}
	case partFile:
		if l.large == nil {
			return fmt.Errorf("a file for an array of %d bytes", l.params.Bytes())
		}
		l.large.file = p.file
		return l.load(&s.files, p.file, l.header(s.hash.KeyID()))
	}
	return nil
}

func (b *Bloom) replay(op operation, at LSN) error {
	r := reader{b: op.body}
	switch op.code {
	case opAdd:
		return b.replayAdd(&r, at)
	case opGrow:
		c := r.layerConfig()
		if err := r.end(); err != nil {
			return err
		}
		l, err := c.make()
		if err != nil {
			return err
		}
		b.add(l, at)
		b.install(b.view.Load())
		return nil
	case opLoad:
		offset := r.uvarint()
		if r.err != nil {
			return r.err
		}
		return b.put(offset, r.b, at)
	case opReplace:
		im, err := parseImage(bytes.Clone(op.body))
		if err != nil {
			return err
		}
		im.at = at
		return b.replayReplace(im)
	case opClear:
		v := &view{current: noTime}
		for len(r.b) > 0 && r.err == nil {
			c := r.layerConfig()
			if r.err != nil {
				break
			}
			l, err := c.make()
			if err != nil {
				return err
			}
			v.layers = append(v.layers, l)
		}
		slices.Reverse(v.layers)
		b.replaceAll(v, at)
		return r.err
	}
	return fmt.Errorf("operation %d does not exist for Bloom filters", op.code)
}

// replayReplace repeats a merge.
func (b *Bloom) replayReplace(im *image) error {
	m, err := parseBloomMeta(im.meta)
	if err != nil {
		return err
	}
	v, err := b.store.loadLayers(im, m)
	if err != nil {
		return err
	}
	b.next = m.next
	b.install(v)
	return nil
}

func (b *Bloom) replayAdd(r *reader, at LSN) error {
	serial := r.uvarint()
	if r.err != nil || len(r.b)%8 != 0 {
		return fmt.Errorf("%d bytes of hashes", len(r.b))
	}
	for _, l := range b.view.Load().layers {
		if l.serial != serial {
			continue
		}
		var hs [512]uint64
		for len(r.b) > 0 {
			n := min(len(hs), len(r.b)/8)
			for i := range n {
				hs[i] = binary.LittleEndian.Uint64(r.b[8*i:])
			}
			r.b = r.b[8*n:]
			l.put(hs[:n], at)
		}
		return nil
	}
	return fmt.Errorf("keys for layer %d, which does not exist", serial)
}
