package redisbloom

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"

	"seen/internal/pages"
)

// shape is what the header of a dump says of a sub-filter, without the number of keys.
type shape struct {
	bytes      uint64 // of the array
	bits       uint64 // 8 * bytes
	errorRate  float64
	bitsPerKey float64
	hashes     uint32
	capacity   uint64
	power      uint8 // when not 0, positions are modulo 2^power instead of bits
}

// link is a sub-filter.
type link struct {
	shape
	modulus uint64
	wrap    uint64 // 2^64 modulo modulus
	// words are the bytes of the array as little-endian numbers: bit i of the filter,
	// which is bit i mod 8 of byte i/8, is bit i mod 64 of word i/64.
	words []uint64
	mem   *pages.Array
	added atomic.Uint64
}

const (
	tighten = 0.5
	// The numbers as RedisBloom has them, cut after 15 digits.
	ln2        = 0.693147180559945
	ln2Squared = 0.480453013918201

	// maxBytes limits all arrays of a filter together to 32 TiB, or to the address space
	// of a 32-bit system.
	maxBytes = min(math.MaxInt/2, 1<<45)
	// maxLinks is far above the 1075 sub-filters after which the error rate has
	// been halved to nothing.
	maxLinks = 4096
	// maxHashes is the number of probes that the least positive error rate needs.
	maxHashes = 1075
	// overhead is the memory of a filter, and again of each of its sub-filters,
	// beside the array.
	overhead = 192
)

// newShape returns the shape of a sub-filter for a number of keys.
func newShape(capacity uint64, errorRate float64, options uint32) (shape, error) {
	s := shape{errorRate: errorRate, capacity: capacity}
	s.bitsPerKey = -math.Log(errorRate) / ln2Squared
	s.hashes = uint32(math.Ceil(ln2 * s.bitsPerKey))
	bits := math.Trunc(float64(capacity) * s.bitsPerKey)
	if bits > maxBytes*8 {
		return s, fmt.Errorf("%d keys at an error rate of %v take %.3g bytes, more than the limit of %d", capacity, errorRate, bits/8, uint64(maxBytes))
	}
	s.bits = max(1, uint64(bits))
	if options&noRound == 0 {
		// The least power of two above; the room is used for more keys.
		for s.power = 1; 1<<s.power <= s.bits; s.power++ {
		}
		s.capacity += uint64((float64(uint64(1)<<s.power) - float64(capacity)*s.bitsPerKey) / s.bitsPerKey)
		s.bits = 1 << s.power
	}
	s.bytes = (s.bits + 63) / 64 * 8
	s.bits = s.bytes * 8
	return s, nil
}

// next returns the shape of the sub-filter after one of shape s.
func (s *shape) next(expansion, options uint32) (shape, error) {
	if expansion == 0 || s.capacity == 0 {
		return shape{}, fmt.Errorf("a sub-filter for %d times %d keys holds none", s.capacity, expansion)
	}
	if s.capacity > math.MaxUint64/uint64(expansion) {
		return shape{}, fmt.Errorf("a sub-filter for %d times %d keys is beyond 64 bits", s.capacity, expansion)
	}
	rate := s.errorRate * tighten
	if rate == 0 {
		return shape{}, errors.New("the error rate of the next sub-filter is 0")
	}
	return newShape(s.capacity*uint64(expansion), rate, options)
}

// check says what is wrong with a shape that was read, "" if nothing is.
func (s *shape) check() string {
	switch {
	case !(s.errorRate > 0 && s.errorRate < 1):
		return fmt.Sprintf("error rate %v", s.errorRate)
	case s.bits == 0 || s.bits%8 != 0 || s.bits/8 != s.bytes:
		return fmt.Sprintf("%d bits in %d bytes", s.bits, s.bytes)
	case s.bytes > maxBytes:
		return fmt.Sprintf("%d bytes, more than the limit of %d", s.bytes, uint64(maxBytes))
	case s.power > 63 || s.power != 0 && s.bits>>s.power == 0:
		return fmt.Sprintf("2^%d bits in use of %d", s.power, s.bits)
	case s.hashes == 0 || s.hashes > maxHashes || float64(s.hashes) != math.Ceil(ln2*s.bitsPerKey):
		return fmt.Sprintf("%d hashes for %v bits per key", s.hashes, s.bitsPerKey)
	}
	return ""
}

// memory is what a sub-filter of this shape takes.
func (s *shape) memory() uint64 { return s.bytes + overhead }

// link makes an empty sub-filter.
func (s shape) link() (*link, error) {
	mem, err := pages.New((s.bytes + 7) / 8)
	if err != nil {
		return nil, err
	}
	l := s.bare()
	l.mem, l.words = mem, mem.Words()
	return l, nil
}

// bare makes a sub-filter without an array, which knows the positions of keys.
func (s shape) bare() *link {
	l := &link{shape: s, modulus: s.bits}
	if s.power != 0 {
		l.modulus = 1 << s.power
	}
	l.wrap = (math.MaxUint64%l.modulus + 1) % l.modulus
	return l
}

// probe walks over the positions of a key. The definition takes a remainder of 64
// bits for each; but a sum's remainder follows from those of its terms, so that two
// divisions are enough for any number of positions.
type probe struct {
	x, step  uint64 // the sum A + i*B, and B
	at, rest uint64 // both modulo the length
}

func (l *link) probe(h Hash) probe {
	return probe{h.A, h.B, h.A % l.modulus, h.B % l.modulus}
}

// advance returns p at the next position. Both remainders are below the modulus, which is
// at most 2^63, so that their sum does not overflow. It has no branches, which the
// processor could not predict.
func (l *link) advance(p probe) probe {
	x, lost := bits.Add64(p.x, p.step, 0)
	at, below := bits.Sub64(p.at+p.rest, l.modulus, 0)
	at += l.modulus & -below
	at, below = bits.Sub64(at, l.wrap&-lost, 0) // the sum may have lost 2^64
	at += l.modulus & -below
	return probe{x, p.step, at, p.rest}
}

// has reports whether all bits of a key are set. The caller keeps l alive.
func (l *link) has(p probe) bool {
	for range l.hashes {
		if atomic.LoadUint64(&l.words[p.at/64])>>(p.at%64)&1 == 0 {
			return false
		}
		p = l.advance(p)
	}
	return true
}

// set sets all bits of a key. The caller keeps l alive.
func (l *link) set(h Hash) {
	p := l.probe(h)
	for range l.hashes {
		atomic.OrUint64(&l.words[p.at/64], 1<<(p.at%64))
		p = l.advance(p)
	}
}

// Has reports whether key may have been added. It does not allocate.
func (f *Filter) Has(key []byte) bool { return f.HasHash(f.Hash(key)) }

// HasHash is Has for a key whose hash is h.
func (f *Filter) HasHash(h Hash) bool {
	links := f.chain()
	found := false
	for i := len(links) - 1; i >= 0 && !found; i-- {
		found = links[i].has(links[i].probe(h))
	}
	runtime.KeepAlive(links)
	return found
}

// batchKeys is the number of keys whose words are fetched together.
const batchKeys = 64

// HasHashes does HasHash for each of hs, stores the answers in found, which must be
// as long as hs, and returns the number of trues. In a filter larger than the caches
// absent keys take a fifth less time than with single calls.
func (f *Filter) HasHashes(found []bool, hs []Hash) int {
	links := f.chain()
	n := 0
	for at := 0; at < len(hs); at += batchKeys {
		m := min(batchKeys, len(hs)-at)
		n += hasBatch(links, found[at:at+m], hs[at:at+m])
	}
	runtime.KeepAlive(links)
	return n
}

// hasBatch is HasHashes for one batch. Each sub-filter is asked for the first bit of
// every key, and then for the other bits of the keys that have it; the processor predicts
// those to be set and runs ahead. The sets of keys are the bits of a word, so no address
// depends on a bit that was read: otherwise the reads would wait for each other.
func hasBatch(links []*link, found []bool, hs []Hash) int {
	var probes [batchKeys]probe
	open := ^uint64(0) >> (batchKeys - len(hs)) // keys that are not found yet
	for j := len(links) - 1; j >= 0 && open != 0; j-- {
		l := links[j]
		for i, h := range hs {
			probes[i] = l.probe(h)
		}
		left := uint64(0) // those with the first bit
		for rest := open; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(rest)
			p := &probes[i%batchKeys] // a copy of all of it would wait for the stores above
			left |= atomic.LoadUint64(&l.words[p.at/64]) >> (p.at % 64) & 1 << i
		}
		for ; left != 0; left &= left - 1 {
			i := bits.TrailingZeros64(left)
			p := &probes[i%batchKeys]
			if l.has(probe{p.x, p.step, p.at, p.rest}) {
				open &^= 1 << i
			}
		}
	}
	for i := range hs {
		found[i] = open>>i&1 == 0
	}
	return len(hs) - bits.OnesCount64(open)
}
