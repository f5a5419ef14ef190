package bloom

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"seen/internal/kernel"
)

// lineLocks are the locks of goroutines that set bits in the same lines of an array: a
// line is written as a whole, so that even other bits of it could get lost. The locks are
// not among the bits, so that these can be mapped from a file.
//
// There are two ways to lock lines:
//
//   - The addition of a key locks the stripes of its lines, one in each region and in the
//     order of the regions, which prevents deadlocks. It also excludes other additions of
//     the same key, so that only one of them answers "new".
//   - Batches and calls about the whole filter lock all lines at once. Such a call sets
//     taken, and then waits until no stripe of the first region is locked. The addition of
//     a key looks at taken after it has locked its first stripe, and unlocks that if taken
//     is set. So at least one of the two sees the other.
//
// The stripes of the first region also count the new keys.
type lineLocks struct {
	stripes   []stripe // of all regions, one region after another; see kernel.Guarded
	perRegion int      // stripes of a region, a power of two
	aloneFrom int      // new keys at a time from which on it is cheaper to lock all lines

	_ [cacheLine]byte // what follows is written all the time

	whole  sync.Mutex    // held by a call that locks all lines
	taken  uint32        // 1 while such a call runs or waits for its locks; changes under whole
	base   atomic.Uint64 // keys that the stripes do not count
	resets atomic.Uint64 // beginnings and ends of changes of the counts other than upwards
	adding atomic.Int32  // batches that are being added now

	_ [cacheLine]byte
}

// cacheLine is the distance of words that do not get into each other's way.
const cacheLine = 64

// stripe locks every so many lines of a region. It is a line of memory of which the
// first word is used: bit 0 is the lock, the bits above it count.
type stripe = kernel.Slots

const (
	lockBit = 1
	oneKey  = 2 // what the word of a stripe counts a key by

	// stripesPerCore makes it unlikely that two cores need the same stripe at a time. More
	// stripes would only take longer to look through.
	stripesPerCore = 32
	maxStripes     = 1 << 12
	// linesPerStripe keeps the stripes of small arrays small beside these.
	linesPerStripe = 8
)

// newLineLocks returns the locks of an array to which so many keys were added.
func newLineLocks(l *kernel.Layout, added uint64) *lineLocks {
	n := max(1, min(l.RegionLines/linesPerStripe, maxStripes, stripesPerCore*uint64(runtime.GOMAXPROCS(0))))
	k := &lineLocks{perRegion: 1 << (bits.Len64(n) - 1)}
	// To look at 32 stripes takes as long as to lock one.
	k.aloneFrom = 8 + k.perRegion/32
	k.stripes = make([]stripe, l.Lines*k.perRegion)
	k.base.Store(added)
	return k
}

// stripe returns the stripe of a line in a region.
func (l *lineLocks) stripe(region int, line uint64) *stripe {
	return &l.stripes[region*l.perRegion+int(line&uint64(l.perRegion-1))]
}

// first returns the stripes of the first region.
func (l *lineLocks) first() []stripe { return l.stripes[:l.perRegion] }

// lock locks s and returns its word as unlock takes it.
func lock(s *stripe) (word uint64) {
	for turn := 0; ; turn++ {
		if w := atomic.LoadUint64(&s[0]); w&lockBit == 0 && atomic.CompareAndSwapUint64(&s[0], w, w|lockBit) {
			return w
		}
		pause(turn)
	}
}

// unlock gives s up, with the word that lock returned or one that counts more keys.
func unlock(s *stripe, word uint64) { kernel.Release(&s[0], word) }

// isLocked reports whether s is locked.
func isLocked(s *stripe) bool { return atomic.LoadUint64(&s[0])&lockBit != 0 }

// pause is called between looks at a lock. A lock is held for nanoseconds, unless its owner
// was interrupted: then pause leaves the processor to other goroutines.
func pause(turn int) {
	const looks, yields = 100, 20
	switch {
	case turn < looks:
	case turn < looks+yields:
		runtime.Gosched()
	default:
		time.Sleep(50 * time.Microsecond)
	}
}

// standInLine unlocks the first stripe of a key because another call locks all lines. It
// returns with that stripe and whole locked; the caller unlocks the stripe first.
func (l *lineLocks) standInLine(first *stripe, word uint64) uint64 {
	unlock(first, word)
	l.whole.Lock()
	return lock(first)
}

// lockAll locks all lines.
func (l *lineLocks) lockAll() {
	l.whole.Lock()
	atomic.StoreUint32(&l.taken, 1)
	first := l.first()
	for i := range first {
		for turn := 0; isLocked(&first[i]); turn++ {
			pause(turn)
		}
	}
}

func (l *lineLocks) unlockAll() {
	atomic.StoreUint32(&l.taken, 0)
	l.whole.Unlock()
}

// count returns the number of keys that were added, as of one moment of the call.
func (l *lineLocks) count() uint64 {
	for turn := 0; ; turn++ {
		before := l.resets.Load()
		n := l.base.Load()
		first := l.first()
		for i := range first {
			n += atomic.LoadUint64(&first[i][0]) / oneKey
		}
		// Counts only rise, so their sum was right at one moment, unless they were set
		// meanwhile.
		if before%2 == 0 && l.resets.Load() == before {
			return n
		}
		pause(turn)
	}
}

// setCount sets the count. The caller must have locked all lines.
func (l *lineLocks) setCount(n uint64) {
	l.resets.Add(1)
	first := l.first()
	for i := range first {
		// The addition of a key may be about to unlock this stripe with the word that it
		// found.
		lock(&first[i])
		unlock(&first[i], 0)
	}
	l.base.Store(n)
	l.resets.Add(1)
}
