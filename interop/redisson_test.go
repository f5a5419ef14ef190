package interop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"

	"seen/bloom"
)

func init() {
	goldenCases = append(goldenCases, []goldenCase{
		{dir: "redisson-bloom-string", spec: "redisson:m=2189,k=5", build: "redisson", capacity: 300, errorRate: 0.03},
		{dir: "redisson-bloom-bytes", spec: "redisson:codec=bytes,m=1334,k=4", build: "redisson:codec=bytes", capacity: 214, errorRate: 0.05},
	}...)
}

// anchors are the inputs for which FORMATS has hashes: none, a, hello world, the bytes 0
// to 99, and 300 times x.
func anchors() [][]byte {
	count := make([]byte, 100)
	for i := range count {
		count[i] = byte(i)
	}
	return [][]byte{nil, []byte("a"), []byte("hello world"), count, []byte(strings.Repeat("x", 300))}
}

func TestRedissonHash(t *testing.T) {
	for i, want := range [][2]uint64{
		{0xb7aad9c226c6a36b, 0xb2d4e4a63557bca6}, {0xab0bc04b5da94740, 0xa0462b5aca912353}, {0xc39f50a14a230fe4, 0x5d666c2b21ff78e4},
		{0x02e367706094c0c7, 0xccb939345842f5d2}, {0x8b27ac09c87674c2, 0xe1d8c03f6c97bf54},
	} {
		key := anchors()[i]
		if got := plainHighway(key); got != want {
			t.Errorf("%d bytes: %x, want %x", len(key), got, want)
		}
		// A size beyond all numbers of 63 bits shows the hashes themselves.
		got := redisson{Size: math.MaxInt64, Iterations: 2}.Positions(nil, key)
		for j, h := range []uint64{want[0], want[0] + want[1]} {
			if got[j] != h&math.MaxInt64%math.MaxInt64 {
				t.Errorf("%d bytes: position %d is %d", len(key), j, got[j])
			}
		}
	}
}

// plainHighway is HighwayHash of 128 bits with Redisson's key, from the definition.
func plainHighway(b []byte) [2]uint64 {
	mul0 := [4]uint64{0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344, 0x243f6a8885a308d3}
	mul1 := [4]uint64{0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c, 0x452821e638d01377}
	key := [4]uint64{0x9e3779b97f4a7c15, 0xf39cc0605cedc834, 0x1082276bf3a27251, 0xf86c6a11d0c18e95}
	var v0, v1 [4]uint64
	for i := range 4 {
		v0[i], v1[i] = mul0[i]^key[i], mul1[i]^bits.RotateLeft64(key[i], 32)
	}
	zip := func(even, odd uint64) (uint64, uint64) {
		var in [16]byte
		binary.LittleEndian.PutUint64(in[:], even)
		binary.LittleEndian.PutUint64(in[8:], odd)
		pick := func(from ...int) (n uint64) {
			for i, at := range from {
				n |= uint64(in[at]) << (8 * i)
			}
			return n
		}
		return pick(3, 12, 2, 5, 14, 1, 15, 0), pick(11, 4, 10, 13, 9, 6, 8, 7)
	}
	update := func(a [4]uint64) {
		for i := range 4 {
			v1[i] += mul0[i] + a[i]
			mul0[i] ^= (v1[i] & math.MaxUint32) * (v0[i] >> 32)
			v0[i] += mul1[i]
			mul1[i] ^= (v0[i] & math.MaxUint32) * (v1[i] >> 32)
		}
		for j := 0; j < 4; j += 2 {
			even, odd := zip(v1[j], v1[j+1])
			v0[j], v0[j+1] = v0[j]+even, v0[j+1]+odd
		}
		for j := 0; j < 4; j += 2 {
			even, odd := zip(v0[j], v0[j+1])
			v1[j], v1[j+1] = v1[j]+even, v1[j+1]+odd
		}
	}
	packet := func(b []byte) (a [4]uint64) {
		for i := range a {
			a[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		return a
	}
	for ; len(b) >= 32; b = b[32:] {
		update(packet(b))
	}
	if r := len(b); r > 0 {
		for i := range 4 {
			v0[i] += uint64(r)<<32 + uint64(r)
			v1[i] = uint64(bits.RotateLeft32(uint32(v1[i]>>32), r))<<32 | uint64(bits.RotateLeft32(uint32(v1[i]), r))
		}
		var last [32]byte
		base, q := r&^3, r&3
		copy(last[:], b[:base])
		switch {
		case r&16 != 0:
			copy(last[28:], b[r-4:])
		case q != 0:
			last[16], last[17], last[18] = b[base], b[base+q>>1], b[base+q-1]
		}
		update(packet(last[:]))
	}
	for range 6 {
		swap := func(v uint64) uint64 { return bits.RotateLeft64(v, 32) }
		update([4]uint64{swap(v0[2]), swap(v0[3]), swap(v0[0]), swap(v0[1])})
	}
	return [2]uint64{v0[0] + mul0[0] + v1[2] + mul1[2], v0[1] + mul0[1] + v1[3] + mul1[3]}
}

// compareBits asks a bitmap and the positions that another way of calculating gives.
func compareBits(t *testing.T, c goldenCase, msb bool, positions func(key []byte) []uint64) {
	t.Helper()
	g := readGolden(t, c)
	for i, key := range g.asked {
		want := true
		for _, at := range positions(key) {
			bit := at % 8
			if msb {
				bit = 7 - bit
			}
			want = want && at/8 < uint64(len(g.filter)) && g.filter[at/8]>>bit&1 != 0
		}
		if want != (g.answers[i] == "true") {
			t.Fatalf("%s: key %q: %v, the original says %s", c.dir, key, want, g.answers[i])
		}
	}
}

func TestRedissonProbes(t *testing.T) {
	for _, c := range []struct {
		dir  string
		m, k uint64
	}{{"redisson-bloom-string", 2189, 5}, {"redisson-bloom-bytes", 1334, 4}} {
		compareBits(t, goldenCase{dir: c.dir}, true, func(key []byte) (all []uint64) {
			h := plainHighway(key)
			for i := range c.k {
				sum := h[0] + (i+1)/2*h[1] + i/2*h[0]
				all = append(all, sum<<1>>1%c.m)
			}
			return all
		})
	}
}

func TestRedissonSize(t *testing.T) {
	for _, c := range []struct {
		n    uint64
		p    float64
		m, k uint64
	}{{300, 0.03, 2189, 5}, {214, 0.05, 1334, 4}, {1_000_000, 0.01, 9585058, 7}, {1, 0.5, 1, 1}} {
		r, err := redissonFor(c.n, c.p)
		if err != nil || r.Size != c.m || r.Iterations != c.k {
			t.Errorf("%d keys at %v: %+v, %v, want %d and %d", c.n, c.p, r, err, c.m, c.k)
		}
	}
	for _, c := range []struct {
		n uint64
		p float64
	}{{0, 0.1}, {1, 0}, {1, 1}, {1, math.NaN()}, {1, 0.9}, {1 << 32, 0.01}} {
		if f, err := Create(Spec{Name: "redisson"}, c.n, c.p); err == nil {
			t.Errorf("%d keys at %v: %+v", c.n, c.p, f)
		}
	}
}

// TestRedissonString has a string that is shorter than the size, as Redis keeps it.
func TestRedissonString(t *testing.T) {
	r := redisson{Size: 1 << 20, Iterations: 3}
	f, err := newBitmap(r, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if b := written(t, f); len(b) != 0 {
		t.Errorf("an empty filter is a string of %d bytes", len(b))
	}
	adds(t, f, [][]byte{[]byte("one"), []byte("two")})
	highest := uint64(0)
	for _, key := range []string{"one", "two"} {
		for _, at := range r.Positions(nil, []byte(key)) {
			highest = max(highest, at)
		}
	}
	b := written(t, f)
	if uint64(len(b)) != highest/8+1 {
		t.Errorf("%d bytes, and the highest bit is %d", len(b), highest)
	}
	g, err := openBitmap(append(b, 0, 0), r)
	if err != nil {
		t.Fatal(err)
	}
	if !g.Has([]byte("one")) || g.Has([]byte("three")) {
		t.Error("a shorter string answers otherwise")
	}
	if again := written(t, g); len(again) != len(b)+2 {
		t.Errorf("what was parsed from %d bytes is written as %d", len(b)+2, len(again))
	}
	expectReadOnly(t, g)
	if g.Has([]byte("\xff")) {
		t.Error("a key that is not text is there")
	}
	if _, err := f.Add([]byte("\xff")); err == nil {
		t.Error("a key that is not text was added")
	}
	h, err := newBitmap(redisson{Size: 1 << 20, Iterations: 4}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Union(f); !errors.Is(err, bloom.ErrIncompatible) || !strings.Contains(err.Error(), "different hashIterations: 4 and 3") {
		t.Error(err)
	}
	clone, err := g.Clone()
	if err != nil {
		t.Fatal(err)
	}
	adds(t, clone, [][]byte{[]byte("three")})
	if err := f.Union(clone); err != nil || !f.Has([]byte("three")) {
		t.Error("the union lacks a key", err)
	}
	if notes := fmt.Sprint(f.Describe().Notes); !strings.Contains(notes, "StringCodec") {
		t.Error("the notes do not warn of the codec:", notes)
	}
}

// TestBitmapHostile has parameters and lengths that no filter has.
func TestBitmapHostile(t *testing.T) {
	for _, spec := range []string{
		"redisson", "redisson:m=100", "redisson:k=3", "redisson:m=0,k=3", "redisson:m=100,k=0", "redisson:m=100,k=1001", "redisson:m=4294967295,k=3",
		"redisson:m=-1,k=3", "redisson:m=8,k=3",
		"redis-recipe", "redis-recipe:type=md5,bits=2", "redis-recipe:type=md5,bits=33", "redis-recipe:type=md5,blocks=0", "redis-recipe:type=md5,blocks=257",
		"redis-recipe:type=scrapy,hashes=0", "redis-recipe:type=scrapy,bits=3",
		"java-bitset:bits=0", "java-bitset:bits=100", "java-bitset:bits=4294967296", "java-bitset:bits=8",
		"bitarray:m=160,k=3", "bitarray:gen=sha1", "bitarray:gen=sha1,m=1,k=3", "bitarray:gen=sha1,m=161,k=3", "bitarray:gen=sha1,m=152,k=3",
	} {
		s, err := ParseSpec(spec)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := Open(make([]byte, 20), s); err == nil || f != nil {
			t.Errorf("%s: %v, %v", spec, f, err)
		}
	}
	if _, err := openRedisRecipe(nil, nil); err == nil {
		t.Error("no recipe is one")
	}
}

func FuzzBitmap(f *testing.F) {
	for _, c := range []string{"redisson-bloom-string", "java-bitset-2p12", "recipe-py-bitarray-sha1"} {
		f.Add(readGolden(f, goldenCase{dir: c}).filter, "key")
	}
	f.Add([]byte{}, "größer 𝄞 \xff")
	var specs []Spec
	for _, text := range []string{
		"redisson:m=2189,k=5", "redisson:codec=bytes,m=64,k=9", "redis-recipe:type=md5,bits=10,blocks=2", "redis-recipe:type=scrapy,bits=5",
		"java-bitset:bits=4096", "bitarray:gen=md5dot,m=2190,k=6", "bitarray:gen=md5x,m=7,k=40", "bitarray:gen=sha1,m=2190,k=6", "bitarray:gen=sha1-2to31,m=2,k=200",
	} {
		s, err := ParseSpec(text)
		if err != nil {
			f.Fatal(err)
		}
		specs = append(specs, s)
	}
	f.Fuzz(func(t *testing.T, b []byte, key string) {
		for _, s := range specs {
			exerciseForeign(t, b, s, key)
		}
	})
}
