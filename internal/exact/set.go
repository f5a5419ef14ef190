package exact

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime/debug"

	"seen/bloom"
	"seen/internal/spill"
	"seen/sizing"
)

// Config says what a Set may use.
type Config struct {
	// Memory is the memory of the Set in bytes, at least LeastMemory. Buffers in which
	// records are read back are a few hundred kilobytes more.
	Memory uint64
	// Folder has the files.
	Folder *spill.Folder
	// Places has Doubt keep a second number for each doubt, in eight more bytes.
	Places bool
}

// LeastMemory is the least Config.Memory.
const LeastMemory = 4096

// Records on disk, little-endian. A key has 80 bits in partitions of printed keys, a doubt
// has the position in 48 bits beside the second hash.
const (
	beforeSize  = 8
	printedSize = 10
	doubtSize   = 16
	placedSize  = 24

	positionBits = 48
	// MaxPosition is the largest position of a doubt.
	MaxPosition = 1<<positionBits - 2
)

// Set is described in the package comment.
type Set struct {
	config     Config
	partitions int
	buffers    int // memory of the buffers of one list

	filter *bloom.Filter
	lines  uint64 // of the filter
	recent recent
	lately lately

	before  *spill.Runs // keys from before the Set, 64 bits of each
	printed *spill.Runs // keys that were new, or late in an earlier join
	doubts  *spill.Runs

	keysBefore, keysPrinted, keysDoubted, keysLate uint64
	open                                           uint64 // doubts since the last join
	answers                                        []int32
}

// Parts of the memory: of the buffers of each of two lists, and of the cache.
const (
	bufferShare = 8
	cacheShare  = 8
	latelyShare = 8 // of the cache
)

// filterLanes is the number of bits that a key sets in the filter. Three are the best for 4
// to 8 bits of memory for each key; fewer lose more with more room, and more with less.
const filterLanes = 3

// partitionsFor returns the number of partitions: many make joins that fit the caches of
// the processor, few make large chunks on disk.
func partitionsFor(memory uint64) int {
	switch {
	case memory < 1<<20:
		return 16
	case memory < 128<<20:
		return 64
	default:
		return 128
	}
}

// New returns a Set in which the keys with the hashes that before yields were seen. The
// hashes are written to disk before the memory of the Set is taken, so that before may
// release what it has on the way.
func New(c Config, before iter.Seq[[]uint64]) (*Set, error) {
	if c.Memory < LeastMemory {
		return nil, fmt.Errorf("%d bytes of memory; give at least %d", c.Memory, LeastMemory)
	}
	s := &Set{config: c, partitions: partitionsFor(c.Memory)}
	s.buffers = int(min(c.Memory/bufferShare, uint64(math.MaxInt32)))
	if err := s.begin(before); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Set) begin(before iter.Seq[[]uint64]) (err error) {
	for _, list := range []struct {
		runs   **spill.Runs
		record int
		memory int
	}{
		{&s.before, beforeSize, s.buffers / 4}, // beside what before still has
		{&s.printed, printedSize, s.buffers},
		{&s.doubts, s.doubtSize(), s.buffers},
	} {
		if *list.runs, err = s.list(list.record, list.memory); err != nil {
			return err
		}
	}
	for hs := range before {
		for _, h := range hs {
			slot, err := s.before.Slot(h)
			if err != nil {
				return err
			}
			binary.LittleEndian.PutUint64(slot, h)
			s.keysBefore++
		}
	}
	if err := s.before.Flush(); err != nil {
		return err
	}
	// What before has released must be gone before as much is taken again.
	debug.FreeOSMemory()
	lists := uint64(s.printed.Buffers() + s.doubts.Buffers())
	cache := s.config.Memory / cacheShare
	if s.recent, err = newRecent(cache - cache/latelyShare); err != nil {
		return err
	}
	s.lately = newLately(cache / latelyShare)
	s.lines = max(s.config.Memory-min(cache+lists, s.config.Memory/2), lineBytes) / lineBytes
	s.filter, err = bloom.New(bloom.Config{Params: sizing.Params{
		Shape: sizing.Blocked, M: s.lines * sizing.LineBits, K: filterLanes, Lines: 1, Lanes: filterLanes,
	}})
	if err != nil {
		return err
	}
	return s.fill()
}

// fill adds the keys from before to the filter.
func (s *Set) fill() error {
	var hs []uint64
	for i := range s.partitions {
		for b, err := range s.before.Read(i) {
			if err != nil {
				return err
			}
			hs = hs[:0]
			for ; len(b) >= beforeSize; b = b[beforeSize:] {
				hs = append(hs, binary.LittleEndian.Uint64(b))
			}
			s.filter.AddHashes(nil, hs)
		}
	}
	return nil
}

func (s *Set) doubtSize() int {
	if s.config.Places {
		return placedSize
	}
	return doubtSize
}

func (s *Set) list(record, memory int) (*spill.Runs, error) {
	return spill.NewRuns(s.config.Folder, spill.RunsConfig{Record: record, Partitions: s.partitions, Memory: memory})
}

// Add decides keys, given by two hashes of each, in order. It sets fresh where a key is
// certainly new, and returns the numbers of the keys that are doubts, valid until the next
// call. The caller must call Doubt for each of these. All others were seen before, or
// were doubts before.
//
// A join may come before a call of Doubt that is still to be made.
//
// After an error, which is one of the disk, all that was said before is right, and nothing
// is known of these keys.
func (s *Set) Add(fresh []bool, hashes, seconds []uint64) (doubts []int32, err error) {
	s.filter.AddHashes(fresh, hashes)
	s.answers = s.answers[:0]
	first := min(group, len(hashes))
	s.recent.fetch(fresh[:first], hashes[:first])
	for at := 0; at < len(hashes); at += group {
		end := min(at+group, len(hashes))
		s.recent.advance()
		ahead := min(end+group, len(hashes))
		s.recent.fetch(fresh[end:ahead], hashes[end:ahead])
		if err := s.addGroup(at, fresh[at:end], hashes[at:end], seconds[at:end]); err != nil {
			return nil, err
		}
	}
	return s.answers, nil
}

// addGroup is Add for at most group keys, of which the first has the number at.
func (s *Set) addGroup(at int, fresh []bool, hashes, seconds []uint64) error {
	r := &s.recent
	for i, h := range hashes {
		second := seconds[i]
		if !fresh[i] {
			if s.lately.has(h, second) {
				r.pass()
			} else if !r.use(second) {
				s.answers = append(s.answers, int32(at+i))
			}
			continue
		}
		s.lately.enter(h, second)
		slot, err := s.printed.Slot(h)
		if err != nil {
			return err
		}
		putPrinted(slot, h, second)
		s.keysPrinted++
	}
	return nil
}

func putPrinted(slot []byte, hash, second uint64) {
	_ = slot[printedSize-1]
	binary.LittleEndian.PutUint64(slot, hash)
	binary.LittleEndian.PutUint16(slot[8:], uint16(second))
}

// Doubt notes a key that Add has called a doubt. Positions ascend, and are at most
// MaxPosition. The place is kept if Config.Places says so.
func (s *Set) Doubt(hash, second, position, place uint64) error {
	if position > MaxPosition {
		return fmt.Errorf("position %d is too large; the limit is %d", position, uint64(MaxPosition))
	}
	slot, err := s.doubts.Slot(hash)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(slot, hash)
	binary.LittleEndian.PutUint64(slot[8:], second<<positionBits|position)
	if s.config.Places {
		binary.LittleEndian.PutUint64(slot[16:], place)
	}
	s.keysDoubted++
	s.open++
	return nil
}

// Stats are the numbers of a Set.
type Stats struct {
	Before  uint64 // keys from before the Set
	Printed uint64 // keys that were new at once
	Doubts  uint64 // calls of Doubt
	Open    uint64 // of these, those since the last join
	Late    uint64 // keys that joins have found
	Bytes   uint64 // memory
	Buffers uint64 // memory of records that may not be on disk yet
}

// Stats returns the numbers.
func (s *Set) Stats() Stats {
	st := Stats{Before: s.keysBefore, Printed: s.keysPrinted, Doubts: s.keysDoubted, Open: s.open, Late: s.keysLate}
	st.Buffers = uint64(s.printed.Buffers() + s.doubts.Buffers())
	st.Bytes = st.Buffers + s.recent.bytes() + s.lately.bytes()
	if s.filter != nil {
		st.Bytes += s.lines * lineBytes
	}
	return st
}

// OpenBytes returns the disk space that a join gives back.
func (s *Set) OpenBytes() uint64 { return s.open * uint64(s.doubtSize()) }

// FalseDoubts returns the share of new keys that become doubts.
func (s *Set) FalseDoubts() float64 {
	bits := float64(s.lines * sizing.LineBits)
	return math.Pow(-math.Expm1(-filterLanes*float64(s.Keys())/bits), filterLanes)
}

// Keys returns the number of distinct keys that are known.
func (s *Set) Keys() uint64 { return s.keysBefore + s.keysPrinted + s.keysLate }

// Collisions returns the expected number of keys that were taken for another one: those from
// before have hashes of 64 bits, all others fingerprints of 80.
func (s *Set) Collisions() float64 {
	before, after := float64(s.keysBefore), float64(s.keysPrinted+s.keysLate)
	return math.Ldexp(before*before, -65) + math.Ldexp(before*after, -64) + math.Ldexp(after*after, -81)
}

// release gives up the memory of the filter and of the cache, at the last join.
func (s *Set) release() {
	if s.filter != nil {
		s.filter.Release()
		s.filter = nil
	}
	s.recent.release()
	s.lately = lately{}
}

// Close gives memory and disk space back. It does nothing the second time.
func (s *Set) Close() error {
	s.release()
	var errs []error
	for _, r := range []*spill.Runs{s.before, s.printed, s.doubts} {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	return errors.Join(errs...)
}
