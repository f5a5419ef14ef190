package bloom

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"seen/internal/kernel"
)

// lineLocks keep those apart that set bits in the same lines of an array: a line is
// changed as a whole, so that even other bits of it could get lost. They do not
// stand among the bits, so that these can be mapped from a file.
//
// There are two ways to get hold of lines:
//
//   - A key locks the stripes of its lines, one in each region and in the order of
//     the regions, so that nobody waits in a circle. With all of them it also keeps
//     out whoever adds the same key, so that only one is told that it is new.
//   - Someone alone has all lines at once: batches, and calls about the whole
//     filter. It announces itself in taken, and then waits until no stripe of the
//     first region is locked. A key looks at taken when it has that stripe, and
//     gives it back if somebody has come. Either the one or the other sees the other.
//
// The stripes of the first region also count the keys that were new.
type lineLocks struct {
	stripes   []stripe // of all regions, one region after another; see kernel.Guarded
	perRegion int      // stripes of a region, a power of two
	aloneFrom int      // new keys at a time from which on it is cheaper to lock all lines

	_ [cacheLine]byte // what follows is written all the time

	whole  sync.Mutex    // held by whoever is alone
	taken  uint32        // 1 while somebody is, or is about to be; changes under whole
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

	// stripesPerCore makes it unlikely that two cores that do nothing but add
	// single keys want the same one of the few stripes that are held at a time.
	// More would only take longer to look through.
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

// isLocked reports whether somebody holds s.
func isLocked(s *stripe) bool { return atomic.LoadUint64(&s[0])&lockBit != 0 }

// pause is called between looks at a lock that is held for nanoseconds, unless its
// owner was interrupted: the processor is then needed by others, in the end by that
// owner.
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

// standInLine gives back the first stripe of a key because somebody is alone. It
// returns with that stripe and whole, which the caller unlocks after the stripe:
// those who are alone come one after another, and so does the key.
func (l *lineLocks) standInLine(first *stripe, word uint64) uint64 {
	unlock(first, word)
	l.whole.Lock()
	return lock(first)
}

// lockAll waits until the caller is alone.
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

// count returns the number of keys that were added, as it was at one moment of the
// call.
func (l *lineLocks) count() uint64 {
	for turn := 0; ; turn++ {
		before := l.resets.Load()
		n := l.base.Load()
		first := l.first()
		for i := range first {
			n += atomic.LoadUint64(&first[i][0]) / oneKey
		}
		// The counts only rise, one after another, so that their sum was right when
		// it was reached; unless they were set anew.
		if before%2 == 0 && l.resets.Load() == before {
			return n
		}
		pause(turn)
	}
}

// setCount sets the count. The caller must be alone.
func (l *lineLocks) setCount(n uint64) {
	l.resets.Add(1)
	first := l.first()
	for i := range first {
		// Somebody may be about to see that it came too late, and to store the word
		// that it found.
		lock(&first[i])
		unlock(&first[i], 0)
	}
	l.base.Store(n)
	l.resets.Add(1)
}
