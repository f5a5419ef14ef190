package bloom

import (
	"io"
	"runtime"
	"sync/atomic"

	"seen/internal/frame"
	"seen/internal/kernel"
	"seen/sizing"
)

// Shared is a [Filter] that any number of goroutines may add to and ask at the same time.
//
// If several goroutines add the same new key at once, Add tells exactly one of them that
// it is new. Has never waits. Add of a key that is there does not wait either. Add of a
// new key locks the few lines of its bits; a batch of new keys may lock all lines for less
// than a microsecond. All calls are linearizable: each takes effect at one moment between
// its beginning and its end. A wrong yes may come from the bits of keys whose addition has
// begun.
//
// Calls about the whole filter say which others may run at the same time. UnmarshalBinary
// and ReadFrom must run alone.
//
// In files a Shared is a Filter: Decode and Read return that, [Filter.Share] and
// [Shared.Filter] convert. The zero value is not usable; make one with [NewShared]. A
// Shared must not be copied.
type Shared struct {
	keyed
	f      *Filter
	single kernel.Prepared // the array of f, for single calls at the same time
	quick  kernel.Guarded  // the same with the locks, for additions that do not have to wait
	locks  *lineLocks

	capacity atomic.Uint64 // of f; Union changes it while others read
}

// NewShared returns an empty filter.
func NewShared(c Config) (*Shared, error) {
	f, err := New(c)
	if err != nil {
		return nil, err
	}
	return f.Share(), nil
}

// Share makes a Shared of f. It takes over the memory of f, not a copy: f must not be
// used afterwards.
func (f *Filter) Share() *Shared {
	s := new(Shared)
	s.replace(f)
	return s
}

func (s *Shared) replace(f *Filter) {
	s.f = f
	s.single = f.layout.PrepareAtomic(f.words, f.hash)
	if f.touch != nil {
		s.single = kernel.Via(&announced{f.layout, f.touch, s.single}, f.hash)
	}
	s.locks = newLineLocks(&f.layout, f.added)
	s.quick = f.layout.Guard(f.words, f.hash, s.locks.stripes, s.locks.perRegion, &s.locks.taken)
	if f.touch != nil {
		s.quick = kernel.Guarded{}
	}
	s.bind(f.hash, f.keyID, s)
	s.label = f.label
	s.capacity.Store(f.capacity)
}

// Add adds key and reports whether it is new. True is certain; false is wrong with the
// filter's error rate. It does not allocate and does not keep key.
func (s *Shared) Add(key []byte) bool {
	if o := s.quick.AddKey(key); o != kernel.Busy {
		return o == kernel.New
	}
	return s.addSlowly(s.hash.Sum(key))
}

// AddString is Add for a string, without a copy.
func (s *Shared) AddString(key string) bool {
	if o := s.quick.AddString(key); o != kernel.Busy {
		return o == kernel.New
	}
	return s.addSlowly(s.hash.SumString(key))
}

// Has reports whether key may have been added. No is certain; yes is wrong with
// the filter's error rate. It does not allocate and does not wait.
func (s *Shared) Has(key []byte) bool { return s.single.HasKey(key) }

// HasString is Has for a string, without a copy.
func (s *Shared) HasString(key string) bool { return s.single.HasString(key) }

// HasHash is Has for a key whose hash is h.
func (s *Shared) HasHash(h uint64) bool { return s.single.HasHash(h) }

// AddHash is Add for a key whose hash is h.
func (s *Shared) AddHash(h uint64) bool {
	if o := s.quick.AddHash(h); o != kernel.Busy {
		return o == kernel.New
	}
	return s.addSlowly(h)
}

// addSlowly is AddHash where the assembly cannot do it: another goroutine has a lock, or
// there is no assembly.
func (s *Shared) addSlowly(h uint64) bool { return !s.single.HasHash(h) && s.addNew(h) }

// addNew is AddHash for a key that was absent just now. It locks the lines of the
// key in the order of the regions.
func (s *Shared) addNew(h uint64) bool {
	l := &s.f.layout
	first := s.locks.stripe(0, kernel.Line(h, l.RegionLines))
	word := lock(first)
	waited := atomic.LoadUint32(&s.locks.taken) != 0
	if waited {
		word = s.locks.standInLine(first, word)
	}
	isNew := false
	if l.Lines == 1 {
		isNew = s.single.AddHash(h)
	} else {
		isNew = s.lockMore(h)
	}
	if isNew {
		word += oneKey
	}
	unlock(first, word)
	if waited {
		s.locks.whole.Unlock()
	}
	return isNew
}

// lockMore locks the lines after the first, and sets the bits of the key.
func (s *Shared) lockMore(h uint64) (isNew bool) {
	l := &s.f.layout
	h2 := kernel.Next(h)
	second := s.locks.stripe(1, kernel.Line(h2, l.RegionLines))
	word2 := lock(second)
	if l.Lines == 2 {
		isNew = s.single.AddHash(h)
	} else {
		third := s.locks.stripe(2, kernel.Line(kernel.Next(h2), l.RegionLines))
		word3 := lock(third)
		isNew = s.single.AddHash(h)
		unlock(third, word3)
	}
	unlock(second, word2)
	return isNew
}

// HasHashes is HasKeys for hashes.
func (s *Shared) HasHashes(found []bool, hs []uint64) int {
	checkAnswers(found, len(hs))
	s.f.touchLines(hs)
	n := s.f.layout.HasBatchAtomic(s.f.words, found, hs)
	runtime.KeepAlive(s.f)
	return n
}

// mostAlone is the number of batches up to which each locks all lines. Up to that number,
// batches one after another add more keys than batches at the same time that lock lines.
const mostAlone = 4

// AddHashes is AddKeys for hashes. Other goroutines may add keys between those of one
// call.
func (s *Shared) AddHashes(added []bool, hs []uint64) int {
	checkAnswers(added, len(hs))
	p := getPending()
	defer p.release()
	few := s.locks.adding.Add(1) <= mostAlone
	defer s.locks.adding.Add(-1)
	count := 0
	for at := 0; at < len(hs); at += keyBatch {
		m := min(keyBatch, len(hs)-at)
		count += s.addBatch(p, part(added, at, m), hs[at:at+m], few)
	}
	return count
}

// addBatch adds at most keyBatch hashes; few says that few batches run at this time. It
// looks for all of them first: keys that are there need no lock, and the lines of the
// others are in the cache before they are locked.
func (s *Shared) addBatch(p *pending, added []bool, hs []uint64, few bool) int {
	there := s.HasHashes(p.hit[:len(hs)], hs)
	switch there {
	case 0:
		return s.addAbsent(added, hs, few)
	case len(hs):
		clear(added)
		return 0
	}
	p.startMissed(added, hs)
	count := s.addAbsent(p.hit[:p.n], p.hs[:p.n], few)
	p.answer(p.n)
	return count
}

// addAbsent adds keys that were absent just now.
func (s *Shared) addAbsent(added []bool, hs []uint64, few bool) (count int) {
	if few && len(hs) >= s.locks.aloneFrom {
		s.locks.lockAll()
		count = s.f.layout.AddBatchAtomic(s.f.words, added, hs)
		s.locks.base.Add(uint64(count))
		s.locks.unlockAll()
		runtime.KeepAlive(s.f)
		return count
	}
	for i, h := range hs {
		isNew := s.AddHash(h)
		if added != nil {
			added[i] = isNew
		}
		count += one(isNew)
	}
	return count
}

// still calls do while no key is being added and f has the right count of keys.
func (s *Shared) still(do func(f *Filter)) {
	s.locks.lockAll()
	defer s.locks.unlockAll()
	s.f.added = s.locks.count()
	do(s.f)
	runtime.KeepAlive(s.f)
}

// change is still for a do that changes the count.
func (s *Shared) change(do func(f *Filter)) {
	s.still(func(f *Filter) {
		do(f)
		s.locks.setCount(f.added)
	})
}

// Release returns the memory of the filter to the system at once, instead of when the
// filter is collected. It must not run at the same time as any other call, and the filter
// must not be used afterwards: calls panic.
func (s *Shared) Release() {
	s.single, s.quick = kernel.Prepared{}, kernel.Guarded{}
	s.f.Release()
}

// Params returns the layout of the array.
func (s *Shared) Params() sizing.Params { return s.f.params }

// Added returns the number of calls of Add that returned true, as of one moment of the
// call. It does not wait for additions, and they do not wait for it.
func (s *Shared) Added() uint64 { return s.locks.count() }

// Clear forgets all keys. Keys that are added meanwhile are added before or after; Has may
// find a key that is being forgotten.
func (s *Shared) Clear() {
	s.change(func(f *Filter) {
		for i := range f.all() {
			kernel.Release(&f.words[i], 0) // others read
		}
		f.added = 0
	})
}

// SetTag is [View.SetTag]. It must not run at the same time as any other call.
func (s *Shared) SetTag(tag uint64) {
	s.tag = tag
	s.f.SetTag(tag)
}

// SetRules is [View.SetRules]. It must not run at the same time as any other call.
func (s *Shared) SetRules(rules string) error {
	err := s.f.SetRules(rules)
	s.rules = s.f.rules
	return err
}

// Union adds every key of g to s, as [Classic.Union] does. Other goroutines may add to
// both meanwhile; the union has the keys whose addition to g ended before the call.
func (s *Shared) Union(g *Shared) error {
	if err := s.f.checkAlike(&g.f.array); err != nil {
		return err
	}
	s.change(func(f *Filter) {
		theirs := g.f.all()
		for i := range f.all() {
			atomic.OrUint64(&f.words[i], atomic.LoadUint64(&theirs[i]))
		}
		f.recount()
		f.capacity = max(f.capacity, g.capacity.Load())
		s.capacity.Store(f.capacity)
	})
	runtime.KeepAlive(g.f)
	return nil
}

// Equal reports whether s and g have the same parameters, hash and bits. It means little
// while keys are being added.
func (s *Shared) Equal(g *Shared) bool {
	if s.f.checkAlike(&g.f.array) != nil {
		return false
	}
	equal := true
	s.still(func(f *Filter) {
		theirs := g.f.all()
		for i, w := range f.all() {
			equal = equal && w == atomic.LoadUint64(&theirs[i])
		}
	})
	runtime.KeepAlive(g.f)
	return equal
}

// Clone returns a copy that shares nothing with s. Additions wait until it is made.
func (s *Shared) Clone() *Shared { return s.Filter().Share() }

// Filter returns a copy that is a Filter, with the keys that were added up to one moment.
// Additions wait until it is made.
func (s *Shared) Filter() *Filter {
	var c *Filter
	s.still(func(f *Filter) { c = f.Clone() })
	return c
}

// Stats describes the filter; it reads the whole array, and additions wait for it.
func (s *Shared) Stats() Stats {
	var st Stats
	s.still(func(f *Filter) { st = f.Stats() })
	st.Type = "shared"
	return st
}

// AppendBinary appends the filter, as a Filter, in the format of docs/FORMAT.md to
// b. Additions wait for it.
func (s *Shared) AppendBinary(b []byte) (out []byte, err error) {
	s.still(func(f *Filter) { out, err = f.AppendBinary(b) })
	return out, err
}

// MarshalBinary returns the filter, as a Filter, in the format of docs/FORMAT.md.
// Additions wait for it.
func (s *Shared) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary replaces s by the blocked filter in b. After an error s is unchanged.
// A SipHash filter is read with the secret of s. It must not run at the same time as
// any other call.
func (s *Shared) UnmarshalBinary(b []byte) error { return decodeInto(s, b) }

// WriteTo writes what AppendBinary appends, with little memory of its own. Additions
// wait until w has taken all of it; see [Shared.WriteSnapshot].
func (s *Shared) WriteTo(w io.Writer) (n int64, err error) {
	s.still(func(f *Filter) { n, err = f.WriteTo(w) })
	return n, err
}

// ReadFrom replaces s by the blocked filter in r, which it reads to the end. It must
// not run at the same time as any other call.
func (s *Shared) ReadFrom(r io.Reader) (int64, error) { return readInto(s, r) }

// WriteSnapshot writes the filter to w, as a Filter, while other goroutines go on adding:
// it is WriteTo for a filter in use and a slow w. It needs 64 KiB of memory, and four bytes
// for each 64 KiB that it writes.
//
// The snapshot has all keys whose Add had returned when WriteSnapshot was called, and the
// count of keys of a moment soon after. It may have keys that came later, and keys that
// Clear forgets meanwhile.
func (s *Shared) WriteSnapshot(w io.Writer) (int64, error) {
	var h *frame.Header
	s.still(func(f *Filter) {
		h = f.arrayHeader()
	})
	buffer := make([]uint64, frame.ChunkSize/8)
	n, err := frame.WritePieces(w, h, func(_ int, off, n uint64) []byte {
		if s.f.touch != nil {
			s.f.touch(off, n)
		}
		words := buffer[:n/8]
		for i := range words {
			words[i] = atomic.LoadUint64(&s.f.words[off/8+uint64(i)])
		}
		return frame.Bytes(words)
	})
	runtime.KeepAlive(s.f)
	return n, err
}
