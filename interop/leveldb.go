package interop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"
)

// levelDB is a filter as the built-in Bloom filter policy of LevelDB makes it
// (leveldb.BuiltinBloomFilter2), and stores that are compatible with it.
//
// It is an array of bits, bit i being bit i mod 8 of byte i/8, and a last byte with the
// number of probes. LevelDB's hash of the key with the seed bc9f1d34 is the first
// position, modulo the number of bits; the hash turned right by 17 bits is added, modulo
// 2^32, for each further one. More than 30 probes are a reserved number: LevelDB then
// says that every key may be there.
//
// See plain for what goroutines may do.
type levelDB struct{ plain[levelScheme] }

const (
	leveldbSeed = 0xbc9f1d34
	// leveldbMaxProbes is the most probes; larger numbers are reserved.
	leveldbMaxProbes = 30
)

// levelScheme is how LevelDB maps a key to positions.
type levelScheme struct{ m, k uint64 }

func (s levelScheme) positions(dst []uint64, key []byte) ([]uint64, error) {
	if s.k > leveldbMaxProbes {
		return dst, nil
	}
	h := leveldbHash(key, leveldbSeed)
	delta := bits.RotateLeft32(h, -17)
	for range s.k {
		dst = append(dst, uint64(h)%s.m)
		h += delta
	}
	return dst, nil
}

// leveldbHash is LevelDB's hash of 32 bits.
func leveldbHash(b []byte, seed uint32) uint32 {
	const m = 0xc6a4a793
	h := seed ^ uint32(len(b))*m
	for ; len(b) >= 4; b = b[4:] {
		h = (h + binary.LittleEndian.Uint32(b)) * m
		h ^= h >> 16
	}
	if len(b) > 0 {
		var tail [4]byte
		copy(tail[:], b)
		h = (h + binary.LittleEndian.Uint32(tail[:])) * m
		h ^= h >> 24
	}
	return h
}

// parts: a turn by 17 bits is a product with 2^15 modulo 2^32-1, so h and i deltas make
// h(1+2^15 i) modulo 3, 5 and 17, the divisors of 2^32-1 that matter here, before the sum
// is cut to 32 bits. Where 1+2^15 i is 0 modulo a divisor, the position is -w modulo it,
// w being how often 2^32 was cut off: 0 or i with a chance of 1/2i each, and each number
// between with 1/i. This has an effect if the divisor also divides the number of bits.
func (s levelScheme) parts() []bitPart {
	if s.k > leveldbMaxProbes {
		return nil
	}
	common := uint64(1)
	var divisors []uint64
	for _, d := range []uint64{3, 5, 17} {
		if s.m%d == 0 {
			divisors = append(divisors, d)
			common *= d
		}
	}
	if common == 1 {
		return nil
	}
	parts := make([]bitPart, common) // by the position modulo common
	for r := range parts {
		parts[r] = bitPart{share: 1 / float64(common), rates: make([]float64, s.k)}
	}
	for i := range s.k {
		decided := uint64(1) // the position modulo this depends on w alone
		for _, d := range divisors {
			if (1+i<<15)%d == 0 {
				decided *= d
			}
		}
		chances := make([]float64, decided)
		if decided == 1 {
			chances[0] = 1
		} else {
			for w := range i + 1 {
				chance := 1 / float64(i)
				if w == 0 || w == i {
					chance /= 2
				}
				chances[(i*decided-w)%decided] += chance
			}
		}
		for r := range parts {
			parts[r].rates[i] = chances[uint64(r)%decided] * float64(decided)
		}
	}
	return parts
}

func (levelScheme) doubt() float64 { return 0 }

func (s levelScheme) size() (m, k uint64) { return s.m, s.k }
func (levelScheme) keyKind() KeyKind      { return KeyBytes }
func (levelScheme) name() string          { return "leveldb" }

func (s levelScheme) params() []Field {
	return []Field{{"bits", strconv.FormatUint(s.m, 10)}, {"probes", strconv.FormatUint(s.k, 10)}}
}

// newLevelDB returns an empty filter of the size that LevelDB gives to so many keys,
// repeated ones included, with so many bits per key.
func newLevelDB(keys, bitsPerKey uint64) (*levelDB, error) {
	high, size := bits.Mul64(keys, bitsPerKey)
	if bitsPerKey == 0 || high != 0 || size > 8*foreignMaxBytes {
		return nil, fmt.Errorf("leveldb: %d keys with %d bits each; give 1 bit or more, and less than %d bytes in all", keys, bitsPerKey, uint64(foreignMaxBytes))
	}
	s := levelScheme{
		m: bytesOf(max(64, size)) * 8,
		k: uint64(min(max(1, math.Trunc(float64(bitsPerKey)*0.69)), leveldbMaxProbes)),
	}
	p, err := newPlain(s, lsbFirst, s.m/8, keys, 0)
	return &levelDB{p}, err
}

// parseLevelDB returns the filter in b. It refers to b. Content does not tell that it is a
// filter.
func parseLevelDB(b []byte, _ Spec) (*levelDB, error) {
	if len(b) < 2 {
		return nil, fmt.Errorf("%d bytes; a filter has 2 or more", len(b))
	}
	body, k := b[:len(b)-1], b[len(b)-1]
	if k == 0 {
		return nil, errors.New("no probes")
	}
	return &levelDB{opened(levelScheme{8 * uint64(len(body)), uint64(k)}, lsbFirst, body)}, nil
}

const leveldbHashName = "LevelDB's hash of 32 bits, double hashing"

func (s levelScheme) describe() Description {
	d := Description{Format: "leveldb", System: "LevelDB filter, leveldb.BuiltinBloomFilter2", Hash: leveldbHashName}
	if s.k > leveldbMaxProbes {
		d.Notes = append(d.Notes, fmt.Sprintf("%d probes are a reserved number: every key may be in the filter", s.k))
	}
	return d
}

// WriteTo writes the filter.
func (f *levelDB) WriteTo(w io.Writer) (int64, error) {
	return f.bits.writeBetween(w, nil, []byte{byte(f.scheme.k)})
}

var leveldbFormat = format{
	name:     "leveldb",
	system:   "LevelDB: a filter, or a table file with filters",
	params:   []param{{name: "bits", meaning: "bits per key; by default what the error rate needs", forWrite: true}},
	verified: "filters, answers and a table of LevelDB 1.23; filters rebuilt byte for byte",
	sign:     "the magic number at the end of a table file",
	detect:   detects("leveldb", Certain, func(b []byte) bool { return tableMagic(b) == leveldbMagic }),
	open:     tableOr(leveldbMagic, parseAs("leveldb table", parseLevelDBTable), parseAs("leveldb", parseLevelDB)),
	create: func(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
		bitsPerKey, err := s.number("bits", 1, 1<<20)
		if err != nil {
			return nil, err
		}
		if bitsPerKey == 0 {
			bitsPerKey = uint64(math.Ceil(-math.Log(errorRate) / (ln2 * ln2)))
		}
		return foreign(newLevelDB(capacity, bitsPerKey))
	},
	clone: copyOf[levelDB],
}
