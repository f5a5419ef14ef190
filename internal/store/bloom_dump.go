package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"seen/internal/redisbloom"
)

// The dump of a filter of LayoutSeen is a header and the bits of all layers, the
// oldest first, one after another. The header is dumpMagic, the id of the hash's
// secret, since the bits mean nothing with another, and the description of the
// layers that the catalogue has too.
const (
	dumpMagic = "\x89SEEN-BF\x01"
	// dumpChunk is the largest number of bytes of one piece.
	dumpChunk = 16 << 20
)

// Dump implements [Filter]. Keys that are added between two calls may be in the
// dump or not.
func (b *Bloom) Dump(iterator int64) (next int64, data []byte, at LSN, err error) {
	if b.hidden != nil { // the bits have keys that may not be shown
		return 0, nil, 0, b.store.log.writable()
	}
	v := b.view.Load()
	if iterator == 0 {
		b.mu.Lock()
		defer b.mu.Unlock()
		data = append(data, dumpMagic...)
		data = binary.LittleEndian.AppendUint64(data, b.store.hash.KeyID())
		return 1, b.appendMeta(data, b.view.Load(), b.next), b.LSN(), nil
	}
	offset := uint64(iterator - 1)
	for _, l := range slices.Backward(v.layers) {
		size := l.params.Bytes()
		if iterator > 0 && offset < size {
			n := min(size-offset, dumpChunk)
			data = l.read(offset, n)
			return iterator + int64(n), data, b.LSN(), nil
		}
		offset -= min(offset, size)
	}
	return 0, nil, b.LSN(), nil
}

// read returns n bytes of the array, while others may add to it.
func (l *layer) read(offset, n uint64) []byte {
	data := make([]byte, 0, n+16)
	for at := offset / 8; at*8 < offset+n; at++ {
		data = binary.LittleEndian.AppendUint64(data, atomic.LoadUint64(&l.words[at]))
	}
	runtime.KeepAlive(l)
	skip := offset % 8
	return data[skip : skip+n]
}

// LoadBloom takes a pair that Dump has returned, here or in Redis, as the protocol's
// LOADCHUNK does. Iterator 1 under a name without a value makes the filter that the header
// describes; with another iterator, data is what comes before it in the body. The pieces
// may come in any order.
func (s *Store) LoadBloom(name []byte, iterator int64, data []byte) (LSN, error) {
	v := s.lookup(name)
	if v == nil {
		if iterator != 1 {
			return 0, fmt.Errorf("%w: %q", ErrNotFound, name)
		}
		return s.loadHeader(name, data)
	}
	switch b := v.(type) {
	case *Bloom:
		return b.loadChunk(iterator, data)
	case *RedisBloom:
		at, err := b.loadChunk(iterator, data, b.now.Load().LoadChunk)
		return at, redisError(err)
	case *Foreign:
		return b.LSN(), b.readOnly()
	}
	return 0, fmt.Errorf("%w: %q is a %s", ErrWrongType, name, v.Type())
}

// loadHeader makes the filter that the header of a dump describes, without its bits.
func (s *Store) loadHeader(name, header []byte) (LSN, error) {
	if !bytes.HasPrefix(header, []byte(dumpMagic)) {
		b := s.newRedisBloom()
		f, err := redisbloom.FromHeader(header, b.ask)
		return b.enter(b, name, f, redisError(err), false, nil)
	}
	meta, err := s.parseDumpHeader(header)
	if err != nil {
		return 0, err
	}
	b, err := s.newLoaded(meta)
	if err != nil {
		return 0, err
	}
	return s.create(nil, name, b, false, nil)
}

func (s *Store) parseDumpHeader(header []byte) (*bloomMeta, error) {
	header = header[len(dumpMagic):]
	if len(header) < 8 {
		return nil, fmt.Errorf("%w: the header is cut off", ErrData)
	}
	if id := binary.LittleEndian.Uint64(header); id != s.hash.KeyID() {
		return nil, fmt.Errorf("%w: the filter's keys are hashed with the secret %016x, and this server has %016x; dump it with LAYOUT redisbloom, or give the servers one secret", ErrData, id, s.hash.KeyID())
	}
	meta, err := parseBloomMeta(header[8:])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrData, err)
	}
	if len(meta.layers) == 0 && meta.config.Span == 0 {
		return nil, fmt.Errorf("%w: a filter without layers", ErrData)
	}
	return meta, nil
}

// newLoaded makes the filter that meta describes, with empty layers whose numbers of keys
// are known.
func (s *Store) newLoaded(meta *bloomMeta) (*Bloom, error) {
	b := newBloom(meta.config)
	b.store, b.next = s, meta.next
	release, err := b.resize(meta.bytes())
	if err != nil {
		return nil, err
	}
	v := &view{current: meta.current}
	for i, c := range meta.layers {
		l, err := c.make()
		if err != nil {
			release()
			return nil, err
		}
		l.added.Store(meta.added[i])
		v.layers = append(v.layers, l)
	}
	slices.Reverse(v.layers)
	b.view.Store(v)
	return b, nil
}

// loadChunk adds a piece of the body of a dump.
func (b *Bloom) loadChunk(iterator int64, data []byte) (LSN, error) {
	n := int64(len(data))
	switch { // as RedisBloom tells the two apart
	case iterator <= 0 || iterator < n:
		return 0, fmt.Errorf("%w: a chunk of %d bytes cannot end before iterator %d", ErrData, n, iterator)
	case iterator == n:
		return 0, fmt.Errorf("%w: a chunk of %d bytes before iterator %d begins in the header", ErrOffset, n, iterator)
	}
	if err := b.lock(); err != nil {
		return 0, err
	}
	defer b.mu.Unlock()
	offset := uint64(iterator - n - 1)
	if _, _, err := b.view.Load().place(offset, uint64(n)); err != nil {
		return 0, err
	}
	at := b.store.log.append(opLoad, b.id, append(binary.AppendUvarint(nil, offset), data...))
	b.changed(at)
	return at, b.put(offset, data, at)
}

// place returns the layer that bytes of the body of a dump belong to, and where.
func (v *view) place(offset, n uint64) (*layer, uint64, error) {
	for _, l := range slices.Backward(v.layers) {
		size := l.params.Bytes()
		if offset >= size {
			offset -= size
			continue
		}
		if n > size-offset {
			return nil, 0, fmt.Errorf("%w: %d bytes where a layer has %d left", ErrChunk, n, size-offset)
		}
		return l, offset, nil
	}
	return nil, 0, fmt.Errorf("%w: offset %d is beyond the last layer", ErrOffset, offset)
}

// put sets the bits of a piece of the body of a dump. It clears none.
func (b *Bloom) put(offset uint64, data []byte, at LSN) error {
	l, offset, err := b.view.Load().place(offset, uint64(len(data)))
	if err != nil {
		return err
	}
	l.loaded = true
	l.changedAt(at)
	words := l.words
	for len(data) > 0 {
		var word [8]byte
		n := copy(word[offset%8:], data)
		if bits := binary.LittleEndian.Uint64(word[:]); bits != 0 { // zeros take no memory
			atomic.OrUint64(&words[offset/8], bits)
		}
		offset += uint64(n)
		data = data[n:]
	}
	runtime.KeepAlive(l)
	return nil
}
