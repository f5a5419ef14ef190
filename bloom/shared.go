package bloom

import (
	"io"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"seen/internal/kernel"
	"seen/sizing"
)

// Shared is a [Blocked] filter that any number of goroutines may add to and ask
// at the same time, without a lock of their own.
//
// What Add tells is exact: of several goroutines that add the same unseen key at
// once, exactly one is told that it is new. Has never waits. Add of a key that is
// there does not wait either; of a new one it takes one of thousands of locks for
// some nanoseconds. All calls are linearizable: each takes effect at one moment
// between its beginning and its end. An error, a yes for a key that was never
// added, may come from the bits of keys whose addition has begun.
//
// The calls that concern the whole filter say how they go together with others.
// UnmarshalBinary and ReadFrom must not run at the same time as any other.
//
// In files a Shared is a Blocked: Decode and Read return that, [NewSharedFrom] and
// [Shared.Blocked] convert. The zero value is not usable; make one with
// [NewShared]. A Shared must not be copied.
type Shared struct {
	keyed
	f       *Blocked
	stripes []stripe
	mask    uint64 // len(stripes) - 1, a power of two less one
}

// stripe locks the keys whose hashes have the same low bits. The locks are not
// among the bits of the filter, so that these can be mapped from a file.
type stripe struct {
	sync.Mutex
	added uint64 // keys of this stripe that were new
}

// maxStripes is the largest number of locks. With it, one of 64 cores that do
// nothing but add meets another in less than one of a hundred keys; more of them
// only take room in the caches.
const maxStripes = 1 << 12

// NewShared returns an empty filter.
func NewShared(c Config) (*Shared, error) {
	f, err := NewBlocked(c)
	if err != nil {
		return nil, err
	}
	return NewSharedFrom(f), nil
}

// NewSharedFrom makes a Shared of f. It takes the memory of f over, not a copy of
// it: f must not be used afterwards.
func NewSharedFrom(f *Blocked) *Shared {
	s := new(Shared)
	s.replace(f)
	return s
}

func (s *Shared) replace(f *Blocked) {
	lines := min(f.params.M/sizing.LineBits, maxStripes)
	s.f = f
	s.stripes = make([]stripe, 1<<(bits.Len64(lines)-1))
	s.mask = uint64(len(s.stripes)) - 1
	s.bind(f.hash, f.keyID, s)
	s.tag = f.tag
}

// AddHash is Add for a key whose hash is h.
func (s *Shared) AddHash(h uint64) bool {
	return !s.HasHash(h) && s.addNew(h)
}

// addNew is AddHash for a key that was absent just now. The lock keeps out others
// that add the same key: without it, each of two could be the first to set one of
// the bits, and be told that the key is new. Other keys need not be kept out even
// where they share lines, since bits are set one lane at a time by an atomic OR
// and none is lost. So one lock is enough for all lines of a key. (One for each
// line, and plain stores instead of atomic ones, was measured to be slower.)
func (s *Shared) addNew(h uint64) bool {
	l := &s.stripes[h&s.mask]
	l.Lock()
	isNew := s.f.layout.AddAtomic(s.f.words, h)
	if isNew {
		l.added++
	}
	l.Unlock()
	runtime.KeepAlive(s.f)
	return isNew
}

// HasHash is Has for a key whose hash is h.
func (s *Shared) HasHash(h uint64) bool {
	if s.f.touch != nil {
		s.f.touchLines(h)
	}
	has := s.f.layout.HasAtomic(s.f.words, h)
	runtime.KeepAlive(s.f)
	return has
}

// AddHashes is AddKeys for hashes. The keys are added one after another; other
// goroutines may add theirs in between.
func (s *Shared) AddHashes(added []bool, hs []uint64) int {
	checkAnswers(added, len(hs))
	return s.inChunks(added, hs, func(added []bool, hs []uint64) int { return addEach(s, added, hs) })
}

// HasHashes is HasKeys for hashes.
func (s *Shared) HasHashes(found []bool, hs []uint64) int {
	checkAnswers(found, len(hs))
	return s.inChunks(found, hs, func(found []bool, hs []uint64) int { return hasEach(s, found, hs) })
}

// inChunks brings the lines of some hashes into the cache together before it calls
// do for them.
func (s *Shared) inChunks(answers []bool, hs []uint64, do func([]bool, []uint64) int) int {
	n := 0
	for at := 0; at < len(hs); at += kernel.BatchLines {
		m := min(kernel.BatchLines, len(hs)-at)
		chunk := hs[at : at+m]
		if s.f.touch == nil {
			s.f.layout.TouchAtomic(s.f.words, chunk)
			runtime.KeepAlive(s.f)
		}
		n += do(part(answers, at, m), chunk)
	}
	return n
}

// still calls do while no key is being added, and with the count of those that
// were.
func (s *Shared) still(do func(f *Blocked)) {
	for i := range s.stripes {
		s.stripes[i].Lock()
		s.f.added += s.stripes[i].added
		s.stripes[i].added = 0
	}
	s.f.tag = s.tag
	defer func() {
		for i := range s.stripes {
			s.stripes[i].Unlock()
		}
		runtime.KeepAlive(s.f)
	}()
	do(s.f)
}

// Release returns the memory of the filter to the system at once, rather than when
// the filter is collected. It must not run at the same time as any other call, and
// the filter must not be used any more: calls panic.
func (s *Shared) Release() { s.f.Release() }

// Params returns the layout of the array.
func (s *Shared) Params() sizing.Params { return s.f.params }

// Added returns the number of calls of Add that returned true. While others add,
// calls that have not returned yet may count or not.
func (s *Shared) Added() uint64 {
	var n uint64
	s.still(func(f *Blocked) { n = f.added })
	return n
}

// Clear forgets all keys. Keys that others add meanwhile are added before or
// after; Has may find a key that is being forgotten.
func (s *Shared) Clear() {
	s.still(func(f *Blocked) {
		for i := range f.all() {
			atomic.StoreUint64(&f.words[i], 0)
		}
		f.added = 0
	})
}

// Union adds every key of g to s, as [Filter.Union] does. Others may add to s and
// to g meanwhile; the keys whose addition to g has ended before are in the union.
func (s *Shared) Union(g *Shared) error {
	if err := s.f.checkAlike(&g.f.array); err != nil {
		return err
	}
	var capacity uint64 // not within the other still: two unions could wait for each other
	g.still(func(f *Blocked) { capacity = f.capacity })
	s.still(func(f *Blocked) {
		theirs := g.f.all()
		for i := range f.all() {
			atomic.OrUint64(&f.words[i], atomic.LoadUint64(&theirs[i]))
		}
		f.recount()
		f.capacity = max(f.capacity, capacity)
	})
	runtime.KeepAlive(g.f)
	return nil
}

// Equal reports whether s and g have the same parameters, hash and bits. While
// others add it means little.
func (s *Shared) Equal(g *Shared) bool {
	if s.f.checkAlike(&g.f.array) != nil {
		return false
	}
	equal := true
	s.still(func(f *Blocked) {
		theirs := g.f.all()
		for i, w := range f.all() {
			equal = equal && w == atomic.LoadUint64(&theirs[i])
		}
	})
	runtime.KeepAlive(g.f)
	return equal
}

// Clone returns a copy that shares nothing with s. Adding waits for it to be made.
func (s *Shared) Clone() *Shared { return NewSharedFrom(s.Blocked()) }

// Blocked returns a copy as a filter of that type, with the keys that were added
// up to one moment. Adding waits for it to be made. It is the way to write a filter
// to a slow device while it goes on being used.
func (s *Shared) Blocked() *Blocked {
	var c *Blocked
	s.still(func(f *Blocked) { c = f.Clone() })
	return c
}

// Stats describes the filter; it reads the whole array, and adding waits for it.
func (s *Shared) Stats() Stats {
	var st Stats
	s.still(func(f *Blocked) { st = f.Stats() })
	st.Type = "shared"
	return st
}

// AppendBinary appends the filter, as a Blocked, in the format of docs/FORMAT.md to
// b. Adding waits for it.
func (s *Shared) AppendBinary(b []byte) (out []byte, err error) {
	s.still(func(f *Blocked) { out, err = f.AppendBinary(b) })
	return out, err
}

// MarshalBinary returns the filter, as a Blocked, in the format of docs/FORMAT.md.
// Adding waits for it.
func (s *Shared) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary replaces s by the blocked filter that b holds, or leaves s as it
// is and returns an error. See [Decode] about secrets. It must not run at the same
// time as any other call.
func (s *Shared) UnmarshalBinary(b []byte) error { return decodeInto(s, b) }

// WriteTo writes what AppendBinary appends, with little memory of its own. Adding
// waits until w has taken all of it; see [Shared.Blocked].
func (s *Shared) WriteTo(w io.Writer) (n int64, err error) {
	s.still(func(f *Blocked) { n, err = f.WriteTo(w) })
	return n, err
}

// ReadFrom replaces s by the blocked filter that r holds, to r's end. It must not
// run at the same time as any other call.
func (s *Shared) ReadFrom(r io.Reader) (int64, error) { return readInto(s, r) }
