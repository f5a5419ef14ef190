package interop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf16"
	"unicode/utf8"

	"seen/bloom"
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
// Any number of goroutines may ask while none changes the filter. The hash is public, so
// an attacker can choose keys that collide. The struct must not be copied.
type guava struct {
	strategy guavaStrategy
	funnel   guavaFunnel
	k        uint64
	m        uint64
	bits     bitArray
}

const (
	guavaHeader    = 6
	guavaMaxProbes = 255
	guavaMaxWords  = math.MaxInt32
)

// guavaConfig says how large a guava is to be.
type guavaConfig struct {
	// Capacity is the number of keys, at least 1, and ErrorRate the rate at capacity,
	// between 0 and 1, exclusively.
	Capacity  uint64
	ErrorRate float64
	Funnel    guavaFunnel
	Strategy  guavaStrategy
	// ProbesByRate derives the probes from ErrorRate alone, as the newest releases of
	// Guava do, and not from the bits per key. It matters only for a few keys.
	ProbesByRate bool
}

// newGuava returns an empty filter, with the size that Guava would give it.
func newGuava(c guavaConfig) (*guava, error) {
	if c.Strategy > guavaMitz64 {
		return nil, fmt.Errorf("guava: strategy %d; use 0 (%v) or 1 (%v)", c.Strategy, guavaMitz32, guavaMitz64)
	}
	words, k, err := guavaSize(c.Capacity, c.ErrorRate)
	if err != nil {
		return nil, fmt.Errorf("guava: %w", err)
	}
	if c.ProbesByRate {
		k = max(1, uint64(math.Floor(-math.Log(c.ErrorRate)/ln2+0.5)))
	}
	if k > guavaMaxProbes {
		return nil, fmt.Errorf("guava: an error rate of %v needs %d probes, but a file has room for %d; raise it", c.ErrorRate, k, guavaMaxProbes)
	}
	f := &guava{strategy: c.Strategy, funnel: c.Funnel, k: k, m: 64 * words}
	if err := f.funnel.check(); err != nil {
		return nil, err
	}
	if f.bits, err = newBitArray(bigWords, 8*words); err != nil {
		return nil, fmt.Errorf("guava: %w", err)
	}
	return f, nil
}

// guavaSize returns the words and the probes that Guava and Spark derive from a number of
// keys and an error rate. The number of bits is truncated, the probes follow from it, and
// then it is rounded up to words. Products are rounded before sums, as Java does on all
// machines.
func guavaSize(capacity uint64, errorRate float64) (words, k uint64, err error) {
	if err := checkWish(capacity, errorRate); err != nil {
		return 0, 0, err
	}
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

func (u guavaFunnel) check() error { return checkListed("guava", "funnel", string(u), guavaFunnels) }

// openGuava returns the filter in b, whose keys went through the funnel. It refers to b,
// which must not change, and opening takes the same time for any length.
func openGuava(b []byte, funnel guavaFunnel) (*guava, error) {
	if err := funnel.check(); err != nil {
		return nil, err
	}
	f, err := parseAs("guava", b, parseGuava)
	if err != nil {
		return nil, err
	}
	f.funnel = funnel
	return f, nil
}

func parseGuava(b []byte) (*guava, error) {
	if len(b) >= 2 && b[0] == 0xac && b[1] == 0xed {
		return nil, errors.New("a serialised Java object; write the filter with its method writeTo")
	}
	if len(b) < guavaHeader {
		return nil, fmt.Errorf("%d bytes, but the header has %d", len(b), guavaHeader)
	}
	words := binary.BigEndian.Uint32(b[2:])
	f := &guava{strategy: guavaStrategy(b[0]), k: uint64(b[1]), m: 64 * uint64(words)}
	switch {
	case f.strategy > guavaMitz64:
		return nil, fmt.Errorf("unknown strategy %d; seen reads 0 (%v) and 1 (%v)", f.strategy, guavaMitz32, guavaMitz64)
	case f.k == 0:
		return nil, errors.New("k = 0")
	case words == 0 || words > guavaMaxWords || uint64(len(b)-guavaHeader) != 8*uint64(words):
		return nil, fmt.Errorf("the header says %d words of 8 bytes; there are %d bytes", words, len(b)-guavaHeader)
	}
	f.bits = bitArray{order: bigWords, b: b[guavaHeader:]}
	return f, nil
}

// hash returns the hash of what the funnel makes of key, and false if key is not a value
// of the funnel's type.
func (f *guava) hash(key []byte) (h1, h2 uint64, ok bool) {
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
func (f *guava) position(h1, h2, i uint64) uint64 {
	if f.strategy == guavaMitz64 {
		return (h1 + i*h2) & math.MaxInt64 % f.m
	}
	c := uint32(h1) + uint32(i+1)*uint32(h1>>32)
	if int32(c) < 0 {
		c = ^c
	}
	return uint64(c) % f.m
}

// Has reports whether key may have been added. A key that is not a value of the funnel's
// type was never added.
func (f *guava) Has(key []byte) bool {
	h1, h2, ok := f.hash(key)
	if !ok {
		return false
	}
	return f.bits.hasEach(f.k, func(i uint64) uint64 { return f.position(h1, h2, i) })
}

// Add adds key and reports whether it was certainly not there before. It fails with
// ErrReadOnly if f was opened from bytes, or if key is not a value of the funnel's type.
func (f *guava) Add(key []byte) (bool, error) {
	if err := f.bits.mayChange(); err != nil {
		return false, err
	}
	h1, h2, ok := f.hash(key)
	if !ok {
		return false, fmt.Errorf("guava: key %q is not a value of the funnel %q", key, f.funnel)
	}
	return f.bits.setEach(f.k, func(i uint64) uint64 { return f.position(h1, h2, i) }), nil
}

// Clone returns a copy that shares nothing with f, and can be changed. It fails if there
// is not enough memory.
func (f *guava) Clone() (*guava, error) {
	g := *f
	return &g, g.bits.detach(0)
}

// Union adds the keys of other, which must be a guava with the same strategy, funnel, m
// and k. Otherwise it returns an error that wraps bloom.ErrIncompatible.
func (f *guava) Union(other Reader) error {
	return unite(&f.bits, f, other, func(g *guava) (*bitArray, error) {
		return &g.bits, checkSame(same{"strategies", f.strategy, g.strategy}, same{"funnels", f.funnel, g.funnel}, same{"m", f.m, g.m}, same{"k", f.k, g.k})
	})
}

// Stats describes the filter. It reads the whole array.
func (f *guava) Stats() bloom.Stats { return plainStats("guava", f.m, f.k, f.bits.ones(f.m)) }

// WriteTo writes the filter as Guava does, for its method readFrom.
func (f *guava) WriteTo(w io.Writer) (int64, error) {
	c := &countingWriter{w: w}
	head := binary.BigEndian.AppendUint32([]byte{byte(f.strategy), byte(f.k)}, uint32(f.m/64))
	if _, err := c.Write(head); err != nil {
		return c.done(err)
	}
	return c.done(f.bits.writeTo(c, f.m/8, bigWords))
}
