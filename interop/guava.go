package interop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// guavaFunnel is how Guava turns a key into bytes, as its interface Funnel does. The file
// does not say which funnel was used.
type guavaFunnel string

// The funnels of Guava's class Funnels.
const (
	guavaString    guavaFunnel = "string"    // stringFunnel(UTF_8): text as UTF-8
	guavaUnencoded guavaFunnel = "unencoded" // unencodedCharsFunnel: text as UTF-16, little-endian
	guavaBytes     guavaFunnel = "bytes"     // byteArrayFunnel
	guavaLong      guavaFunnel = "long"      // longFunnel: numbers, 8 bytes little-endian
	guavaInt       guavaFunnel = "int"       // integerFunnel: numbers, their low 4 bytes little-endian
)

// guavaFunnels are all of them.
var guavaFunnels = []string{string(guavaString), string(guavaUnencoded), string(guavaBytes), string(guavaLong), string(guavaInt)}

// guavaStrategy is how the positions of a key follow from its hash. The number is
// part of the file.
type guavaStrategy uint8

// The strategies of Guava's class BloomFilterStrategies.
const (
	guavaMitz32 guavaStrategy = 0 // two halves of 64 bits of the hash; releases before 17
	guavaMitz64 guavaStrategy = 1 // all 128 bits
)

// String returns the name of the strategy in Guava.
func (s guavaStrategy) String() string {
	if s == guavaMitz32 {
		return "MURMUR128_MITZ_32"
	}
	return "MURMUR128_MITZ_64"
}

// guava is a BloomFilter of Google's Guava library for Java, as its method writeTo
// writes it. It answers as that does for the same bytes.
//
// The bytes are the number of the strategy, the probes k of a key (one byte), the number
// of words (32 bits, big-endian) and the words (64 bits, big-endian); bit i is bit i mod
// 64 of word i/64. The length m of the array, 64 times the number of words, is the
// modulus of the positions.
//
// With h1 and h2, the halves of MurmurHash3 for x64 of the key, the positions of
// guavaMitz64 are h1 + i*h2 without its top bit, for i from 0, modulo m. Those of
// guavaMitz32 are a + i*b in 32 bits, for i from 1, inverted where the top bit is set,
// modulo m; a and b are the low and the high half of h1.
//
// See plain for what goroutines may do.
type guava struct{ plain[guavaScheme] }

// guavaScheme is how Guava maps a key to positions.
type guavaScheme struct {
	strategy guavaStrategy
	funnel   guavaFunnel
	m, k     uint64
}

const (
	guavaHeader    = 6
	guavaMaxProbes = 255
	guavaMaxWords  = math.MaxInt32
)

// createGuava returns an empty filter, with the size that Guava would give it.
func createGuava(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
	words, k, err := guavaSize(capacity, errorRate)
	if err != nil {
		return nil, fmt.Errorf("guava: %w", err)
	}
	if s.Params["probes"] == "rate" {
		k = max(1, uint64(math.Floor(-math.Log(errorRate)/ln2+0.5)))
	}
	if k > guavaMaxProbes {
		return nil, fmt.Errorf("guava: an error rate of %v needs %d probes, but a file has room for %d; raise it", errorRate, k, guavaMaxProbes)
	}
	g := guavaScheme{guavaMitz64, guavaFunnel(s.Params["funnel"]), 64 * words, k}
	if s.Params["strategy"] == "mitz32" {
		g.strategy = guavaMitz32
	}
	p, err := newPlain(g, bigWords, 8*words, 0, 0)
	return foreign(&guava{p}, err)
}

// guavaSize returns the words and the probes that Guava and Spark derive from a number of
// keys and an error rate. The number of bits is truncated, the probes follow from it, and
// then it is rounded up to words. Products are rounded before sums, as Java does on all
// machines.
func guavaSize(capacity uint64, errorRate float64) (words, k uint64, err error) {
	bits := math.Trunc(-float64(capacity) * math.Log(errorRate) / (ln2 * ln2))
	if bits > guavaMaxWords*64 {
		return 0, 0, fmt.Errorf("%d keys at an error rate of %v take %.3g bytes, but a file has room for %d; lower the capacity or raise the error rate",
			capacity, errorRate, bits/8, uint64(guavaMaxWords*8))
	}
	if bits < 1 {
		return 0, 0, fmt.Errorf("%d keys at an error rate of %v need no bits; lower the error rate", capacity, errorRate)
	}
	return wordsOf(uint64(bits)), max(1, uint64(math.Floor(float64(bits/float64(capacity)*ln2)+0.5))), nil
}

// parseGuava returns the filter in b, whose keys went through the funnel that s names. It
// refers to b, which must not change, and takes the same time for any length.
func parseGuava(b []byte, s Spec) (*guava, error) {
	if len(b) >= 2 && b[0] == 0xac && b[1] == 0xed {
		return nil, errors.New("a serialised Java object; write the filter with its method writeTo")
	}
	if len(b) < guavaHeader {
		return nil, fmt.Errorf("%d bytes, but the header has %d", len(b), guavaHeader)
	}
	words := binary.BigEndian.Uint32(b[2:])
	f := guavaScheme{guavaStrategy(b[0]), guavaFunnel(s.Params["funnel"]), 64 * uint64(words), uint64(b[1])}
	switch {
	case f.strategy > guavaMitz64:
		return nil, fmt.Errorf("unknown strategy %d; seen reads 0 (%v) and 1 (%v)", f.strategy, guavaMitz32, guavaMitz64)
	case f.k == 0:
		return nil, errors.New("k = 0")
	case words == 0 || words > guavaMaxWords || uint64(len(b)-guavaHeader) != 8*uint64(words):
		return nil, fmt.Errorf("the header says %d words of 8 bytes; there are %d bytes", words, len(b)-guavaHeader)
	}
	return &guava{opened(f, bigWords, b[guavaHeader:])}, nil
}

// hash returns the hash of what the funnel makes of key, and false if key is not a value
// of the funnel's type.
func (f guavaScheme) hash(key []byte) (h1, h2 uint64, ok bool) {
	switch f.funnel {
	case guavaUnencoded:
		if !utf8.Valid(key) {
			return 0, 0, false
		}
		var room [256]byte
		h1, h2 = murmur3Of(appendUTF16(room[:0], key))
		return h1, h2, true
	case guavaLong, guavaInt:
		if len(key) != 8 {
			return 0, 0, false
		}
		if f.funnel == guavaInt {
			key = key[:4]
		}
	}
	h1, h2 = murmur3Of(key)
	return h1, h2, true
}

// appendUTF16 appends text, which is valid UTF-8, to dst as UTF-16, little-endian.
func appendUTF16(dst, text []byte) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(high))
			r = low
		}
		dst = binary.LittleEndian.AppendUint16(dst, uint16(r))
	}
	return dst
}

// position returns the i-th position, from 0, of a key whose hash is h1, h2.
func (f guavaScheme) position(h1, h2, i uint64) uint64 {
	if f.strategy == guavaMitz64 {
		return (h1 + i*h2) & math.MaxInt64 % f.m
	}
	c := uint32(h1) + uint32(i+1)*uint32(h1>>32)
	if int32(c) < 0 {
		c = ^c
	}
	return uint64(c) % f.m
}

func (f guavaScheme) positions(dst []uint64, key []byte) ([]uint64, error) {
	h1, h2, ok := f.hash(key)
	if !ok {
		return nil, fmt.Errorf("guava: key %q is not a value of the funnel %q", key, f.funnel)
	}
	for i := range f.k {
		dst = append(dst, f.position(h1, h2, i))
	}
	return dst, nil
}

func (f guavaScheme) size() (m, k uint64) { return f.m, f.k }
func (guavaScheme) name() string          { return "guava" }

func (f guavaScheme) params() []Field {
	return []Field{{"strategies", f.strategy.String()}, {"funnels", string(f.funnel)}, {"m", strconv.FormatUint(f.m, 10)}, {"k", strconv.FormatUint(f.k, 10)}}
}

// Has reports whether key may have been added. A key that is not a value of the funnel's
// type was never added. Unlike that of plain it calculates no position after a zero bit.
func (f *guava) Has(key []byte) bool {
	h1, h2, ok := f.scheme.hash(key)
	for i := uint64(0); ok && i < f.scheme.k; i++ {
		ok = f.bits.has(f.scheme.position(h1, h2, i))
	}
	return ok
}

// Add adds key and reports whether it was certainly not there before. The file does not
// say how many keys were added, so they are not counted.
func (f *guava) Add(key []byte) (bool, error) { return f.set(key) }

// WriteTo writes the filter as Guava does, for its method readFrom.
func (f *guava) WriteTo(w io.Writer) (int64, error) {
	head := binary.BigEndian.AppendUint32([]byte{byte(f.scheme.strategy), byte(f.scheme.k)}, uint32(f.scheme.m/64))
	return f.bits.writeBetween(w, head, nil)
}
