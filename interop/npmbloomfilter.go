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
)

// npmBloomFilter is a BloomFilter of the npm package bloomfilter, version 1.1.
//
// toJSON makes an object with version (1), m, k and buckets: numbers of 32 bits, of
// which the n-th holds the bits from 32n on, the lowest first. The halves of FNV-1a of
// 64 bits over the UTF-16 code units of a text, each unit mixed in as a whole, are taken
// as signed numbers a and b modulo m. The first probe is a; for each further one, the
// i-th, a becomes a+b and b becomes b+i, both modulo m.
//
// See plain for what goroutines may do.
type npmBloomFilter struct{ plain[npmBucketScheme] }

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
func (npmBucketScheme) name() string          { return "npm-bloomfilter" }

func (s npmBucketScheme) params() []Field {
	return []Field{{"m", strconv.FormatUint(s.m, 10)}, {"k", strconv.FormatUint(s.k, 10)}}
}

// createNPMBloomFilter returns an empty filter of the size that the package gives it.
func createNPMBloomFilter(_ Spec, capacity uint64, errorRate float64) (Foreign, error) {
	m := math.Ceil(-float64(capacity) * math.Log2(errorRate) / ln2)
	if err := checkSize(m, capacity, errorRate); err != nil {
		return nil, err
	}
	s := npmBucketScheme{max(1, uint64(math.Ceil(m/32))) * 32, uint64(math.Ceil(ln2 * m / float64(capacity)))}
	p, err := newPlain(s, lsbFirst, s.m/8, capacity, errorRate)
	return foreign(&npmBloomFilter{p}, err)
}

// parseNPMBloomFilter returns the filter that the JSON b describes. Its bits are decoded
// into memory of at most twice the length of b.
func parseNPMBloomFilter(b []byte, _ Spec) (*npmBloomFilter, error) {
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
	return &npmBloomFilter{opened(npmBucketScheme{*doc.M, *doc.K}, lsbFirst, array)}, nil
}

func (npmBucketScheme) describe() Description {
	return Description{
		Format: "npm-bloomfilter", System: "npm bloomfilter, toJSON version 1",
		Hash: "FNV-1a of 64 bits over UTF-16 code units, enhanced double hashing",
	}
}

// WriteTo writes the object.
func (f *npmBloomFilter) WriteTo(w io.Writer) (int64, error) {
	defer runtime.KeepAlive(f)
	c := &countingWriter{w: w}
	buf := bufio.NewWriter(c)
	fmt.Fprintf(buf, `{"version":1,"m":%d,"k":%d,"buckets":[`, f.scheme.m, f.scheme.k)
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
	detect:   detects("npm-bloomfilter", Certain, func(b []byte) bool { return jsonFilter(b) == "npm-bloomfilter" }),
	open:     parseAs("npm-bloomfilter", parseNPMBloomFilter),
	create:   createNPMBloomFilter,
	clone:    copyOf[npmBloomFilter],
}
