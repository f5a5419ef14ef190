package interop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"testing"
	"unicode/utf16"

	"seen/bloom"
)

// guavaVectors are the folders of testdata, with the funnel of each.
var guavaVectors = map[string]guavaFunnel{
	"guava-mitz32-bytes":     guavaBytes,
	"guava-mitz32-long":      guavaLong,
	"guava-mitz32-string":    guavaString,
	"guava-mitz64-bytes":     guavaBytes,
	"guava-mitz64-int":       guavaInt,
	"guava-mitz64-long":      guavaLong,
	"guava-mitz64-string":    guavaString,
	"guava-mitz64-unencoded": guavaUnencoded,
}

// plainGuava answers from the bytes, with numbers of arbitrary size in place of the
// code under test.
func plainGuava(b []byte, funnel guavaFunnel) func(key []byte) bool {
	k, words := int64(b[1]), b[6:]
	m := big.NewInt(int64(len(words)) * 8)
	isSet := func(at uint64) bool { return binary.BigEndian.Uint64(words[at/64*8:])&(1<<(at%64)) != 0 }
	return func(key []byte) bool {
		switch funnel {
		case guavaUnencoded:
			var units []byte
			for _, u := range utf16.Encode([]rune(string(key))) {
				units = append(units, byte(u), byte(u>>8))
			}
			key = units
		case guavaInt:
			key = key[:4]
		}
		h1, h2 := plainMurmur3(key)
		for i := range k {
			var at *big.Int
			if b[0] == 1 {
				at = new(big.Int).Mul(new(big.Int).SetUint64(h2), big.NewInt(i))
				at.Add(at, new(big.Int).SetUint64(h1))
				for bit := at.BitLen(); bit >= 63; bit-- {
					at.SetBit(at, bit, 0)
				}
			} else {
				at = new(big.Int).Mul(big.NewInt(int64(h1>>32)), big.NewInt(i+1))
				at.Add(at, big.NewInt(int64(h1&0xffffffff)))
				at.SetUint64(at.Uint64() & 0xffffffff)
				if at.Bit(31) != 0 {
					at.Sub(big.NewInt(0xffffffff), at)
				}
			}
			if !isSet(at.Mod(at, m).Uint64()) {
				return false
			}
		}
		return true
	}
}

func testGuava(t testing.TB, c guavaConfig) *guava {
	t.Helper()
	f, err := newGuava(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestGuavaVectors(t *testing.T) {
	for name, funnel := range guavaVectors {
		t.Run(name, func(t *testing.T) {
			v := readVector(t, name)
			w := v.wish(t)
			file := v.File(t, w.File)
			f, err := openGuava(file, funnel)
			if err != nil {
				t.Fatal(err)
			}
			v.compareForeign(t, "read", f.Has)
			v.compareForeign(t, "read in the plain way", plainGuava(file, funnel))
			expectBytes(t, "written again", written(t, f), file)
			expectReadOnly(t, f)
			if f.scheme.m != w.M || f.scheme.k != w.K || f.scheme.strategy.String() != w.Strategy || f.scheme.funnel != funnel {
				t.Errorf("m %d, k %d, %v, %v; want %d, %d, %s", f.scheme.m, f.scheme.k, f.scheme.strategy, f.scheme.funnel, w.M, w.K, w.Strategy)
			}
			made := testGuava(t, guavaConfig{Capacity: w.N, ErrorRate: w.P, Funnel: funnel, Strategy: f.scheme.strategy})
			adds(t, made, v.Keys)
			v.compareForeign(t, "made", made.Has)
			expectBytes(t, "made", written(t, made), file)

			// With another funnel the added keys are not found: what a user sees who guesses.
			for _, other := range []guavaFunnel{guavaString, guavaUnencoded, guavaBytes} {
				if other == funnel || (other == guavaUnencoded) == (funnel == guavaUnencoded) {
					continue
				}
				g, err := openGuava(file, other)
				if err != nil {
					t.Fatal(err)
				}
				found := 0
				for _, key := range v.Keys {
					if g.Has(key) {
						found++
					}
				}
				if found > len(v.Keys)/2 {
					t.Errorf("%d of %d keys are found with the funnel %s", found, len(v.Keys), other)
				}
			}
		})
	}
}

func guavaHeaderOf(strategy, k byte, words uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{strategy, k}, words)
}

func parseGuavaString(b []byte) (*guava, error) { return openGuava(b, guavaString) }

func TestGuavaRefuses(t *testing.T) {
	word := make([]byte, 8)
	expectRefused(t, parseGuavaString, []damaged{
		{"nothing", nil, "0 bytes"},
		{"half a header", make([]byte, 5), "5 bytes"},
		{"a strategy of later", append(guavaHeaderOf(2, 3, 1), word...), "strategy 2"},
		{"k = 0", append(guavaHeaderOf(1, 0, 1), word...), "k = 0"},
		{"no words", guavaHeaderOf(1, 3, 0), "0 words"},
		{"a word too few", append(guavaHeaderOf(1, 3, 2), word...), "the header says 2 words of 8 bytes; there are 8 bytes"},
		{"a word too many", append(guavaHeaderOf(1, 3, 1), make([]byte, 16)...), "the header says 1 words of 8 bytes; there are 16 bytes"},
		{"a byte too many", append(guavaHeaderOf(1, 3, 1), make([]byte, 9)...), "9 bytes"},
		{"a number of words that is negative", append(guavaHeaderOf(1, 3, 1<<31), word...), "2147483648 words"},
		{"a number of words that wraps around", append(guavaHeaderOf(1, 3, 1<<29+1), word...), "536870913 words"},
		{"a Java object", append([]byte{0xac, 0xed, 0, 5}, make([]byte, 50)...), "writeTo"},
	})
	if _, err := openGuava(append(guavaHeaderOf(1, 3, 1), word...), "text"); err == nil || errors.Is(err, ErrBadData) {
		t.Errorf("the funnel text: %v", err)
	}
}

func TestGuavaConfig(t *testing.T) {
	for _, c := range []guavaConfig{
		{}, {Capacity: 1, ErrorRate: 0.03}, {Capacity: 1, ErrorRate: 0.03, Funnel: "text"}, {Capacity: 1, Funnel: guavaBytes}, {ErrorRate: 0.5, Funnel: guavaBytes},
		{Capacity: 1, ErrorRate: 0.03, Funnel: guavaBytes, Strategy: 2}, {Capacity: 1, ErrorRate: 0.9, Funnel: guavaBytes},
		{Capacity: 1 << 40, ErrorRate: 0.03, Funnel: guavaBytes}, {Capacity: 1, ErrorRate: 1e-300, Funnel: guavaBytes},
	} {
		if f, err := newGuava(c); err == nil {
			t.Errorf("%+v: a filter of %d bits", c, f.scheme.m)
		}
	}
	for _, c := range []struct {
		n       uint64
		p       float64
		m, k, r uint64 // r: the probes by the rate
	}{{1, 0.03, 64, 5, 5}, {2, 0.4, 64, 1, 1}, {1, 0.3, 64, 1, 2}, {1, 1e-6, 64, 19, 20}, {500, 0.03, 3712, 5, 5}, {1000000, 0.01, 9585088, 7, 7}} {
		f := testGuava(t, guavaConfig{Capacity: c.n, ErrorRate: c.p, Funnel: guavaBytes})
		g := testGuava(t, guavaConfig{Capacity: c.n, ErrorRate: c.p, Funnel: guavaBytes, ProbesByRate: true})
		if f.scheme.m != c.m || f.scheme.k != c.k || g.scheme.k != c.r || g.scheme.m != c.m {
			t.Errorf("%d keys at %v: m %d, k %d or %d, want %d, %d or %d", c.n, c.p, f.scheme.m, f.scheme.k, g.scheme.k, c.m, c.k, c.r)
		}
	}
}

// TestGuavaKeys adds keys that are not values of the funnel's type.
func TestGuavaKeys(t *testing.T) {
	for funnel, keys := range map[guavaFunnel][]string{
		guavaUnencoded: {"\xff", "a\xc3", "\xed\xa0\x80"},
		guavaLong:      {"", "1", "1234567", "123456789"},
		guavaInt:       {"", "1234", "123456789"},
	} {
		f := testGuava(t, guavaConfig{Capacity: 1, ErrorRate: 0.5, Funnel: funnel})
		for i := range f.bits.b {
			f.bits.b[i] = 0xff // full: it has every key that there can be
		}
		for _, key := range keys {
			if isNew, err := f.Add([]byte(key)); isNew || err == nil || f.Has([]byte(key)) {
				t.Errorf("%s: %q was added, %v", funnel, key, err)
			}
		}
		if good := []byte("12345678"); !f.Has(good) {
			t.Errorf("%s: a full filter has not %q", funnel, good)
		}
	}
	// Numbers that differ in their high half alone are one for the funnel of ints.
	f := testGuava(t, guavaConfig{Capacity: 100, ErrorRate: 1e-6, Funnel: guavaInt})
	adds(t, f, [][]byte{binary.LittleEndian.AppendUint64(nil, 5)})
	if !f.Has(binary.LittleEndian.AppendUint64(nil, 1<<40|5)) || f.Has(binary.LittleEndian.AppendUint64(nil, 6)) {
		t.Error("the low halves decide")
	}
}

func TestGuavaUnion(t *testing.T) {
	c := guavaConfig{Capacity: 200, ErrorRate: 0.01, Funnel: guavaString, Strategy: guavaMitz64}
	whole, a, b := testGuava(t, c), testGuava(t, c), testGuava(t, c)
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
	for _, change := range []func(c *guavaConfig){
		func(c *guavaConfig) { c.Capacity = 300 },
		func(c *guavaConfig) { c.Funnel = guavaBytes },
		func(c *guavaConfig) { c.Strategy = guavaMitz32 },
	} {
		d := c
		change(&d)
		if err := a.Union(testGuava(t, d)); !errors.Is(err, bloom.ErrIncompatible) {
			t.Errorf("%+v: %v", d, err)
		}
	}
	parsed, err := openGuava(written(t, a), guavaString)
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

func TestGuavaNoCopy(t *testing.T) {
	const words = 1 << 21
	for _, funnel := range []guavaFunnel{guavaString, guavaUnencoded} {
		expectNoCopy(t, func(b []byte) (*guava, error) { return openGuava(b, funnel) }, guavaHeaderOf(1, 5, words), 8*words)
	}
}

func FuzzParseGuava(f *testing.F) {
	for name := range guavaVectors {
		v := readVector(f, name)
		f.Add(v.File(f, v.wish(f).File), []byte("a key"))
	}
	f.Add(append(guavaHeaderOf(1, 255, 1), bytes.Repeat([]byte{255}, 8)...), []byte("12345678"))
	f.Fuzz(func(t *testing.T, b, key []byte) {
		for _, name := range guavaFunnels {
			funnel := guavaFunnel(name)
			g, err := openGuava(b, funnel)
			if (g == nil) == (err == nil) {
				t.Fatalf("%v and %v", g, err)
			}
			if err != nil {
				continue
			}
			if !bytes.Equal(written(t, g), b) {
				t.Fatal("what was parsed is written otherwise")
			}
			if g.Stats().Ones > g.scheme.m {
				t.Fatal("more ones than bits")
			}
			c, err := cloned(g)
			if err != nil {
				t.Fatal(err)
			}
			isNew, err := c.Add(key)
			if err == nil && (isNew == g.Has(key) || !c.Has(key)) || err != nil && g.Has(key) {
				t.Fatalf("%s: key %q was there: %v, is new: %v, %v", funnel, key, g.Has(key), isNew, err)
			}
		}
	})
}

// numberedKeys returns keys that are numbers in decimal.
func numberedKeys(from, to int) (keys [][]byte) {
	for i := from; i < to; i++ {
		keys = append(keys, fmt.Append(nil, i))
	}
	return keys
}
