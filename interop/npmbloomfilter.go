package interop

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"seen/bloom"
)

// npmBloomFilter is a BloomFilter of the npm package bloomfilter, version 1.1.
//
// toJSON makes an object with version (1), m, k and buckets: numbers of 32 bits, of
// which the n-th holds the bits from 32n on, the lowest first. The halves of FNV-1a of
// 64 bits over the UTF-16 code units of a text, each unit mixed in as a whole, are taken
// as signed numbers a and b modulo m. The first probe is a; for each further one, the
// i-th, a becomes a+b and b becomes b+i, both modulo m.
//
// Any number of goroutines may ask while none changes the filter. The hash is public, so
// an attacker can choose keys that collide. The struct must not be copied.
type npmBloomFilter struct{ plain }

// npmBucketScheme is how the package bloomfilter maps a key to positions.
type npmBucketScheme struct{ m, k uint64 }

func (s npmBucketScheme) positions(dst []uint64, key []byte) ([]uint64, error) {
	if !utf8.Valid(key) {
		return nil, errNoText
	}
	h := uint64(pyBasis)
	for c := range runes(key) {
		if high, low := utf16.EncodeRune(c); high != utf8.RuneError {
			h = (h ^ uint64(high)) * pyPrime
			c = low
		}
		h = (h ^ uint64(c)) * pyPrime
	}
	a, b := s.reduce(int32(h>>32)), s.reduce(int32(h))
	for i := range s.k {
		if i != 0 {
			a = (a + b) % s.m
			b = (b + i) % s.m
		}
		dst = append(dst, a)
	}
	return dst, nil
}

// reduce returns v modulo m, not negative.
func (s npmBucketScheme) reduce(v int32) uint64 {
	m := int64(s.m)
	return uint64((int64(v)%m + m) % m)
}

func (s npmBucketScheme) size() (m, k uint64) { return s.m, s.k }
func (npmBucketScheme) keyKind() KeyKind      { return KeyText }

func (s npmBucketScheme) params() []Field {
	return []Field{{"m", strconv.FormatUint(s.m, 10)}, {"k", strconv.FormatUint(s.k, 10)}}
}

// newNPMBloomFilter returns an empty filter of the size that the package gives it.
func newNPMBloomFilter(capacity uint64, errorRate float64) (*npmBloomFilter, error) {
	m := math.Ceil(-float64(capacity) * math.Log2(errorRate) / ln2)
	if err := checkSize(m, capacity, errorRate); err != nil {
		return nil, err
	}
	s := npmBucketScheme{max(1, uint64(math.Ceil(m/32))) * 32, uint64(math.Ceil(ln2 * m / float64(capacity)))}
	b, err := newBitArray(lsbFirst, s.m/8)
	if err != nil {
		return nil, fmt.Errorf("npm-bloomfilter: %w", err)
	}
	return &npmBloomFilter{plain{bits: b, scheme: s, capacity: capacity, rate: errorRate}}, nil
}

// openNPMBloomFilter returns the filter that the JSON b describes. Its bits are decoded
// into memory of at most twice the length of b.
func openNPMBloomFilter(b []byte) (*npmBloomFilter, error) {
	return parseAs("npm-bloomfilter", b, parseNPMBloomFilter)
}

func parseNPMBloomFilter(b []byte) (*npmBloomFilter, error) {
	var doc struct {
		Version *int64
		M, K    *uint64
		Buckets json.RawMessage
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	switch {
	case doc.M == nil || doc.K == nil || len(doc.Buckets) < 2 || doc.Buckets[0] != '[':
		return nil, errors.New("the JSON lacks m, k or a list of buckets")
	case doc.Version == nil:
		return nil, errors.New("the JSON has no version; releases before 1 used several hashes, so build it again from the keys")
	case *doc.Version != 1:
		return nil, fmt.Errorf("version %d; seen reads version 1", *doc.Version)
	case *doc.M == 0 || *doc.M%32 != 0 || *doc.K == 0 || *doc.K > foreignMaxProbes:
		return nil, fmt.Errorf("m = %d bits and k = %d probes; m is a multiple of 32, k is 1 to %d", *doc.M, *doc.K, foreignMaxProbes)
	case *doc.M/32 > uint64(len(doc.Buckets))/2:
		return nil, fmt.Errorf("%d bytes of buckets, but m = %d bits are %d buckets", len(doc.Buckets), *doc.M, *doc.M/32)
	}
	array := make([]byte, 0, *doc.M/8)
	for text := range bytes.SplitSeq(doc.Buckets[1:len(doc.Buckets)-1], []byte(",")) {
		v, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
		if err != nil || v < math.MinInt32 || v > math.MaxUint32 {
			return nil, fmt.Errorf("bucket %d is %q, not a number of 32 bits", len(array)/4, text)
		}
		if len(array) == cap(array) {
			return nil, fmt.Errorf("more buckets than the %d of m = %d bits", *doc.M/32, *doc.M)
		}
		array = binary.LittleEndian.AppendUint32(array, uint32(v))
	}
	if len(array) < cap(array) {
		return nil, fmt.Errorf("%d buckets, but m = %d bits are %d", len(array)/4, *doc.M, *doc.M/32)
	}
	return &npmBloomFilter{plain{bits: bitArray{order: lsbFirst, b: array}, scheme: npmBucketScheme{*doc.M, *doc.K}}}, nil
}

// Union makes f the OR of f and other, which must be a filter of this package with the
// same size and probes.
func (f *npmBloomFilter) Union(other Reader) error {
	o, ok := other.(*npmBloomFilter)
	if !ok {
		return errUnlike(f, other)
	}
	return f.unite(&o.plain)
}

// Clone returns a copy in memory of its own, which can be changed.
func (f *npmBloomFilter) Clone() (*npmBloomFilter, error) {
	g := *f
	return &g, g.bits.detach(0)
}

// Stats describes the filter. It reads all bits.
func (f *npmBloomFilter) Stats() bloom.Stats { return f.stats("npm-bloomfilter") }

// Describe says what the filter is.
func (f *npmBloomFilter) Describe() Description {
	return Description{
		Format: "npm-bloomfilter", System: "npm bloomfilter, toJSON version 1",
		Hash: "FNV-1a of 64 bits over UTF-16 code units, enhanced double hashing",
	}
}

// WriteTo writes the object.
func (f *npmBloomFilter) WriteTo(w io.Writer) (int64, error) {
	defer runtime.KeepAlive(f)
	c := &countingWriter{w: w}
	m, k := f.scheme.size()
	buf := bufio.NewWriter(c)
	fmt.Fprintf(buf, `{"version":1,"m":%d,"k":%d,"buckets":[`, m, k)
	for b := f.bits.b; len(b) > 0; b = b[4:] {
		buf.Write(strconv.AppendUint(buf.AvailableBuffer(), uint64(binary.LittleEndian.Uint32(b)), 10))
		if len(b) > 4 {
			buf.WriteByte(',')
		}
	}
	buf.WriteString("]}")
	err := buf.Flush()
	return c.n, err
}

var npmBloomFilterFormat = format{
	name:     "npm-bloomfilter",
	system:   "npm bloomfilter, toJSON",
	verified: "answers and JSON of bloomfilter 1.1.0, and files rebuilt byte for byte",
	sign:     "JSON with m, k and buckets",
	detect: func(b []byte) (Confidence, Spec, bool) {
		return Certain, Spec{Name: "npm-bloomfilter"}, jsonFilter(b) == "npm-bloomfilter"
	},
	open: func(b []byte, _ Spec) (Foreign, error) { return foreign(openNPMBloomFilter(b)) },
	create: func(_ Spec, capacity uint64, errorRate float64) (Foreign, error) {
		return foreign(newNPMBloomFilter(capacity, errorRate))
	},
	clone: cloneOf[*npmBloomFilter],
}
