package bloom

import (
	"io"
	"runtime"

	"seen/internal/frame"
	"seen/internal/kernel"
	"seen/internal/keyhash"
	"seen/sizing"
)

// Blocked is a Bloom filter whose probes stand together in one, two or three
// lines of 512 bits, as many as the error rate needs: a key costs at most that
// many cache misses, all independent of each other, and its memory stays within
// 10 % of the classic optimum for error rates from 0.1 to 1e-6. It is the filter
// to use unless something else is needed.
//
// The layout is described in docs/FORMAT.md and in [sizing.Params].
//
// The zero value is not usable; make one with [NewBlocked] or read one. Any
// number of goroutines may ask at the same time, as long as none adds; [Shared]
// is the same filter for concurrent adding. A Blocked must not be copied.
type Blocked struct {
	array
	layout kernel.Layout
	single kernel.Prepared // layout
	plain  bool            // the default hash, no announced access, direct calls of the kernel
}

// NewBlocked returns an empty blocked filter.
func NewBlocked(c Config) (*Blocked, error) {
	a, err := newArray(c, sizing.Blocked)
	if err != nil {
		return nil, err
	}
	return asBlocked(a, c.Hash, c.Hash.KeyID()), nil
}

func asBlocked(a array, h Hash, keyID uint64) *Blocked {
	f := unbound(a)
	f.plain = h == Hash{} && a.touch == nil && kernel.Direct()
	f.bind(h, keyID, f)
	return f
}

// unbound returns the filter in a, for calls with hashes only.
func unbound(a array) *Blocked {
	layout := kernel.Layout{RegionLines: a.params.RegionLines(), Lines: a.params.Lines, Lanes: a.params.Lanes}
	return &Blocked{array: a, layout: layout, single: layout.Prepare()}
}

// touchLines announces an access to the lines of h.
func (f *Blocked) touchLines(h uint64) {
	for j := range uint64(f.layout.Lines) {
		f.touch((j*f.layout.RegionLines*kernel.LineWords+f.layout.Offset(h))*8, kernel.LineWords*8)
		h = kernel.Next(h)
	}
}

// Add adds key and reports whether it was certainly not there before: a false
// means that it was, or that the filter takes it for seen, with the filter's
// error rate. It does not allocate and does not keep key.
func (f *Blocked) Add(key []byte) bool {
	if !f.plain {
		return f.AddHash(f.hash.Sum(key))
	}
	h := uint64(0)
	if keyhash.IsShort(key) {
		h = keyhash.Short(key)
	} else {
		h = keyhash.Default(key)
	}
	isNew := f.single.AddDirect(f.words, h)
	if isNew {
		f.added++
	}
	runtime.KeepAlive(f)
	return isNew
}

// Has reports whether key may have been added. No is certain; yes is wrong with
// the filter's error rate. It does not allocate.
func (f *Blocked) Has(key []byte) bool {
	if !f.plain {
		return f.HasHash(f.hash.Sum(key))
	}
	h := uint64(0)
	if keyhash.IsShort(key) {
		h = keyhash.Short(key)
	} else {
		h = keyhash.Default(key)
	}
	has := f.single.HasDirect(f.words, h)
	runtime.KeepAlive(f)
	return has
}

// AddHash is Add for a key whose hash is h.
func (f *Blocked) AddHash(h uint64) bool {
	if f.touch != nil {
		f.touchLines(h)
	}
	isNew := f.single.Add(f.words, h)
	if isNew {
		f.added++
	}
	runtime.KeepAlive(f)
	return isNew
}

// HasHash is Has for a key whose hash is h.
func (f *Blocked) HasHash(h uint64) bool {
	if f.touch != nil {
		f.touchLines(h)
	}
	has := f.single.Has(f.words, h)
	runtime.KeepAlive(f)
	return has
}

// AddHashes is AddKeys for hashes.
func (f *Blocked) AddHashes(added []bool, hs []uint64) int {
	checkAnswers(added, len(hs))
	if f.touch != nil {
		for _, h := range hs {
			f.touchLines(h)
		}
	}
	n := f.layout.AddBatch(f.words, added, hs)
	f.added += uint64(n)
	runtime.KeepAlive(f)
	return n
}

// HasHashes is HasKeys for hashes.
func (f *Blocked) HasHashes(found []bool, hs []uint64) int {
	checkAnswers(found, len(hs))
	if f.touch != nil {
		for _, h := range hs {
			f.touchLines(h)
		}
	}
	n := f.layout.HasBatch(f.words, found, hs)
	runtime.KeepAlive(f)
	return n
}

// Union adds every key of g to f, as [Filter.Union] does.
func (f *Blocked) Union(g *Blocked) error { return f.union(&g.array) }

// LossyAnd keeps in f the bits that g has too; see [Filter.LossyAnd].
func (f *Blocked) LossyAnd(g *Blocked) error { return f.lossyAnd(&g.array) }

// Equal reports whether f and g have the same parameters, hash and bits.
func (f *Blocked) Equal(g *Blocked) bool { return f.equal(&g.array) }

// Clone returns a copy that shares nothing with f.
func (f *Blocked) Clone() *Blocked { return asBlocked(f.clone(), f.hash, f.keyID) }

// Stats describes the filter; it reads the whole array.
func (f *Blocked) Stats() Stats { return f.stats("blocked") }

func (f *Blocked) encode() (*frame.Header, [][]byte, error) {
	return f.encodeArray(frame.TypeBlocked, frame.KindBlocked)
}

// AppendBinary appends the filter in the format of docs/FORMAT.md to b.
func (f *Blocked) AppendBinary(b []byte) ([]byte, error) { return appendBinary(f, b) }

// MarshalBinary returns the filter in the format of docs/FORMAT.md.
func (f *Blocked) MarshalBinary() ([]byte, error) { return appendBinary(f, nil) }

// UnmarshalBinary replaces f by the blocked filter that b holds, or leaves f as
// it is and returns an error. See [Decode] about secrets.
func (f *Blocked) UnmarshalBinary(b []byte) error { return decodeInto(f, b) }

// WriteTo writes what AppendBinary appends, with little memory of its own.
func (f *Blocked) WriteTo(w io.Writer) (int64, error) { return writeTo(f, w) }

// ReadFrom replaces f by the blocked filter that r holds, to r's end.
func (f *Blocked) ReadFrom(r io.Reader) (int64, error) { return readInto(f, r) }

func (f *Blocked) replace(g *Blocked) {
	f.array, f.layout, f.single, f.plain = g.array, g.layout, g.single, g.plain
	f.bind(g.hash, g.keyID, f)
}
