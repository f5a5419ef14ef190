package bloom

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"

	"seen/internal/frame"
	"seen/internal/keyhash"
	"seen/sizing"
)

// Static is a filter that is built once from all keys and then only read: a binary fuse
// filter. It takes about 1.13 times the memory of the theoretical minimum, where a Bloom
// filter takes 1.44 times: 9 bits for each key at an error rate of 1/256, 18 at 1/65536, 36
// at 2^-32 (a little more for small sets). A question costs up to three cache misses, which
// do not wait for each other.
//
// There is no Add, because each slot depends on all keys, and no Union: two such arrays
// cannot be combined without the keys. Keep the keys, or a [Filter].
//
// The zero value is not usable; make one with [NewStatic] or a [StaticBuilder], or read
// one. Any number of goroutines may ask at the same time. A Static must not be copied.
type Static struct {
	storedView
	fuse  fuse
	n     uint64  // keys
	rate  float64 // as asked; 0 when the width was
	touch func(off, n uint64)
}

// StaticConfig says how to build a [Static].
type StaticConfig struct {
	// ErrorRate is the highest probability that Has says yes to a key that is not in the
	// filter. There are three sizes of slots, so the rate is the next of 2^-8, 2^-16 and
	// 2^-32, plus n/2^64 for n keys.
	ErrorRate float64
	// Bits, if it is not 0, fixes the bits in a slot: 8, 16 or 32. ErrorRate is
	// then only recorded, and may be 0.
	Bits int
	// Hash is the key hash; the zero value is XXH3 with seed 0.
	Hash Hash
	// Hashes are the hashes of all keys by Hash (or other well mixed ones, if you only ask
	// for hashes), in any order; repetitions do no harm. NewStatic sorts them in place, a
	// StaticBuilder begins with them.
	Hashes []uint64
}

// staticRate is the error rate of n keys in slots of so many bits: the hash of an absent
// key matches by chance, or is equal to that of a key.
func staticRate(n uint64, bits int) float64 {
	if n == 0 {
		return 0
	}
	return math.Ldexp(1, -bits) + hashRate(n)
}

// check returns an error for a configuration that no number of keys can have.
func (c StaticConfig) check() error {
	_, err := c.width(0)
	return err
}

// width returns the bits of a slot for n keys.
func (c StaticConfig) width(n uint64) (int, error) {
	if err := c.Hash.Validate(); err != nil {
		return 0, err
	}
	switch c.Bits {
	case 8, 16, 32:
		if !(c.ErrorRate >= 0 && c.ErrorRate < 1) {
			return 0, fmt.Errorf("error rate %v is outside [0, 1)", c.ErrorRate)
		}
		return c.Bits, nil
	case 0:
	default:
		return 0, fmt.Errorf("static filters have slots of 8, 16 or 32 bits, not of %d", c.Bits)
	}
	if !(c.ErrorRate > 0 && c.ErrorRate < 1) {
		return 0, fmt.Errorf("error rate %v of a static filter is outside (0, 1)", c.ErrorRate)
	}
	for _, bits := range []int{8, 16, 32} {
		if staticRate(max(n, 1), bits) <= c.ErrorRate {
			return bits, nil
		}
	}
	return 0, fmt.Errorf("error rate %v is too low for a static filter; the lowest for %d keys is %.3g: ask for that or use an Adaptive",
		c.ErrorRate, n, staticRate(max(n, 1), 32))
}

// NewStatic builds the filter of the keys whose hashes are c.Hashes.
//
// It takes about 0.2 microseconds for each key and, in addition to the hashes and the
// filter, 25 bytes of memory. It fails if the configuration is impossible or there are more
// keys than a filter can have: about 3.8e9 with 8 bits, 1.9e9 with 16, 0.95e9 with 32.
func NewStatic(c StaticConfig) (*Static, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	slices.Sort(c.Hashes)
	return newStatic(c, slices.Compact(c.Hashes))
}

// newStatic builds the filter of distinct hashes.
func newStatic(c StaticConfig, distinct []uint64) (*Static, error) {
	n := uint64(len(distinct))
	bits, err := c.width(n)
	if err != nil {
		return nil, err
	}
	built, err := buildFuse(distinct, bits)
	if err != nil {
		return nil, err
	}
	return asStatic(&Static{fuse: built, n: n, rate: c.ErrorRate}, c.Hash.key(), c.Hash.KeyID()), nil
}

func asStatic(f *Static, h keyhash.Hash, keyID uint64) *Static {
	f.bindView(h, keyID, f)
	return f
}

// touchSlots announces an access to the slots of h.
func (f *Static) touchSlots(h uint64) {
	size := uint64(f.fuse.bits / 8)
	i0, i1, i2 := f.fuse.find(f.fuse.mix(h))
	f.touch(i0*size, size)
	f.touch(i1*size, size)
	f.touch(i2*size, size)
}

// HasHash is Has for a key whose hash is h.
func (f *Static) HasHash(h uint64) bool {
	if f.touch != nil {
		f.touchSlots(h)
	}
	return f.fuse.residue(h) == 0 && f.n != 0
}

// HasHashes is HasKeys for hashes.
func (f *Static) HasHashes(found []bool, hs []uint64) int {
	checkAnswers(found, len(hs))
	if f.touch != nil {
		return f.lookup.HasHashes(found, hs)
	}
	if f.n == 0 {
		clear(found)
		return 0
	}
	n := 0
	var residues [fuseBatch]uint32
	for at := 0; at < len(hs); at += fuseBatch {
		chunk := hs[at:min(at+fuseBatch, len(hs))]
		f.fuse.residues(&residues, chunk)
		for i := range chunk {
			has := residues[i] == 0
			if found != nil {
				found[at+i] = has
			}
			if has {
				n++
			}
		}
	}
	return n
}

// Added returns the number of distinct keys that the filter was built from.
func (f *Static) Added() uint64 { return f.n }

// BitsPerKey returns the bits of memory that each key takes; +Inf without keys.
func (f *Static) BitsPerKey() float64 { return 8 * float64(len(f.fuse.slots)) / float64(f.n) }

// Equal reports whether f and g have the same array and hash, as filters have that were
// built from the same keys with the same configuration.
func (f *Static) Equal(g *Static) bool {
	return f.checkHash(&g.lookup) == nil && f.n == g.n && f.fuse.seed == g.fuse.seed &&
		f.fuse.segment == g.fuse.segment && f.fuse.bits == g.fuse.bits && bytes.Equal(f.all(), g.all())
}

// all announces an access to the whole array and returns it.
func (f *Static) all() []byte {
	if f.touch != nil {
		f.touch(0, uint64(len(f.fuse.slots)))
	}
	return f.fuse.slots
}

// Stats describes the filter. Bits is the number of slots, of which each key has three;
// Ones is 0.
func (f *Static) Stats() Stats {
	slots := uint64(len(f.fuse.slots) / (f.fuse.bits / 8))
	rate := staticRate(f.n, f.fuse.bits)
	return Stats{
		Type: "static", Bits: slots, Probes: 3, Layers: 1, Bytes: uint64(len(f.fuse.slots)),
		Capacity: f.n, Added: f.n, Fill: float64(f.n) / float64(slots),
		Cardinality:    sizing.Estimate{Value: float64(f.n)},
		AskedErrorRate: f.rate, ErrorRate: rate, ErrorRateAtCapacity: rate,
	}
}

// part describes the array in a file.
func (f *Static) part() frame.Part {
	n := uint64(len(f.fuse.slots))
	return frame.Part{
		Kind: frame.KindFuse, CounterBits: uint8(f.fuse.bits), K: 3, M: n / uint64(f.fuse.bits/8),
		Added: f.n, Capacity: f.n, ErrorRate: f.rate,
		Fields: [4]uint64{f.fuse.seed, f.fuse.segment, f.fuse.segments}, Length: n,
	}
}

func (f *Static) encode() (*frame.Header, [][]byte, error) {
	h := f.header(frame.TypeStatic, f.n, f.rate)
	h.Parts = []frame.Part{f.part()}
	return h, [][]byte{f.all()}, nil
}

// static returns the filter of the frame.
func (l *loader) static() (View, error) {
	if len(l.h.Parts) != 1 {
		return nil, l.bad("%d parts instead of one", len(l.h.Parts))
	}
	p := l.h.Parts[0]
	f := &Static{
		fuse: fuse{seed: p.Fields[0], segment: p.Fields[1], segments: p.Fields[2], bits: int(p.CounterBits), slots: l.parts[0]},
		n:    l.h.Capacity, rate: l.h.ErrorRate,
	}
	if wrong := f.fuse.validate(p.M); wrong != "" {
		return nil, l.bad("%s", wrong)
	}
	if want := f.part(); p != want || f.n > p.M || l.h.Fields != [16]uint64{tagField: l.h.Fields[tagField]} {
		return nil, l.bad("part %+v instead of %+v, or more keys than slots, or fields without meaning", p, want)
	}
	if l.touch != nil {
		f.touch = func(off, n uint64) { l.touch(0, off, n) }
	}
	return asStatic(f, l.hash, l.keyID), nil
}

// UnmarshalBinary replaces f by the static filter in b. After an error f is unchanged.
// A SipHash filter is read with the secret of f.
func (f *Static) UnmarshalBinary(b []byte) error { return decodeInto(f, b) }

// ReadFrom replaces f by the static filter in r, which it reads to the end.
func (f *Static) ReadFrom(r io.Reader) (int64, error) { return readInto(f, r) }

func (f *Static) replace(g *Static) { become(f, g) }
