package interop

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/big"
	"slices"
	"testing"
)

func init() {
	goldenCases = append(goldenCases, []goldenCase{
		{dir: "rocksdb-fastlocal10", spec: "rocksdb", build: "rocksdb:bits=10", capacity: 310, errorRate: 0.01},
		{dir: "rocksdb-fastlocal10", file: "table.sst"},
		{dir: "rocksdb-fastlocal5.5", spec: "rocksdb", build: "rocksdb:bits=5.5", capacity: 310, errorRate: 0.01},
		{dir: "rocksdb-fastlocal5.5", file: "table.sst"},
	}...)
}

// plainXXPH3 is the hash for up to 240 bytes, in whole numbers that do not wrap, with
// the secret written down a second time.
func plainXXPH3(t *testing.T, b []byte) uint64 {
	secret, err := hex.DecodeString("b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221" +
		"b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" +
		"a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb" +
		"170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
	if err != nil {
		t.Fatal(err)
	}
	mask := new(big.Int).SetUint64(math.MaxUint64)
	number := func(b []byte, at, size int) *big.Int {
		word := slices.Clone(b[at : at+size])
		slices.Reverse(word)
		return new(big.Int).SetBytes(word)
	}
	times := func(a *big.Int, by uint64) *big.Int {
		p := new(big.Int).Mul(a, new(big.Int).SetUint64(by))
		return p.And(p, mask)
	}
	shifted := func(h *big.Int, by uint) *big.Int { return new(big.Int).Xor(h, new(big.Int).Rsh(h, by)) }
	avalanche := func(h *big.Int) uint64 {
		return shifted(times(shifted(new(big.Int).And(h, mask), 37), 0x165667b19e3779f9), 32).Uint64()
	}
	fold := func(a, b *big.Int) *big.Int {
		p := new(big.Int).Mul(a, b)
		return new(big.Int).Xor(new(big.Int).And(p, mask), new(big.Int).Rsh(p, 64))
	}
	mix := func(at, s int) *big.Int {
		return fold(new(big.Int).Xor(number(b, at, 8), number(secret, s, 8)), new(big.Int).Xor(number(b, at+8, 8), number(secret, s+8, 8)))
	}
	const p1, p2 = 0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f
	n := len(b)
	size := big.NewInt(int64(n))
	switch {
	case n == 0:
		return fold(number(secret, 0, 8), new(big.Int).SetUint64(p2)).Uint64()
	case n <= 3:
		c := big.NewInt(int64(b[0]) | int64(b[n/2])<<8 | int64(b[n-1])<<16 | int64(n)<<24)
		return avalanche(times(c.Xor(c, number(secret, 0, 4)), p1))
	case n <= 8:
		k := new(big.Int).Lsh(number(b, n-4, 4), 32)
		k.Or(k, number(b, 0, 4)).Xor(k, number(secret, 0, 8))
		m := times(shifted(k, 51), 2654435761)
		m.Add(m, size).And(m, mask)
		return avalanche(times(shifted(m, 47), p2))
	case n <= 16:
		low, high := new(big.Int).Xor(number(b, 0, 8), number(secret, 0, 8)), new(big.Int).Xor(number(b, n-8, 8), number(secret, 8, 8))
		sum := fold(low, high)
		return avalanche(sum.Add(sum, low).Add(sum, high).Add(sum, size))
	}
	sum := times(size, p1)
	add := func(v *big.Int) { sum.Add(sum, v) }
	if n <= 128 {
		for i, least := range []int{16, 32, 64, 96} {
			if n > least {
				add(mix(16*i, 32*i))
				add(mix(n-16*(i+1), 32*i+16))
			}
		}
		return avalanche(sum)
	}
	for i := range n / 16 {
		if i < 8 {
			add(mix(16*i, 16*i))
		} else {
			add(mix(16*i, 16*(i-8)+3))
		}
		if i == 7 {
			sum.SetUint64(avalanche(sum))
		}
	}
	add(mix(n-16, 119))
	return avalanche(sum)
}

func TestXXPH3(t *testing.T) {
	for i, want := range []uint64{0x5342c3010fe1dd04, 0x88d868bf607681c7, 0xe5f7b82156a07a14, 0xb6259f52ac0f6ddc, 0x1858aee0c0412fd4} {
		key := anchors()[i]
		if got := xxph3(key); got != want {
			t.Errorf("%d bytes: %x, want %x", len(key), got, want)
		}
	}
	key := make([]byte, 240)
	for i := range key {
		key[i] = byte(i*i + 7*i)
	}
	for n := range len(key) + 1 {
		if got, want := xxph3(key[:n]), plainXXPH3(t, key[:n]); got != want {
			t.Errorf("%d bytes: %x, by the definition %x", n, got, want)
		}
	}
}

func TestRocksDBProbes(t *testing.T) {
	for dir, k := range map[string]int{"rocksdb-fastlocal10": 6, "rocksdb-fastlocal5.5": 4} {
		lines := int64(len(readGolden(t, goldenCase{dir: dir}).filter)-5) / 64
		compareBits(t, goldenCase{dir: dir}, false, func(key []byte) (all []uint64) {
			h := xxph3(key)
			if len(key) <= 240 {
				h = plainXXPH3(t, key)
			}
			line := new(big.Int).Mul(big.NewInt(int64(h%(1<<32))), big.NewInt(lines))
			at := line.Rsh(line, 32).Uint64() * 512
			for x := h >> 32; len(all) < k; x = x * 0x9e3779b9 % (1 << 32) {
				all = append(all, at+x/(1<<23))
			}
			return all
		})
	}
}

func TestRocksDBSize(t *testing.T) {
	for _, c := range []struct {
		keys     uint64
		bits     float64
		lines, k uint64
	}{
		{0, 10, 1, 6}, {310, 10, 7, 6}, {310, 5.5, 4, 4}, {512, 1, 1, 1}, {513, 1, 2, 1}, {1, 2.08, 1, 1}, {1, 2.081, 1, 2}, {1, 22, 1, 11}, {1, 25.501, 1, 12},
		{1, 25.502, 1, 11}, {1, 50, 1, 23}, {1, 50.001, 1, 24}, {1, 100, 1, 24},
	} {
		f, err := newRocksDB(c.keys, c.bits)
		if err != nil {
			t.Fatal(err)
		}
		if m, k := f.scheme.size(); m != c.lines*512 || k != c.k {
			t.Errorf("%d keys of %v bits: %d lines and %d probes, want %d and %d", c.keys, c.bits, m/512, k, c.lines, c.k)
		}
	}
	for _, c := range []struct {
		keys uint64
		bits float64
	}{{1, 0}, {1, 0.5}, {1, 101}, {1, math.NaN()}, {1, math.Inf(1)}, {1 << 35, 10}, {1 << 60, 100}} {
		if f, err := newRocksDB(c.keys, c.bits); err == nil {
			t.Errorf("%+v: %v", c, f)
		}
	}
}

// TestRocksDBTable takes the filter out of a table.
func TestRocksDBTable(t *testing.T) {
	g := readGolden(t, goldenCase{dir: "rocksdb-fastlocal10"})
	table := readGolden(t, goldenCase{dir: "rocksdb-fastlocal10", file: "table.sst"})
	f, err := Open(table.filter, Spec{})
	if err != nil {
		t.Fatal(err)
	}
	expectBytes(t, "the table", written(t, f), table.filter)
	clone, err := Clone(f)
	if err != nil {
		t.Fatal(err)
	}
	expectBytes(t, "the filter of the table", written(t, clone), g.filter)
	expectReadOnly(t, f.(Adder))
	empty, err := newRocksDB(310, 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := empty.Union(f); err != nil {
		t.Fatal(err)
	}
	expectBytes(t, "the union with nothing", written(t, empty), g.filter)
	expectWriteErrors(t, empty)
	if st := f.Stats(); st.Cardinality.Value < 250 || st.Cardinality.Value > 370 || st.ErrorRate < 0.003 || st.ErrorRate > 0.02 {
		t.Errorf("%+v", st)
	}
}

func TestRocksDBHostile(t *testing.T) {
	end := func(lines int, tail ...byte) []byte { return append(make([]byte, 64*lines), tail...) }
	if _, err := openRocksDB(end(2, 0xff, 0, 6, 0, 0)); err != nil {
		t.Fatal(err)
	}
	expectRefused(t, openRocksDB, []damaged{
		{"nothing", nil, "never added"}, {"no lines", end(0, 0xff, 0, 6, 0, 0), "never added"}, {"Ribbon", end(1, 0xfe, 0, 6, 0, 0), "Ribbon"},
		{"always", end(1, 0, 0, 0, 0, 0), "every key"}, {"the old layout", end(1, 6, 1, 0, 0, 0), "before format version 5"}, {"unknown", end(1, 0xfd, 0, 6, 0, 0), "not those of FastLocalBloom"},
		{"another sub-implementation", end(1, 0xff, 1, 6, 0, 0), "not those of FastLocalBloom"}, {"longer lines", end(1, 0xff, 0, 0x26, 0, 0), "not those of FastLocalBloom"},
		{"no probes", end(1, 0xff, 0, 0, 0, 0), "0 probes"}, {"31 probes", end(1, 0xff, 0, 31, 0, 0), "31 probes"}, {"half a line", append(make([]byte, 32), 0xff, 0, 6, 0, 0), "not lines of 64"},
	})
	good := readGolden(t, goldenCase{dir: "rocksdb-fastlocal10", file: "table.sst"}).filter
	change := func(old, with string) []byte {
		b := bytes.Replace(good, []byte(old), []byte(with), 1)
		if bytes.Equal(b, good) || len(b) != len(good) {
			t.Fatalf("%q is not in the table", old)
		}
		return b
	}
	set := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[len(b)-at] = v
		return b
	}
	expectRefused(t, openRocksDBTable, []damaged{
		{"nothing", nil, "its last bytes differ"}, {"the end alone", good[len(good)-53:], "a block of"}, {"version 6", set(12, 6), "format version 6"}, {"version 0", set(12, 0), "format version 0"},
		{"another filter", change("fullfilter.rocksdb.Builtin", "fullfilter.rocksdb.bUILTIN"), "no full filter"},
		{"no properties", change("rocksdb.properties", "rocksdb.propertied"), "no properties"},
		{"prefixes alone", change("whole.key.filtering1", "whole.key.filtering0"), "not whole keys"},
		{"a metaindex far away", set(51, 0x7f), "a block of"},
	})
}
