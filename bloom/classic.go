package bloom

import (
	"io"
	"runtime"

	"seen/internal/keyhash"
	"seen/sizing"
)

// Classic is the classic Bloom filter: k probes anywhere in an array of m bits. It takes
// the least memory of the filters that you can add to and merge, and costs up to k cache
// misses for each key. [Filter] costs at most three and is nearly always the better
// choice.
//
// The zero value is not usable; make one with [NewClassic] or read one. Any number of
// goroutines may ask at the same time while none adds. A Classic must not be copied.
type Classic struct{ array }

// NewClassic returns an empty classic filter.
func NewClassic(c Config) (*Classic, error) {
	a, err := newArray(c, sizing.Classic)
	if err != nil {
		return nil, err
	}
	return asClassic(a, c.Hash.key(), c.Hash.KeyID()), nil
}

func asClassic(a array, h keyhash.Hash, keyID uint64) *Classic {
	f := &Classic{a}
	f.bind(h, keyID, f)
	return f
}

// AddHash is Add for a key whose hash is h.
func (f *Classic) AddHash(h uint64) bool {
	zero := uint64(0)
	x := h
	for range f.params.K {
		i := position(x, f.params.M)
		f.touchWord(i / 64)
		w := &f.words[i/64]
		zero |= ^*w >> (i % 64)
		*w |= 1 << (i % 64)
		x = probeStep(x)
	}
	runtime.KeepAlive(f)
	f.added += zero & 1
	return zero&1 != 0
}

// HasHash is Has for a key whose hash is h.
func (f *Classic) HasHash(h uint64) bool {
	x := h
	for range f.params.K {
		i := position(x, f.params.M)
		f.touchWord(i / 64)
		if f.words[i/64]>>(i%64)&1 == 0 {
			return false
		}
		x = probeStep(x)
	}
	runtime.KeepAlive(f)
	return true
}

// Union adds every key of g to f by ORing the bits: f becomes the filter to which all keys
// of both were added. Added becomes an estimate. If parameters or hashes differ, Union
// fails with [ErrIncompatible] and does not change f.
func (f *Classic) Union(g *Classic) error { return f.union(&g.array) }

// LossyAnd keeps in f the bits that g has too. Keys that were added to both stay. The
// result is not the filter of the intersection: it says yes to more keys, at worst to all
// to which both filters said yes by error.
func (f *Classic) LossyAnd(g *Classic) error { return f.lossyAnd(&g.array) }

// Equal reports whether f and g have the same parameters, hash and bits.
func (f *Classic) Equal(g *Classic) bool { return f.equal(&g.array) }

// Clone returns a copy that shares nothing with f.
func (f *Classic) Clone() *Classic { return asClassic(f.clone(), f.hash, f.keyID) }

// UnmarshalBinary replaces f by the classic filter in b. After an error f is unchanged.
// A SipHash filter is read with the secret of f.
func (f *Classic) UnmarshalBinary(b []byte) error { return decodeInto(f, b) }

// ReadFrom replaces f by the classic filter in r, which it reads to the end.
func (f *Classic) ReadFrom(r io.Reader) (int64, error) { return readInto(f, r) }

func (f *Classic) replace(g *Classic) { become(f, g) }
