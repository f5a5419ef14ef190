package interop

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"seen/bloom"
	"seen/internal/filtertest"
)

var bitsAndBloomsVectors = []string{
	"bnb-v2-binary", "bnb-v3-binary", "bnb-v3-binary-bytes", "bnb-v3-bitset-le", "bnb-v3-fromwithm", "bnb-v3-json", "bnb-v3-json-std64", "bnb-v3-m1k1",
}

// plainBitsAndBlooms answers from the bytes, with numbers of arbitrary size in place
// of the code under test.
func plainBitsAndBlooms(t *testing.T, b []byte) func(key []byte) bool {
	m, k := uint64(0), uint64(0)
	var array []byte
	if b[0] == '{' {
		var doc map[string]any
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		m, k = uint64(doc["m"].(float64)), uint64(doc["k"].(float64))
		text := bytes.ReplaceAll(bytes.ReplaceAll([]byte(doc["b"].(string)), []byte("-"), []byte("+")), []byte("_"), []byte("/"))
		var err error
		if array, err = base64.StdEncoding.AppendDecode(nil, text); err != nil {
			t.Fatal(err)
		}
	} else {
		m, k, array = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), b[16:]
	}
	order := binary.ByteOrder(binary.BigEndian)
	if order.Uint64(array) > uint64(len(array))*8 {
		order = binary.LittleEndian
	}
	length, words := order.Uint64(array), array[8:]
	return func(key []byte) bool {
		var h [4]uint64
		h[0], h[1] = plainMurmur3(key)
		h[2], h[3] = plainMurmur3(append(bytes.Clone(key), 1))
		steps := []uint64{h[2], h[3], h[3], h[2]}
		for i := range k {
			at := (h[i%2] + i*steps[i%4]) % m
			if at >= length || order.Uint64(words[at/64*8:])&(1<<(at%64)) == 0 {
				return false
			}
		}
		return true
	}
}

func TestBitsAndBloomsVectors(t *testing.T) {
	for _, name := range bitsAndBloomsVectors {
		t.Run(name, func(t *testing.T) {
			v := readVector(t, name)
			w := v.wish(t)
			file := v.File(t, w.File)
			f, err := openBitsAndBlooms(file)
			if err != nil {
				t.Fatal(err)
			}
			v.compareForeign(t, "read", f.Has)
			v.compareForeign(t, "read in the plain way", plainBitsAndBlooms(t, file))
			expectBytes(t, "written again", written(t, f), file)
			expectReadOnly(t, f)
			if f.scheme.m != w.M || f.scheme.k != w.K || w.Length != 0 && f.length != w.Length {
				t.Errorf("m %d, k %d, L %d; want %d, %d, %d", f.scheme.m, f.scheme.k, f.length, w.M, w.K, w.Length)
			}

			little := f.order == lsbFirst
			c := bitsAndBloomsConfig{Capacity: w.N, ErrorRate: w.P, Form: f.form, LittleEndian: little}
			if w.N == 0 {
				c.M, c.K, c.Length = w.M, w.K, w.Length
			}
			made, err := newBitsAndBlooms(c)
			if err != nil {
				t.Fatal(err)
			}
			adds(t, made, v.Keys)
			v.compareForeign(t, "made", made.Has)
			expectBytes(t, "made", written(t, made), file)
			v.compareForeign(t, "made, and read in the plain way", plainBitsAndBlooms(t, written(t, made)))

			for _, form := range []bitsAndBloomsForm{bitsAndBloomsBinary, bitsAndBloomsJSON, bitsAndBloomsJSONStd} {
				for _, little := range []bool{false, true} {
					g, err := f.As(form, little)
					if err != nil {
						t.Fatal(err)
					}
					b := written(t, g)
					v.compareForeign(t, "as "+string(form), plainBitsAndBlooms(t, b))
					h, err := openBitsAndBlooms(b)
					if err != nil {
						t.Fatal(err)
					}
					if h, err = h.As(f.form, f.order == lsbFirst); err != nil {
						t.Fatal(err)
					}
					expectBytes(t, fmt.Sprintf("there and back as %s, %v", form, little), written(t, h), file)
				}
			}
		})
	}
}

// TestBitsAndBloomsFormsAgree holds one file against another of the vectors that has
// the same filter.
func TestBitsAndBloomsFormsAgree(t *testing.T) {
	read := func(name string) []byte {
		v := readVector(t, name)
		return v.File(t, v.wish(t).File)
	}
	f, err := openBitsAndBlooms(read("bnb-v3-binary"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		form   bitsAndBloomsForm
		little bool
	}{
		{"bnb-v2-binary", bitsAndBloomsBinary, false},
		{"bnb-v3-bitset-le", bitsAndBloomsBinary, true},
		{"bnb-v3-json", bitsAndBloomsJSON, false},
		{"bnb-v3-json-std64", bitsAndBloomsJSONStd, false},
	} {
		g, err := f.As(c.form, c.little)
		if err != nil {
			t.Fatal(err)
		}
		expectBytes(t, c.name, written(t, g), read(c.name))
	}
}

func bitsAndBloomsHeaderOf(m, k, length uint64, words int) []byte {
	b := binary.BigEndian.AppendUint64(nil, m)
	b = binary.BigEndian.AppendUint64(b, k)
	b = binary.BigEndian.AppendUint64(b, length)
	return append(b, make([]byte, 8*words)...)
}

func TestBitsAndBloomsRefuses(t *testing.T) {
	expectRefused(t, openBitsAndBlooms, []damaged{
		{"nothing", nil, "0 bytes"},
		{"half a header", make([]byte, 23), "23 bytes"},
		{"m = 0", bitsAndBloomsHeaderOf(0, 1, 64, 1), "m = 0"},
		{"k = 0", bitsAndBloomsHeaderOf(64, 0, 64, 1), "k = 0"},
		{"many probes", bitsAndBloomsHeaderOf(64, 1<<40, 64, 1), "k = 1099511627776"},
		{"a word too few", bitsAndBloomsHeaderOf(65, 3, 65, 1), "65"},
		{"a word too many", bitsAndBloomsHeaderOf(64, 3, 64, 2), "64"},
		{"a length that wraps around", bitsAndBloomsHeaderOf(64, 3, 1<<64-1, 0), "18446744073709551615"},
		{"a byte too many", append(bitsAndBloomsHeaderOf(64, 3, 64, 1), 0), "64"},
		{"empty JSON", []byte(`{}`), "lacks m, k or b"},
		{"JSON without bits", []byte(`{"m":1,"k":1}`), "lacks m, k or b"},
		{"JSON cut short", []byte(`{"m":1,"k":1,"b":"`), "unexpected end"},
		{"JSON with more behind", []byte(`{"m":1,"k":1,"b":"AAAAAAAAAAA="} 1`), "after top-level"},
		{"JSON with less than a length", []byte(`{"m":1,"k":1,"b":"AAAA"}`), "3 bytes"},
		{"JSON with a negative number", []byte(`{"m":-1,"k":1,"b":"AAAAAAAAAAA="}`), "number -1"},
		{"JSON with k = 0", []byte(`{"m":1,"k":0,"b":"AAAAAAAAAAA="}`), "k = 0"},
		{"JSON with both alphabets", []byte(`{"m":1,"k":1,"b":"AAAAAAAAAA+_AAA="}`), "illegal base64"},
	})
}

func TestBitsAndBloomsShortArray(t *testing.T) {
	// What New(0, 0) and WriteTo give: an array of no bits, in which nothing is.
	f, err := openBitsAndBlooms(bitsAndBloomsHeaderOf(1, 1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if f.Has([]byte("a")) {
		t.Error("an array without bits has a key")
	}
	g, err := f.Clone()
	if err != nil {
		t.Fatal(err)
	}
	adds(t, g, [][]byte{[]byte("a")})
	if want := append(bitsAndBloomsHeaderOf(1, 1, 1, 0), 0, 0, 0, 0, 0, 0, 0, 1); !bytes.Equal(written(t, g), want) {
		t.Errorf("%x, want %x", written(t, g), want)
	}
	if f.Has([]byte("a")) {
		t.Error("a change of the copy is one of the original")
	}
	// A bit after L is not a bit of the filter.
	f, err = openBitsAndBlooms(append(bitsAndBloomsHeaderOf(64, 1, 3, 0), bytes.Repeat([]byte{0xff}, 8)...))
	if err != nil {
		t.Fatal(err)
	}
	yes := 0
	for i := range 1000 {
		if f.Has(fmt.Append(nil, i)) {
			yes++
		}
	}
	if yes < 10 || yes > 100 || f.Stats().Ones != 3 {
		t.Errorf("%d of 1000 keys, %d ones, want about %d and 3", yes, f.Stats().Ones, 1000*3/64)
	}
	// A few bytes do not make a caller allocate an array for m.
	for _, m := range []uint64{1 << 28, 1 << 62} {
		f, err = openBitsAndBlooms(bitsAndBloomsHeaderOf(m, 1, 0, 0))
		if err != nil {
			t.Fatal(err)
		}
		if g, err := f.Clone(); err == nil {
			t.Errorf("%d bytes were allocated", len(g.bits.b))
		}
	}
}

func testBitsAndBlooms(t testing.TB, c bitsAndBloomsConfig) *bitsAndBlooms {
	t.Helper()
	f, err := newBitsAndBlooms(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestBitsAndBloomsUnion(t *testing.T) {
	whole := testBitsAndBlooms(t, bitsAndBloomsConfig{Capacity: 200, ErrorRate: 0.01})
	a := testBitsAndBlooms(t, bitsAndBloomsConfig{Capacity: 200, ErrorRate: 0.01})
	b := testBitsAndBlooms(t, bitsAndBloomsConfig{Capacity: 200, ErrorRate: 0.01, LittleEndian: true, Form: bitsAndBloomsJSON})
	adds(t, whole, numberedKeys(0, 200))
	adds(t, a, numberedKeys(0, 100))
	adds(t, b, numberedKeys(100, 200))
	if err := a.Union(b); err != nil {
		t.Fatal(err)
	}
	expectBytes(t, "the union", written(t, a), written(t, whole))
	if s := a.Stats(); s.Cardinality.Value < 180 || s.Cardinality.Value > 220 || s.Bits != a.scheme.m || s.Fill < 0.4 || s.Fill > 0.6 || s.ErrorRate < 0.005 || s.ErrorRate > 0.02 {
		t.Errorf("%+v", s)
	}
	for _, c := range []bitsAndBloomsConfig{{M: a.scheme.m, K: 6}, {M: a.scheme.m + 1, K: 7}} {
		if err := a.Union(testBitsAndBlooms(t, c)); !errors.Is(err, bloom.ErrIncompatible) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	parsed, err := openBitsAndBlooms(written(t, a))
	if err != nil {
		t.Fatal(err)
	}
	if err := parsed.Union(a); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
}

func TestBitsAndBloomsConfig(t *testing.T) {
	for _, c := range []bitsAndBloomsConfig{
		{}, {Capacity: 10}, {Capacity: 10, ErrorRate: 1}, {ErrorRate: 0.5}, {M: 10}, {M: 10, K: 1001}, {M: 10, K: 1, Form: "text"},
		{Capacity: 1 << 63, ErrorRate: 1e-9}, {M: 1 << 63, K: 1}, {M: 10, K: 1, Length: 1<<64 - 1},
	} {
		if f, err := newBitsAndBlooms(c); err == nil {
			t.Errorf("%+v: a filter of %d bits", c, f.scheme.m)
		}
	}
	// Numbers from the module itself, version 3.7.1.
	for _, c := range []struct {
		n    uint64
		p    float64
		m, k uint64
	}{{1, 0.5, 2, 2}, {300, 0.03, 2190, 6}, {1000, 0.01, 9586, 7}, {1000000, 1e-6, 28755176, 20}, {7, 0.999, 1, 1}} {
		f := testBitsAndBlooms(t, bitsAndBloomsConfig{Capacity: c.n, ErrorRate: c.p})
		if f.scheme.m != c.m || f.scheme.k != c.k {
			t.Errorf("%d keys at %v: m %d, k %d, want %d, %d", c.n, c.p, f.scheme.m, f.scheme.k, c.m, c.k)
		}
	}
}

func TestBitsAndBloomsManyProbes(t *testing.T) {
	f := testBitsAndBlooms(t, bitsAndBloomsConfig{M: 1 << 20, K: 1000})
	for i := range 200 {
		adds(t, f, [][]byte{fmt.Append(nil, i)})
	}
	s := f.Stats()
	if s.Cardinality.Value < 190 || s.Cardinality.Value > 210 || s.Cardinality.StdErr <= 0 || s.ErrorRate > 1e-9 {
		t.Errorf("%+v", s)
	}
}

func TestBitsAndBloomsWriteErrors(t *testing.T) {
	f := testBitsAndBlooms(t, bitsAndBloomsConfig{Capacity: 50, ErrorRate: 0.1})
	adds(t, f, [][]byte{[]byte("a")})
	expectWriteErrors(t, f)
	for _, form := range []bitsAndBloomsForm{bitsAndBloomsBinary, bitsAndBloomsJSON} {
		g, err := f.As(form, true)
		if err != nil {
			t.Fatal(err)
		}
		expectWriteErrors(t, g)
	}
}

func FuzzParseBitsAndBlooms(f *testing.F) {
	for _, name := range bitsAndBloomsVectors {
		v := readVector(f, name)
		f.Add(v.File(f, v.wish(f).File))
	}
	f.Add(bitsAndBloomsHeaderOf(1<<62, 3, 64, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := filtertest.HeapAllocs()
		g, err := openBitsAndBlooms(b)
		if n := filtertest.HeapAllocs() - before; n > 2<<20+8*uint64(len(b)) {
			t.Fatalf("parsing %d bytes allocated %d", len(b), n)
		}
		if (g == nil) == (err == nil) {
			t.Fatalf("%v and %v", g, err)
		}
		if err != nil {
			return
		}
		if g.Stats().Ones > g.scheme.m {
			t.Fatal("more ones than bits")
		}
		again, err := openBitsAndBlooms(written(t, g))
		if err != nil {
			t.Fatal(err)
		}
		c, err := g.Clone()
		for i := range 20 {
			key := fmt.Append(nil, i)
			if g.Has(key) != again.Has(key) {
				t.Fatalf("%q: what was written answers otherwise", key)
			}
			if err == nil {
				adds(t, c, [][]byte{key})
			}
		}
	})
}

// TestBitsAndBloomsBehindLength has bits of m that are after the end of the array,
// and are 0 to the module whatever the file has there.
func TestBitsAndBloomsBehindLength(t *testing.T) {
	for _, little := range []bool{false, true} {
		b := append(bitsAndBloomsHeaderOf(64, 2, 1, 0), bytes.Repeat([]byte{0xff}, 8)...)
		if little {
			slices.Reverse(b[16:24])
		}
		f, err := openBitsAndBlooms(b)
		if err != nil {
			t.Fatal(err)
		}
		c, err := f.Clone()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Union(f); err != nil {
			t.Fatal(err)
		}
		adds(t, c, [][]byte{[]byte("a"), []byte("b")})
		if n := c.Stats().Ones; n > 5 {
			t.Errorf("%d bits are set by two keys", n)
		}
	}
}

func TestBitsAndBloomsNoCopy(t *testing.T) {
	const words = 1 << 21
	expectNoCopy(t, openBitsAndBlooms, bitsAndBloomsHeaderOf(64*words, 7, 64*words, 0), 8*words)
}
