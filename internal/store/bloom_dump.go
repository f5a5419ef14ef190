package store

import (
	"encoding/binary"
	"runtime"
	"slices"
	"sync/atomic"
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
