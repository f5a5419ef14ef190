package interop

import (
	"encoding/hex"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-faster/city"
)

// TestClickHouseHashes holds the hashes against those of a server.
func TestClickHouseHashes(t *testing.T) {
	lines := func(name string) (all [][]string) {
		b, err := os.ReadFile(filepath.Join("testdata", "clickhouse-hashes", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			all = append(all, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
		if len(all) < 100 {
			t.Fatalf("%s has only %d lines", name, len(all))
		}
		return all
	}
	expect := func(what string, got uint64, want string) {
		if strconv.FormatUint(got, 10) != want {
			t.Errorf("%q: %d, the server says %s", what, got, want)
		}
	}
	for _, f := range lines("cityhash64-text.tsv") {
		expect(f[0], city.CH64([]byte(f[0])), f[1])
	}
	for _, f := range lines("cityhash64-hex.tsv") {
		b, err := hex.DecodeString(f[0])
		if err != nil {
			t.Fatal(err)
		}
		expect(f[0], city.CH64(b), f[1])
	}
	for _, f := range lines("cityhash64-pair.tsv") {
		expect(f[0]+" "+f[1], cityPair(city.CH64([]byte(f[0])), city.CH64([]byte(f[1]))), f[2])
	}
	for _, f := range lines("inthash64.tsv") {
		v, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		expect(f[0], murmurFinish(uint64(v)^0x4cf2d2baae6da887), f[1])
	}
	for i, want := range []uint64{0x9ae16a3b2f90404f, 0x2420662cd003acfa, 0xabe4036b6bb6a0a5, 0xf3541fd5381ac838, 0xc1fbc6ba8d29497f} {
		if got := city.CH64(anchors()[i]); got != want {
			t.Errorf("%d bytes: %x, want %x", len(anchors()[i]), got, want)
		}
	}
}

// plainCityPair is cityPair in whole numbers that do not wrap.
func plainCityPair(low, high *big.Int) *big.Int {
	mask := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 64), big.NewInt(1))
	mix := func(v *big.Int) *big.Int {
		v = new(big.Int).Mul(v, new(big.Int).SetUint64(0x9ddfea08eb382d69))
		v.And(v, mask)
		return v.Xor(v, new(big.Int).Rsh(v, 47))
	}
	b := mix(new(big.Int).Xor(high, mix(new(big.Int).Xor(low, high))))
	return b.And(b.Mul(b, new(big.Int).SetUint64(0x9ddfea08eb382d69)), mask)
}

// TestClickHouseGranules fills granules by another way of calculating.
func TestClickHouseGranules(t *testing.T) {
	const size = 200
	number := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
	width := new(big.Int).Lsh(big.NewInt(1), 64)
	tokens := func(seed, k uint64, all ...string) (positions []uint64) {
		for _, token := range all {
			inner := number(city.CH64([]byte(token)))
			inner.Sub(inner, number(0x9ae16a3b2f90404f)).Mod(inner, width)
			h1 := plainCityPair(inner, number(seed))
			second := new(big.Int).Mul(number(845897321), number(seed))
			h2 := plainCityPair(inner, second.Add(second, number(217728422)).Mod(second, width))
			for i := range k {
				sum := new(big.Int).Mul(number(i), h2)
				sum.Add(sum, h1).Add(sum, number(i*i)).Mod(sum, width)
				positions = append(positions, sum.Mod(sum, number(8*size)).Uint64())
			}
		}
		return positions
	}
	hashed := func(h uint64, k int) (positions []uint64) {
		for _, seed := range clickHouseSeeds[:k] {
			sum := plainCityPair(number(h), number(seed))
			positions = append(positions, sum.Mod(sum, number(8*size)).Uint64())
		}
		return positions
	}
	for _, c := range []struct {
		spec      string
		key       []byte
		positions []uint64
		not       []string // keys that the granule has not
	}{
		{"type=bloom,k=4", []byte("größer"), hashed(city.CH64([]byte("größer")), 4), []string{"grösser", ""}},
		{"type=bloom,value=int32,k=15", Int64Key(-2), hashed(murmurFinish(0xfffffffe), 15), []string{string(Int64Key(-1)), "abc", string(Int64Key(1 << 31)), string(Int64Key(-1<<31 - 1))}},
		{"type=bloom,value=int64,k=3", Int64Key(-2), hashed(murmurFinish(0xfffffffffffffffe), 3), []string{string(Int64Key(2))}},
		{"type=bloom,value=uint8,k=3", Int64Key(255), hashed(murmurFinish(255), 3), []string{string(Int64Key(-1)), string(Int64Key(256))}},
		{"type=bloom,value=uint64,k=3", Int64Key(1 << 62), hashed(murmurFinish(1<<62), 3), []string{string(Int64Key(-1 << 62))}},
		{"type=token,k=3,seed=7", []byte("--GET /größer 42-"), tokens(7, 3, "GET", "größer", "42"), []string{"get", "GE", "GET POST"}},
		{"type=ngram,n=3,k=2,seed=18446744073709551615", []byte("aäbc"), tokens(1<<64-1, 2, "aäb", "äbc"), []string{"aäbd", "bca"}},
	} {
		b := make([]byte, size)
		for _, at := range c.positions {
			b[at/8] |= 1 << (at % 8)
		}
		s, err := ParseSpec("clickhouse:" + c.spec)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(b, s)
		if err != nil {
			t.Fatal(err)
		}
		if !f.Has(c.key) {
			t.Errorf("%s: %q is missed", c.spec, c.key)
		}
		for _, key := range c.not {
			if f.Has([]byte(key)) {
				t.Errorf("%s: %q is found", c.spec, key)
			}
		}
		again, err := ParseSpec(f.Describe().Format)
		if err != nil {
			t.Fatal(err)
		}
		if g, err := Open(written(t, f), again); err != nil || !g.Has(c.key) {
			t.Errorf("%s: described as %s, %v", c.spec, again, err)
		}
	}
	// Without a token or a gram an index cannot say no.
	for _, spec := range []string{"clickhouse:type=token", "clickhouse:type=ngram"} {
		s, err := ParseSpec(spec)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(make([]byte, 5), s)
		if err != nil || !f.Has([]byte("--")) || f.Has([]byte("abc")) {
			t.Error(spec, err)
		}
		if _, err := Create(s, 10, 0.1); err == nil || !strings.Contains(err.Error(), "cannot be built") {
			t.Error(err)
		}
	}
}

func TestClickHouseHostile(t *testing.T) {
	good := clickHouseIndex{Kind: clickHouseBloom, Probes: 3, Value: "string"}
	if _, err := openClickHouse([]byte{1}, good); err != nil {
		t.Fatal(err)
	}
	if f, err := openClickHouse(nil, good); !errors.Is(err, ErrBadData) {
		t.Error(f, err)
	}
	for _, c := range []clickHouseIndex{
		{}, {Kind: clickHouseBloom, Probes: 0, Value: "string"}, {Kind: clickHouseBloom, Probes: 16, Value: "string"},
		{Kind: clickHouseTokens}, {Kind: clickHouseTokens, Probes: 1001}, {Kind: clickHouseGrams, Probes: 3}, {Kind: clickHouseGrams, Probes: 3, Gram: 1001},
	} {
		if f, err := openClickHouse([]byte{1}, c); err == nil {
			t.Errorf("%+v: %v", c, f)
		}
	}
	for _, s := range []Spec{specWith("clickhouse", "type", "set", "k", "1"), specWith("clickhouse", "type", "bloom", "value", "date")} {
		if f, err := Open([]byte{1}, s); !errors.Is(err, ErrSpec) {
			t.Errorf("%v: %v, %v", s, f, err)
		}
	}
}

func FuzzClickHouse(f *testing.F) {
	f.Add([]byte{1, 2, 3}, "GET /größer\xff 42")
	var specs []Spec
	for _, text := range []string{"type=bloom,k=15", "type=bloom,value=int16", "type=token,seed=9", "type=ngram,n=1,k=1000", "type=ngram,n=4"} {
		s, err := ParseSpec("clickhouse:" + text)
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
