package store

import (
	"encoding/binary"
	"io"
	"math"
	"slices"

	"seen/bloom"
)

// capture implements value. Layers that have changed since they were last written go into
// files while additions continue: the counts are those of now, and replaying an addition
// that is already in a file changes nothing.
func (b *Bloom) capture() (*capture, error) {
	if b.hidden != nil { // the bits have keys that may not be shown
		return nil, b.store.log.writable()
	}
	return b.captureView(b.view.Load(), b.next), nil
}

// captureView describes the filter as if v were its layers.
func (b *Bloom) captureView(v *view, next uint64) *capture {
	c := &capture{image: b.image(b.appendMeta(nil, v, next))}
	for _, l := range slices.Backward(v.layers) {
		p, write := l.part(b.store.hash)
		c.parts = append(c.parts, p)
		c.write = append(c.write, write)
	}
	c.saved = func(im *image, at LSN) {
		for i, l := range v.layers {
			if p := im.parts[len(v.layers)-1-i]; p.state == partFile {
				l.large.file, l.large.fileAt = p.file, at
			}
		}
	}
	return c
}

// part describes the array of a layer, and how to write it if it needs a file.
func (l *layer) part(hash bloom.Hash) (part, func(io.Writer) error) {
	switch {
	case l.empty():
		return part{state: partEmpty}, nil
	case l.large == nil:
		// It does not change, since the mutex of the value is held.
		return part{state: partInline, inline: slices.Clone(l.bits())}, nil
	case l.large.file.number != 0 && l.large.changed <= l.large.fileAt:
		return part{state: partFile, file: l.large.file}, nil
	}
	return part{}, func(w io.Writer) error { return l.write(w, hash) }
}

// appendMeta appends the description of a filter, without its bits, to m.
func (b *Bloom) appendMeta(m []byte, v *view, next uint64) []byte {
	c := &b.config
	m = binary.LittleEndian.AppendUint64(m, math.Float64bits(c.ErrorRate))
	m = binary.AppendUvarint(m, c.Capacity)
	m = binary.AppendUvarint(m, uint64(c.Expansion))
	m = binary.AppendVarint(m, int64(c.Span))
	m = binary.AppendUvarint(m, uint64(c.Generations))
	m = binary.AppendVarint(m, v.current)
	m = binary.AppendUvarint(m, next)
	m = binary.AppendUvarint(m, uint64(len(v.layers)))
	for _, l := range slices.Backward(v.layers) {
		m = l.layerConfig.append(m)
		m = binary.AppendUvarint(m, l.added.Load())
	}
	return m
}
