package bloom

import (
	"io"
	"runtime"

	"seen/internal/keyhash"
	"seen/sizing"
)

// Partitioned is a Bloom filter whose array is divided into k slices of m/k bits, with
// one probe in each: the textbook's separate arrays. In small filters its error rate is a
// little above that of a [Classic].
//
// The zero value is not usable; make one with [NewPartitioned] or read one. Any number of
// goroutines may ask at the same time while none adds. A Partitioned must not be copied.
type Partitioned struct {
	array
	slice uint64 // bits in a slice
}

// NewPartitioned returns an empty partitioned filter.
func NewPartitioned(c Config) (*Partitioned, error) {
	a, err := newArray(c, sizing.Partitioned)
	if err != nil {
		return nil, err
	}
	return asPartitioned(a, c.Hash.key(), c.Hash.KeyID()), nil
}

func asPartitioned(a array, h keyhash.Hash, keyID uint64) *Partitioned {
	f := &Partitioned{a, a.params.M / uint64(a.params.K)}
	f.bind(h, keyID, f)
	return f
}

// AddHash is Add for a key whose hash is h.
func (f *Partitioned) AddHash(h uint64) bool {
	zero := uint64(0)
	x := h
	for first := uint64(0); first < f.params.M; first += f.slice {
		i := first + position(x, f.slice)
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
func (f *Partitioned) HasHash(h uint64) bool {
	x := h
	for first := uint64(0); first < f.params.M; first += f.slice {
		i := first + position(x, f.slice)
		f.touchWord(i / 64)
		if f.words[i/64]>>(i%64)&1 == 0 {
			return false
		}
		x = probeStep(x)
	}
	runtime.KeepAlive(f)
	return true
}

// Union adds every key of g to f, as [Classic.Union] does.
func (f *Partitioned) Union(g *Partitioned) error { return f.union(&g.array) }

// LossyAnd keeps in f the bits that g has too; see [Classic.LossyAnd].
func (f *Partitioned) LossyAnd(g *Partitioned) error { return f.lossyAnd(&g.array) }

// Equal reports whether f and g have the same parameters, hash and bits.
func (f *Partitioned) Equal(g *Partitioned) bool { return f.equal(&g.array) }

// Clone returns a copy that shares nothing with f.
func (f *Partitioned) Clone() *Partitioned { return asPartitioned(f.clone(), f.hash, f.keyID) }

// UnmarshalBinary replaces f by the partitioned filter in b. After an error f is
// unchanged. A SipHash filter is read with the secret of f.
func (f *Partitioned) UnmarshalBinary(b []byte) error { return decodeInto(f, b) }

// ReadFrom replaces f by the partitioned filter in r, which it reads to the end.
func (f *Partitioned) ReadFrom(r io.Reader) (int64, error) { return readInto(f, r) }

func (f *Partitioned) replace(g *Partitioned) { become(f, g) }
