package interop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"testing"

	"seen/bloom"
)

// sparkVectors are the folders of testdata, with the type of each.
var sparkVectors = map[string]sparkType{
	"spark-v1-bytes":     sparkBinary,
	"spark-v1-long":      sparkLong,
	"spark-v1-string":    sparkString,
	"spark-v2-long-seed": sparkLong,
	"spark-v2-string":    sparkString,
}

// plainSparkMurmur3 is Spark's hash in numbers of 64 bits that are cut after each step.
func plainSparkMurmur3(key []byte, seed uint64) uint64 {
	const cut = 1<<32 - 1
	turn := func(x, n uint64) uint64 { return (x<<n | x>>(32-n)) & cut }
	h := seed
	for at := 0; at < len(key); {
		var k uint64
		if at+4 <= len(key) {
			k = uint64(key[at]) + uint64(key[at+1])*256 + uint64(key[at+2])*65536 + uint64(key[at+3])*16777216
			at += 4
		} else {
			if k = uint64(key[at]); k >= 128 {
				k += cut - 255
			}
			at++
		}
		k = turn(k*0xcc9e2d51&cut, 15) * 0x1b873593 & cut
		h = (turn(h^k, 13)*5 + 0xe6546b64) & cut
	}
	h ^= uint64(len(key))
	h = (h ^ h>>16) * 0x85ebca6b & cut
	h = (h ^ h>>13) * 0xc2b2ae35 & cut
	return h ^ h>>16
}

func TestSparkMurmur3(t *testing.T) {
	for i, want := range []uint32{0, 0x2b038801, 0xaff10c58, 0xfc653843, 0xbbd3159d} {
		key := anchorKeys()[i]
		if got, plain := sparkMurmur3(key, 0), plainSparkMurmur3(key, 0); got != want || uint64(want) != plain {
			t.Errorf("%q: %08x, the plain way %08x, want %08x", key, got, plain, want)
		}
	}
	for n := range 50 {
		key := bytes.Repeat([]byte{0x85, 3, 0xfe}, n)[:n]
		if got, want := sparkMurmur3(key, 7), plainSparkMurmur3(key, 7); uint64(got) != want {
			t.Errorf("%x: %x, want %x", key, got, want)
		}
	}
}

// plainSpark answers from the bytes, with numbers of arbitrary size in place of the code
// under test.
func plainSpark(b []byte) func(key []byte) bool {
	version, k := binary.BigEndian.Uint32(b), int64(binary.BigEndian.Uint32(b[4:]))
	seed, words := uint64(0), b[12:]
	if version == 2 {
		seed, words = uint64(binary.BigEndian.Uint32(b[8:])), b[16:]
	}
	m := big.NewInt(int64(len(words)) * 8)
	return func(key []byte) bool {
		u1 := plainSparkMurmur3(key, seed)
		h1, h2 := int64(int32(u1)), int64(int32(plainSparkMurmur3(key, u1)))
		for i := int64(1); i <= k; i++ {
			at := new(big.Int)
			width := uint(32)
			if version == 1 {
				at.Add(big.NewInt(h1), new(big.Int).Mul(big.NewInt(i), big.NewInt(h2)))
			} else {
				width = 64
				at.Mul(big.NewInt(h1), big.NewInt(1<<31-1))
				at.Add(at, new(big.Int).Mul(big.NewInt(i), big.NewInt(h2)))
			}
			whole := new(big.Int).Lsh(big.NewInt(1), width)
			at.Mod(at, whole)
			if at.Bit(int(width)-1) != 0 {
				at.Sub(at.Sub(whole, at), big.NewInt(1))
			}
			bit := at.Mod(at, m).Uint64()
			if binary.BigEndian.Uint64(words[bit/64*8:])&(1<<(bit%64)) == 0 {
				return false
			}
		}
		return true
	}
}

func testSpark(t testing.TB, c sparkConfig) *spark {
	t.Helper()
	f, err := newSpark(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSparkVectors(t *testing.T) {
	for name, typ := range sparkVectors {
		t.Run(name, func(t *testing.T) {
			v := readVector(t, name)
			w := v.wish(t)
			file := v.File(t, w.File)
			f, err := openSpark(file, typ)
			if err != nil {
				t.Fatal(err)
			}
			v.compareForeign(t, "read", f.Has)
			v.compareForeign(t, "read in the plain way", plainSpark(file))
			expectBytes(t, "written again", written(t, f), file)
			expectReadOnly(t, f)
			if f.scheme.m != w.M || f.scheme.k != w.K || f.scheme.seed != int32(w.Seed) || f.scheme.typ != typ {
				t.Errorf("m %d, k %d, seed %d; want %d, %d, %d", f.scheme.m, f.scheme.k, f.scheme.seed, w.M, w.K, w.Seed)
			}
			made := testSpark(t, sparkConfig{Capacity: w.N, ErrorRate: w.P, Type: typ, Version: f.scheme.version, Seed: f.scheme.seed})
			adds(t, made, v.Keys)
			v.compareForeign(t, "made", made.Has)
			expectBytes(t, "made", written(t, made), file)
		})
	}
}

// TestSparkPlain holds both versions against the plain way for many seeds and lengths
// of keys, in arrays of lengths that are not powers of two.
func TestSparkPlain(t *testing.T) {
	for _, c := range []sparkConfig{
		{Capacity: 1, ErrorRate: 0.01, Version: 1}, {Capacity: 100, ErrorRate: 1e-4, Version: 1}, {Capacity: 3, ErrorRate: 0.01, Version: 2},
		{Capacity: 100, ErrorRate: 1e-4, Version: 2, Seed: -1}, {Capacity: 77, ErrorRate: 0.3, Version: 2, Seed: -1 << 31}, {Capacity: 1000, ErrorRate: 0.02, Version: 2, Seed: 1<<31 - 1},
	} {
		c.Type = sparkBinary
		f := testSpark(t, c)
		for i := range c.Capacity {
			adds(t, f, [][]byte{bytes.Repeat([]byte{byte(i * 3)}, int(i%40))})
		}
		has := plainSpark(written(t, f))
		for i := range 3000 {
			if key := fmt.Append(nil, i); f.Has(key) != has(key) {
				t.Fatalf("%+v: %q: %v, the plain way %v", c, key, !has(key), has(key))
			}
		}
	}
}

func sparkHeaderOf(fields ...uint32) (b []byte) {
	for _, x := range fields {
		b = binary.BigEndian.AppendUint32(b, x)
	}
	return b
}

func parseSparkBinary(b []byte) (*spark, error) { return openSpark(b, sparkBinary) }

func TestSparkRefuses(t *testing.T) {
	word := make([]byte, 8)
	expectRefused(t, parseSparkBinary, []damaged{
		{"nothing", nil, "0 bytes"},
		{"half a header", make([]byte, 11), "11 bytes"},
		{"half a header of version 2", append(sparkHeaderOf(2, 3, 0), 0, 0, 0), "15 bytes"},
		{"version 0", append(sparkHeaderOf(0, 3, 1), word...), "version 0"},
		{"version 3", append(sparkHeaderOf(3, 3, 1), word...), "version 3"},
		{"k = 0", append(sparkHeaderOf(1, 0, 1), word...), "k = 0"},
		{"a negative k", append(sparkHeaderOf(2, 1<<31, 0, 1), word...), "k = 2147483648"},
		{"many probes", append(sparkHeaderOf(1, 1001, 1), word...), "k = 1001"},
		{"no words", sparkHeaderOf(1, 3, 0), "0 words"},
		{"a word too few", append(sparkHeaderOf(1, 3, 2), word...), "the header says 2 words of 8 bytes; there are 8 bytes"},
		{"a word too many", append(sparkHeaderOf(2, 3, 5, 1), make([]byte, 16)...), "the header says 1 words of 8 bytes; there are 16 bytes"},
		{"a byte too many", append(sparkHeaderOf(1, 3, 1), make([]byte, 9)...), "9 bytes"},
		{"a number of words that is negative", append(sparkHeaderOf(1, 3, 1<<31), word...), "2147483648 words"},
	})
	if _, err := openSpark(append(sparkHeaderOf(1, 3, 1), word...), "int"); err == nil || errors.Is(err, ErrBadData) {
		t.Errorf("the type int: %v", err)
	}
}

func TestSparkConfig(t *testing.T) {
	for _, c := range []sparkConfig{
		{}, {Capacity: 1, ErrorRate: 0.03}, {Capacity: 1, Type: sparkLong}, {ErrorRate: 0.5, Type: sparkLong},
		{Capacity: 1, ErrorRate: 0.03, Type: sparkLong, Version: 3}, {Capacity: 1, ErrorRate: 0.03, Type: sparkLong, Seed: 1},
		{Capacity: 1, ErrorRate: 0.03, Type: sparkLong, Version: -1},
		{Capacity: 1 << 40, ErrorRate: 0.03, Type: sparkLong}, {Capacity: 1, ErrorRate: 5e-324, Type: sparkLong, Version: 1, Seed: 1},
	} {
		if f, err := newSpark(c); err == nil {
			t.Errorf("%+v: a filter of %d bits", c, f.scheme.m)
		}
	}
	f := testSpark(t, sparkConfig{Capacity: 10, ErrorRate: 0.03, Type: sparkLong})
	for i := range f.bits.b {
		f.bits.b[i] = 0xff
	}
	if isNew, err := f.Add([]byte("1")); isNew || err == nil || f.Has([]byte("1")) || !f.Has([]byte("12345678")) {
		t.Errorf("text was treated as a number: %v", err)
	}
	if f.scheme.version != 1 {
		t.Errorf("version %d", f.scheme.version)
	}
}

func TestSparkUnion(t *testing.T) {
	c := sparkConfig{Capacity: 200, ErrorRate: 0.01, Type: sparkString, Version: 2, Seed: 5}
	whole, a, b := testSpark(t, c), testSpark(t, c), testSpark(t, c)
	adds(t, whole, numberedKeys(0, 200))
	adds(t, a, numberedKeys(0, 100))
	adds(t, b, numberedKeys(100, 200))
	if err := a.Union(b); err != nil {
		t.Fatal(err)
	}
	expectBytes(t, "the union", written(t, a), written(t, whole))
	if s := a.Stats(); s.Cardinality.Value < 180 || s.Cardinality.Value > 220 || s.Bits != a.scheme.m || s.ErrorRate < 0.005 || s.ErrorRate > 0.02 {
		t.Errorf("%+v", s)
	}
	for _, d := range []sparkConfig{
		{300, 0.01, sparkString, 2, 5}, {200, 0.01, sparkBinary, 2, 5}, {200, 0.01, sparkString, 2, 6}, {200, 0.01, sparkString, 1, 0},
	} {
		if err := a.Union(testSpark(t, d)); !errors.Is(err, bloom.ErrIncompatible) {
			t.Errorf("%+v: %v", d, err)
		}
	}
	parsed, err := openSpark(written(t, a), sparkString)
	if err != nil {
		t.Fatal(err)
	}
	if err := parsed.Union(a); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
	g, err := cloned(parsed)
	if err != nil {
		t.Fatal(err)
	}
	adds(t, g, numberedKeys(200, 250))
	expectBytes(t, "what was cloned", written(t, parsed), written(t, whole))
	expectWriteErrors(t, g)
}

func TestSparkNoCopy(t *testing.T) {
	const words = 1 << 21
	expectNoCopy(t, parseSparkBinary, sparkHeaderOf(1, 5, words), 8*words)
	expectNoCopy(t, parseSparkBinary, sparkHeaderOf(2, 5, 9, words), 8*words)
}

func FuzzParseSpark(f *testing.F) {
	for name := range sparkVectors {
		v := readVector(f, name)
		f.Add(v.File(f, v.wish(f).File), []byte("a key"))
	}
	f.Add(append(sparkHeaderOf(2, 1000, 1<<31, 1), bytes.Repeat([]byte{255}, 8)...), []byte("12345678"))
	f.Fuzz(func(t *testing.T, b, key []byte) {
		for _, typ := range []sparkType{sparkBinary, sparkLong} {
			g, err := openSpark(b, typ)
			if (g == nil) == (err == nil) {
				t.Fatalf("%v and %v", g, err)
			}
			if err != nil {
				return
			}
			if !bytes.Equal(written(t, g), b) {
				t.Fatal("what was parsed is written otherwise")
			}
			if g.Has(key) != (plainSpark(b)(key) && g.scheme.takes(key)) {
				t.Fatal("the plain way answers otherwise")
			}
			c, err := cloned(g)
			if err != nil {
				t.Fatal(err)
			}
			isNew, err := c.Add(key)
			if err == nil && (isNew == g.Has(key) || !c.Has(key)) || err != nil && g.Has(key) {
				t.Fatalf("%s: key %q was there: %v, is new: %v, %v", typ, key, g.Has(key), isNew, err)
			}
		}
	})
}
