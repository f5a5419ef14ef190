package bloom

import (
	"encoding"
	"fmt"
	"io"

	"seen/sizing"
)

// View is what every filter of this package can do, and all that [Read] promises.
//
// Calls come in two forms: with keys, which the filter hashes, and with hashes, so that a
// key is hashed once to ask many filters. Hashes must be well mixed: those of a filter's
// own Hash are, sequential integers are not. The batch calls store their answers in
// found, which must be nil or as long as the keys, and return the number of trues.
type View interface {
	Has(key []byte) bool
	HasString(key string) bool
	HasHash(h uint64) bool
	HasKeys(found []bool, keys [][]byte) int
	HasStrings(found []bool, keys []string) int
	HasHashes(found []bool, hs []uint64) int

	Hash() Hash
	Design() Design // reads nothing
	Added() uint64  // calls of Add that returned true; of a Static, its keys
	Stats() Stats   // reads the whole filter
	// Tag and SetTag keep a number for the owner of the filter, such as what its keys
	// are. Files contain it; Union and Equal ignore it.
	Tag() uint64
	SetTag(tag uint64)
	// Rules and SetRules keep what is done to keys before they are added, such as "email",
	// so that those who ask do the same. Files contain it; the filter does not apply it.
	Rules() string
	SetRules(rules string) error

	encoding.BinaryAppender
	io.WriterTo
}

// Set is a View to which keys can be added: every filter but [Static] and [Cuckoo].
//
// Add reports whether the key was certainly not there before. The batch calls do the same
// for each key in order, store the answers in added, which must be nil or as long as the
// keys, and return the number of trues.
type Set interface {
	View
	Add(key []byte) bool
	AddString(key string) bool
	AddHash(h uint64) bool
	AddKeys(added []bool, keys [][]byte) int
	AddStrings(added []bool, keys []string) int
	AddHashes(added []bool, hs []uint64) int
	Clear()
}

// Limited is a Set that may run out of room: [Scalable], [Adaptive] and [Window].
type Limited interface {
	Set
	Err() error // nil, or why keys were not recorded or the error rate rises
}

// Growing is a Limited set whose memory can be limited: [Scalable] and [Adaptive].
type Growing interface {
	Limited
	Capacity() uint64 // distinct keys that there is room for now; 0 while exact
	Bytes() uint64
	// TryAddHash and TryAddHashes are AddHash and AddHashes with [ErrFull] when the filter
	// is full. TryAddHashes returns how many hashes it has dealt with.
	TryAddHash(h uint64) (isNew bool, err error)
	TryAddHashes(added []bool, hs []uint64) (n int, err error)
}

// Remover is a View from which keys can be removed: [Counting] and [Cuckoo]. Remove only
// keys that were added.
type Remover interface {
	View
	Remove(key []byte) bool
	RemoveHash(h uint64) bool
}

var (
	_ = []Set{(*Filter)(nil), (*Classic)(nil), (*Partitioned)(nil), (*Shared)(nil), (*Cascade)(nil)}
	_ = []Limited{(*Window)(nil)}
	_ = []Growing{(*Scalable)(nil), (*Adaptive)(nil)}
	_ = []Remover{(*Counting)(nil), (*Cuckoo)(nil)}
	_ = []View{(*Static)(nil)}
)

// Union adds every key of src to dst, which must be of the same type, as the Union of
// that type does. It fails with [ErrIncompatible] if they are unlike or cannot be united
// without their keys: static and cuckoo filters.
func Union(dst, src View) error {
	switch f := dst.(type) {
	case *Classic:
		return unite(f, src)
	case *Filter:
		return unite(f, src)
	case *Shared:
		return unite(f, src)
	case *Partitioned:
		return unite(f, src)
	case *Counting:
		return unite(f, src)
	case *Scalable:
		return unite(f, src)
	case *Window:
		return unite(f, src)
	case *Cascade:
		return unite(f, src)
	case *Adaptive:
		return unite(f, src)
	}
	return fmt.Errorf("%w: %s filters cannot be united without their keys; build one from the keys of all", ErrIncompatible, dst.Design().Type)
}

func unite[F interface {
	View
	Union(F) error
}](dst F, src View) error {
	f, ok := src.(F)
	if !ok {
		return &IncompatibleError{"types", typeOf(dst), typeOf(src)}
	}
	return dst.Union(f)
}

// typeOf names the type of a filter; unlike its Design it tells a Shared from a Filter.
func typeOf(v View) string {
	if _, ok := v.(*Shared); ok {
		return "shared"
	}
	return v.Design().Type
}

// Design says what a filter was made for.
type Design struct {
	Type      string  // in lower case: "classic", "blocked", ...
	Capacity  uint64  // distinct keys asked for; 0 if none were
	ErrorRate float64 // asked for; 0 if none was
}

// Design says what the filter was made for.
func (a *array) Design() Design { return Design{a.params.Shape.String(), a.capacity, a.rate} }

// Design says what the filter was made for. Its Type is "blocked", that of its file.
func (s *Shared) Design() Design {
	return Design{s.f.params.Shape.String(), s.capacity.Load(), s.f.rate}
}

// Design says what the filter was made for.
func (s *Scalable) Design() Design { return Design{"scalable", s.config.Capacity, s.config.ErrorRate} }

// Design says what the filter was made for.
func (w *Window) Design() Design { return Design{"window", w.config.Capacity, w.config.ErrorRate} }

// Design says what the filter was made for.
func (f *Cascade) Design() Design { return Design{"cascade", f.config.Capacity, f.config.ErrorRate} }

// Design says what the filter was made for.
func (a *Adaptive) Design() Design { return Design{"adaptive", 0, a.config.ErrorRate} }

// Design says what the filter was made for.
func (f *Static) Design() Design { return Design{"static", f.n, f.rate} }

// Design says what the filter was made for.
func (f *Cuckoo) Design() Design { return Design{"cuckoo", f.capacity, 0} }

// Stats describes the state of a filter. To compute it, all arrays are read.
type Stats struct {
	// Type is the filter's type in lower case: "classic", "blocked", ...
	Type string
	// Params is the layout of a filter that is one array; it is zero otherwise.
	Params sizing.Params
	// Bits is m: the number of bits, or of counters or fingerprint slots, in all
	// layers. Probes is k: the bits touched per key, in the layer in use.
	Bits   uint64
	Probes int
	// Layers is the number of arrays.
	Layers int
	// Bytes is the memory of the arrays.
	Bytes uint64
	// Capacity is the number of distinct keys that the arrays are sized for.
	Capacity uint64
	// Added is the number of calls of Add that returned true.
	Added uint64
	// Ones is the number of one bits (of counters that are not zero), Fill the
	// share of them.
	Ones uint64
	Fill float64
	// Cardinality estimates the number of distinct keys that were added, with its standard
	// error; +Inf when all bits are ones. It follows from Ones, by
	// [sizing.Params.Cardinality] and, for a filter that grew, [sizing.Layered]. Unlike
	// Added it counts keys to which Add answered false by mistake. It is exact for an exact
	// Adaptive, a Static, and a Cuckoo, which counts all copies of a key.
	Cardinality sizing.Estimate
	// AskedErrorRate is the rate that was asked for, or 0. ErrorRate is the present rate,
	// by the formula for the estimated cardinality; ErrorRateAtCapacity that at capacity.
	AskedErrorRate      float64
	ErrorRate           float64
	ErrorRateAtCapacity float64
	// Stuck counts the counters of a counting filter that are at their maximum, which no
	// Remove lowers.
	Stuck uint64
	// Exact says that the filter has the 64-bit hash of each key. ExpectedCollisions is then
	// the expected number of pairs of keys with equal hashes.
	Exact              bool
	ExpectedCollisions float64
}
