package interop

import (
	"bytes"
	stdgzip "compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"testing"

	"seen/bloom"
	"seen/internal/filtertest"
)

var dcsoVectors = []string{"dcso-bytes", "dcso-data", "dcso-gzip", "dcso-plain"}

// unzipped returns b, decompressed if it is compressed.
func unzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	if b[0] != 0x1f {
		return b
	}
	r, err := stdgzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if b, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return b
}

// plainDCSO answers from the bytes, with numbers of arbitrary size in place of the code
// under test.
func plainDCSO(b []byte) func(key []byte) bool {
	number := func(text string) *big.Int {
		x, _ := new(big.Int).SetString(text, 10)
		return x
	}
	word := new(big.Int).Lsh(big.NewInt(1), 64)
	k, m := binary.LittleEndian.Uint64(b[24:]), new(big.Int).SetUint64(binary.LittleEndian.Uint64(b[32:]))
	array := b[48:]
	return func(key []byte) bool {
		x := number("14695981039346656037")
		for _, c := range key {
			x.Mul(x, number("1099511628211")).Mod(x, word).Xor(x, big.NewInt(int64(c)))
		}
		x.Mod(x, number("18446744073709551557"))
		for range k {
			x.Mul(x, number("18446744073709550147")).Mod(x, word).Mod(x, number("18446744073709551557"))
			at := new(big.Int).Mod(x, m).Uint64()
			if array[at/8]>>(at%8)&1 == 0 {
				return false
			}
		}
		return true
	}
}

func testDCSO(t testing.TB, c dcsoConfig) *dcso {
	t.Helper()
	f, err := newDCSO(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDCSOVectors(t *testing.T) {
	for _, name := range dcsoVectors {
		t.Run(name, func(t *testing.T) {
			v := readVector(t, name)
			w := v.wish(t)
			file := v.File(t, w.File)
			f, err := openDCSO(file)
			if err != nil {
				t.Fatal(err)
			}
			plain := unzipped(t, file)
			v.compareForeign(t, "read", f.Has)
			v.compareForeign(t, "read in the plain way", plainDCSO(plain))
			if f.gzip != w.Gzip || f.scheme.m != w.M || f.scheme.k != w.K || f.added != w.Added || f.capacity != w.N || f.scheme.errorRate != w.P ||
				len(f.data) != w.DataBytes {
				t.Errorf("%+v, want %+v", f, w)
			}
			if !w.Gzip {
				expectBytes(t, "written again", written(t, f), file)
				expectReadOnly(t, f)
			}
			expectBytes(t, "written plain", written(t, f.As(false)), plain)
			expectBytes(t, "written compressed", unzipped(t, written(t, f.As(true))), plain)

			made := testDCSO(t, dcsoConfig{Capacity: w.N, ErrorRate: w.P, Data: f.data})
			adds(t, made, v.Keys)
			v.compareForeign(t, "made", made.Has)
			expectBytes(t, "made", written(t, made), plain)
			if s := made.Stats(); s.Added != w.Added || s.Capacity != w.N || s.AskedErrorRate != w.P || math.Abs(s.ErrorRateAtCapacity-w.P) > w.P/2 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func dcsoFile(flags, n uint64, p float64, k, m uint64, more int) []byte {
	var b []byte
	for _, x := range []uint64{flags, n, math.Float64bits(p), k, m, 0} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return append(b, make([]byte, more)...)
}

func zipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var z bytes.Buffer
	w := stdgzip.NewWriter(&z)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return z.Bytes()
}

func TestDCSORefuses(t *testing.T) {
	good := dcsoFile(1, 10, 0.1, 3, 64, 8)
	damages := []damaged{
		{"nothing", nil, "0 bytes"},
		{"half a header", good[:47], "48"},
		{"version 0", dcsoFile(0, 10, 0.1, 3, 64, 8), "flags 0x0"},
		{"version 2", dcsoFile(2, 10, 0.1, 3, 64, 8), "flags 0x2"},
		{"a flag", dcsoFile(257, 10, 0.1, 3, 64, 8), "flags 0x101"},
		{"an error rate of 0", dcsoFile(1, 10, 0, 3, 64, 8), "error rate 0"},
		{"an error rate of 1", dcsoFile(1, 10, 1, 3, 64, 8), "error rate 1"},
		{"an error rate that is not a number", dcsoFile(1, 10, math.NaN(), 3, 64, 8), "error rate NaN"},
		{"k = 0", dcsoFile(1, 10, 0.1, 0, 64, 8), "k = 0"},
		{"many probes", dcsoFile(1, 10, 0.1, 1001, 64, 8), "k = 1001"},
		{"m = 0", dcsoFile(1, 10, 0.1, 3, 0, 8), "m = 0"},
		{"a word too few", dcsoFile(1, 10, 0.1, 3, 65, 8), "8"},
		{"all bits there are", dcsoFile(1, 10, 0.1, 3, 1<<64-1, 8), "limit"},
		{"a terabyte of bits", dcsoFile(1, 10, 0.1, 3, 1<<43, 8), "m = 8796093022208"},
	}
	expectRefused(t, openDCSO, damages)
	for i := range damages {
		damages[i].what += ", compressed"
		damages[i].b = zipped(t, damages[i].b)
		if i < 2 {
			damages[i].want = "header"
		}
	}
	expectRefused(t, openDCSO, damages)
	z := zipped(t, good)
	expectRefused(t, openDCSO, []damaged{
		{"gzip cut short", z[:len(z)-9], "EOF"},
		{"gzip with a wrong checksum", append(z[:len(z)-8:len(z)-8], make([]byte, 8)...), "checksum"},
		{"gzip of nothing", z[:3], "EOF"},
	})
}

// TestDCSOBomb decompresses much out of little: no more than a limit is taken.
func TestDCSOBomb(t *testing.T) {
	bomb := zipped(t, append(dcsoFile(1, 10, 0.1, 3, 64, 8), make([]byte, 3*dcsoMostData)...))
	before := filtertest.HeapAllocs()
	_, err := openDCSO(bomb)
	if n := filtertest.HeapAllocs() - before; !errors.Is(err, ErrBadData) || n > 8*dcsoMostData {
		t.Errorf("%d bytes allocated, %v", n, err)
	}
	f, err := openDCSO(zipped(t, append(dcsoFile(1, 10, 0.1, 3, 64, 8), make([]byte, dcsoMostData)...)))
	if err != nil || len(f.data) != dcsoMostData {
		t.Errorf("the most data is refused: %v", err)
	}
}

func TestDCSOConfig(t *testing.T) {
	for _, c := range []dcsoConfig{
		{}, {Capacity: 1}, {ErrorRate: 0.5}, {Capacity: 1, ErrorRate: 1}, {Capacity: 1, ErrorRate: 0.9}, {Capacity: 1 << 62, ErrorRate: 1e-9}, {Capacity: 1, ErrorRate: 5e-324},
	} {
		if f, err := newDCSO(c); err == nil {
			t.Errorf("%+v: a filter of %d bits", c, f.scheme.m)
		}
	}
}

func TestDCSOUnion(t *testing.T) {
	c := dcsoConfig{Capacity: 200, ErrorRate: 0.01, Data: []byte("data")}
	whole, a, b := testDCSO(t, c), testDCSO(t, c), testDCSO(t, c)
	b.data = []byte("other")
	adds(t, whole, numberedKeys(0, 200))
	adds(t, a, numberedKeys(0, 100))
	adds(t, b, numberedKeys(50, 200))
	sum := a.added + b.added
	if err := a.Union(b); err != nil {
		t.Fatal(err)
	}
	if a.added != sum {
		t.Errorf("%d keys were added, want %d", a.added, sum)
	}
	a.added = whole.added
	expectBytes(t, "the union", written(t, a), written(t, whole))
	for _, d := range []dcsoConfig{{Capacity: 201, ErrorRate: 0.01}, {Capacity: 200, ErrorRate: 0.02}, {Capacity: 200, ErrorRate: 0.0100001}} {
		if err := a.Union(testDCSO(t, d)); !errors.Is(err, bloom.ErrIncompatible) {
			t.Errorf("%+v: %v", d, err)
		}
	}
	parsed, err := openDCSO(written(t, a))
	if err != nil {
		t.Fatal(err)
	}
	if err := parsed.Union(a); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
	g, err := parsed.Clone()
	if err != nil {
		t.Fatal(err)
	}
	adds(t, g, numberedKeys(200, 250))
	expectBytes(t, "what was cloned", written(t, parsed), written(t, whole))
	expectWriteErrors(t, g)
	// What was compressed has memory of its own.
	if g, err = openDCSO(written(t, a.As(true))); err != nil {
		t.Fatal(err)
	}
	adds(t, g, numberedKeys(200, 250))
}

func TestDCSONoCopy(t *testing.T) {
	const bits = 1 << 27
	expectNoCopy(t, openDCSO, dcsoFile(1, 1e7, 0.01, 7, bits, 0), bits/8)
}

func FuzzParseDCSO(f *testing.F) {
	for _, name := range dcsoVectors {
		v := readVector(f, name)
		f.Add(v.File(f, v.wish(f).File), []byte("a key"))
	}
	f.Add(zipped(f, dcsoFile(1, 10, 0.1, 3, 1<<30, 8)), []byte("key"))
	f.Fuzz(func(t *testing.T, b, key []byte) {
		before := filtertest.HeapAllocs()
		g, err := openDCSO(b)
		if n := filtertest.HeapAllocs() - before; n > 2<<20+2*gzipMost*uint64(len(b)) {
			t.Fatalf("parsing %d bytes allocated %d", len(b), n)
		}
		if (g == nil) == (err == nil) {
			t.Fatalf("%v and %v", g, err)
		}
		if err != nil {
			return
		}
		plain := written(t, g.As(false))
		if !g.gzip && !bytes.Equal(plain, b) {
			t.Fatal("what was parsed is written otherwise")
		}
		if g.Has(key) != plainDCSO(plain)(key) {
			t.Fatal("the plain way answers otherwise")
		}
		c, err := g.Clone()
		if err != nil {
			t.Fatal(err)
		}
		had := g.Has(key)
		if isNew, err := c.Add(key); err != nil || isNew == had || !c.Has(key) {
			t.Fatalf("key %q was there: %v, is new: %v, %v", key, had, isNew, err)
		}
		if s := fmt.Sprint(g.Stats()); s == "" {
			t.Fatal("no stats")
		}
	})
}
