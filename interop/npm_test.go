package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"seen/bloom"
)

func init() {
	goldenCases = append(goldenCases, []goldenCase{
		{dir: "js-bloom-filters", build: "npm-bloom-filters", capacity: 300, errorRate: 0.03},
		{dir: "js-bloom-filters-seed", build: "npm-bloom-filters:seed=42", capacity: 300, errorRate: 0.03},
		{dir: "js-bloomfilter", build: "npm-bloomfilter", capacity: 300, errorRate: 0.03},
	}...)
}

// plainXXH64 is XXH64 from its definition.
func plainXXH64(b []byte, seed uint64) uint64 {
	p := [6]uint64{0, 0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9, 0x85ebca77c2b2ae63, 0x27d4eb2f165667c5}
	read := func(n int) (v uint64) {
		for i := range n {
			v |= uint64(b[i]) << (8 * i)
		}
		b = b[n:]
		return v
	}
	n := uint64(len(b))
	round := func(acc, v uint64) uint64 { return bits.RotateLeft64(acc+v*p[2], 31) * p[1] }
	h := seed + p[5]
	if n >= 32 {
		acc := [4]uint64{seed + p[1] + p[2], seed + p[2], seed, seed - p[1]}
		for len(b) >= 32 {
			for i := range acc {
				acc[i] = round(acc[i], read(8))
			}
		}
		h = bits.RotateLeft64(acc[0], 1) + bits.RotateLeft64(acc[1], 7) + bits.RotateLeft64(acc[2], 12) + bits.RotateLeft64(acc[3], 18)
		for _, a := range acc {
			h = (h^round(0, a))*p[1] + p[4]
		}
	}
	h += n
	for len(b) >= 8 {
		h = bits.RotateLeft64(h^round(0, read(8)), 27)*p[1] + p[4]
	}
	if len(b) >= 4 {
		h = bits.RotateLeft64(h^read(4)*p[1], 23)*p[2] + p[3]
	}
	for len(b) > 0 {
		h = bits.RotateLeft64(h^read(1)*p[5], 11) * p[1]
	}
	h = (h ^ h>>33) * p[2]
	h = (h ^ h>>29) * p[3]
	return h ^ h>>32
}

func TestXXH64(t *testing.T) {
	for i, want := range []uint64{0xef46db3751d8e999, 0xd24ec4f1a98c6e5b, 0x45ab6734b21e6968, 0x6ac1e58032166597, 0x8377db93c80fd5bf} {
		key := anchors()[i]
		if got, plain := xxh64(key, 0), plainXXH64(key, 0); got != want || plain != want {
			t.Errorf("%d bytes: %x and, by the definition, %x, want %x", len(key), got, plain, want)
		}
		if xxh64(key, 77) != plainXXH64(key, 77) {
			t.Errorf("%d bytes: with a seed they differ", len(key))
		}
	}
}

// npmLines reads a file that bloom-filters 3.0.4 and bloomfilter 1.1.0 under node 20 made.
func npmLines(t *testing.T, name string) [][]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "js-bloom-filters", name))
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]string
	for line := range strings.Lines(string(b)) {
		lines = append(lines, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return lines
}

// Each line of seeds.tsv is what saveAsJSON writes after BloomFilter.create(20, 0.05), a
// seed, and adding "key 0" to "key 19"; and what has answers for "key 0" to "key 199".
func TestNPMBloomFiltersSeeds(t *testing.T) {
	for _, line := range npmLines(t, "seeds.tsv") {
		f, err := openNPMBloomFilters([]byte(line[0]))
		if err != nil {
			t.Errorf("%s: %v", line[0], err)
			continue
		}
		var answers strings.Builder
		for i := range line[1] {
			answers.WriteByte("01"[map[bool]int{true: 1}[f.Has(fmt.Appendf(nil, "key %d", i))]])
		}
		if answers.String() != line[1] {
			t.Errorf("seed %s: answers\n%s, want\n%s", f.seed, answers.String(), line[1])
		}
		var again bytes.Buffer
		if _, err := f.WriteTo(&again); err != nil || again.String() != line[0] {
			t.Errorf("seed %s: written as %s, %v; want %s", f.seed, again.String(), err, line[0])
		}
		seed, err := f.seed.Float64()
		if err != nil || math.Abs(seed) > npmMaxNumber || seed != math.Trunc(seed) {
			continue // such filters are only read
		}
		made, err := newNPMBloomFilters(20, 0.05, seed)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if _, err := made.Add(fmt.Appendf(nil, "key %d", i)); err != nil {
				t.Fatal(err)
			}
		}
		again.Reset()
		if _, err := made.WriteTo(&again); err != nil || again.String() != line[0] {
			t.Errorf("seed %s: built as %s, %v; want %s", f.seed, again.String(), err, line[0])
		}
	}
	for _, seed := range []float64{0.5, npmMaxNumber + 2, math.NaN(), math.Inf(1)} {
		if f, err := newNPMBloomFilters(20, 0.05, seed); err == nil {
			t.Errorf("a filter with seed %v: %v", seed, f)
		}
	}
}

// Each line of sizes.tsv has a number of keys and an error rate, and m and k of
// BloomFilter.create of bloom-filters and of BloomFilter.withTargetError of bloomfilter.
func TestNPMSizes(t *testing.T) {
	for _, line := range npmLines(t, "sizes.tsv") {
		n, err := strconv.ParseUint(line[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		p, err := strconv.ParseFloat(line[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		f, err := newNPMBloomFilters(n, p, npmBloomFiltersSeed)
		if err != nil {
			t.Fatal(err)
		}
		g, err := newNPMBloomFilter(n, p)
		if err != nil {
			t.Fatal(err)
		}
		fm, fk := f.scheme.size()
		gm, gk := g.scheme.size()
		if got := fmt.Sprint(fm, fk, gm, gk); got != strings.Join(line[2:], " ") {
			t.Errorf("%d keys at %v: m and k of the two packages are %s, want %s", n, p, got, line[2:])
		}
	}
}

func TestNPMBloomFiltersProbes(t *testing.T) {
	for dir, seed := range map[string]uint64{"js-bloom-filters": 78187493520, "js-bloom-filters-seed": 42} {
		g := readGolden(t, goldenCase{dir: dir})
		var doc struct {
			Filter struct{ Content []byte } `json:"_filter"`
		}
		if err := json.Unmarshal(g.filter, &doc); err != nil {
			t.Fatal(err)
		}
		for i, key := range g.asked {
			a, b := plainXXH64(key, (seed+1)%(1<<32))%(1<<32), plainXXH64(key, (seed+2)%(1<<32))%(1<<32)
			want := true
			for j := range int64(6) {
				sum := new(big.Int).Mul(big.NewInt(j), new(big.Int).SetUint64(b))
				sum.Add(sum, new(big.Int).SetUint64(a)).Add(sum, big.NewInt((j*j*j-j)/6))
				at := sum.Mod(sum, big.NewInt(2190)).Uint64()
				want = want && doc.Filter.Content[at/8]>>(at%8)&1 != 0
			}
			if want != (g.answers[i] == "true") {
				t.Fatalf("%s: key %q: %v, the original says %s", dir, key, want, g.answers[i])
			}
		}
	}
}

func TestNPMBloomFilterProbes(t *testing.T) {
	g := readGolden(t, goldenCase{dir: "js-bloomfilter"})
	var doc struct {
		M       int64
		Buckets []uint32
	}
	if err := json.Unmarshal(g.filter, &doc); err != nil {
		t.Fatal(err)
	}
	for i, key := range g.asked {
		h := new(big.Int)
		h.SetString("14695981039346656037", 10)
		for _, unit := range utf16.Encode([]rune(string(key))) {
			h.Xor(h, big.NewInt(int64(unit)))
			h.Mul(h, big.NewInt(1099511628211))
			h.Mod(h, new(big.Int).Lsh(big.NewInt(1), 64))
		}
		m := big.NewInt(doc.M)
		mod := func(v uint32) int64 { return new(big.Int).Mod(big.NewInt(int64(int32(v))), m).Int64() }
		a, b := mod(uint32(h.Uint64()>>32)), mod(uint32(h.Uint64()))
		want := true
		for j := range int64(6) {
			// The sums of sums in closed form.
			at := (a + j*b + (j*j*j-j)/6) % doc.M
			want = want && doc.Buckets[at/32]>>(at%32)&1 != 0
		}
		if want != (g.answers[i] == "true") {
			t.Fatalf("key %q: %v, the original says %s", key, want, g.answers[i])
		}
	}
}

// TestNPMOldList reads the list that older versions wrote in place of base64.
func TestNPMOldList(t *testing.T) {
	g := readGolden(t, goldenCase{dir: "js-bloom-filters"})
	f, err := openNPMBloomFilters(g.filter)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for i := range uint64(2190) {
		list = append(list, map[bool]string{false: "0", true: " 1"}[f.bits.has(i)])
	}
	text := fmt.Sprintf(` {"_seed":78187493520,"_nbHashes":6,"_filter":[%s],"_size":2190,"type":"BloomFilter"}`, strings.Join(list, ","))
	old, err := Open([]byte(text), Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written(t, old), g.filter) {
		t.Error("the filter with a list is written otherwise")
	}
}

func TestNPMUnion(t *testing.T) {
	made := func(f Foreign, err error) Foreign {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for name, c := range map[string]struct{ a, b, other Foreign }{
		"bloom-filters": {
			made(foreign(newNPMBloomFilters(100, 0.01, 1))), made(foreign(newNPMBloomFilters(100, 0.01, 1<<32+1))), made(foreign(newNPMBloomFilters(100, 0.01, 2))),
		},
		"bloomfilter": {made(foreign(newNPMBloomFilter(100, 0.01))), made(foreign(newNPMBloomFilter(100, 0.01))), made(foreign(newNPMBloomFilter(1000, 0.01)))},
	} {
		adds(t, c.a.(Adder), [][]byte{[]byte("one"), []byte("größer 𝄞")})
		adds(t, c.b.(Adder), [][]byte{[]byte("two")})
		if err := c.a.(Merger).Union(c.b); err != nil || !c.a.Has([]byte("two")) || c.b.Has([]byte("one")) {
			t.Errorf("%s: the union lacks a key, %v", name, err)
		}
		if err := c.a.(Merger).Union(c.other); !errors.Is(err, bloom.ErrIncompatible) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := c.a.(Adder).Add([]byte("\xff")); err == nil || c.a.Has([]byte("\xff")) {
			t.Errorf("%s: a key that is not text was added", name)
		}
		again, err := Open(written(t, c.a), Spec{})
		if err != nil {
			t.Fatal(err)
		}
		expectReadOnly(t, again.(Adder))
		expectWriteErrors(t, c.a)
	}
}

func TestNPMHostile(t *testing.T) {
	part := func(size, hashes, filter, seed string) []byte {
		return fmt.Appendf(nil, `{"type":"BloomFilter","_size":%s,"_nbHashes":%s,"_filter":%s,"_seed":%s}`, size, hashes, filter, seed)
	}
	good := `{"size":8,"content":"AA=="}`
	if _, err := openNPMBloomFilters(part("5", "3", good, "-1")); err != nil {
		t.Fatal(err)
	}
	expectRefused(t, openNPMBloomFilters, []damaged{
		{"nothing", nil, "JSON"}, {"a list", []byte("[]"), "array"}, {"no members", []byte("{}"), "the JSON lacks"},
		{"another type", []byte(`{"type":"CountingBloomFilter","_size":8,"_nbHashes":1,"_filter":{},"_seed":1}`), "CountingBloomFilter"},
		{"no bits", part("0", "3", good, "1"), "m = 0"}, {"no probes", part("5", "0", good, "1"), "k = 0"}, {"many probes", part("5", "1001", good, "1"), "k = 1001"},
		{"m of half a bit", part("5.5", "3", good, "1"), "5.5"}, {"a negative m", part("-5", "3", good, "1"), "-5"}, {"m beyond memory", part("9007199254740992", "3", good, "1"), "1 bytes of bits"},
		{"a long list", part("9007199254740992", "3", "[0,0]", "1"), "m = 9007199254740992"},
		{"a short array", part("9", "3", good, "1"), "takes 2"}, {"a size that is not the array's", part("5", "3", `{"size":16,"content":"AA=="}`, "1"), "size of 16"},
		{"no base64", part("5", "3", `{"size":8,"content":"A*"}`, "1"), "base64"},
		{"a seed that is not a number", part("5", "3", good, `"x"`), "invalid"}, {"a seed beyond all numbers", part("8", "1", good, "1e400"), "1e400"},
		{"no seed", []byte(`{"type":"BloomFilter","_size":5,"_nbHashes":3,"_filter":` + good + `}`), "_seed"},
		{"a list too short", part("5", "3", "[0,1,0,1]  ", "1"), "m = 5"}, {"a list too long", part("2", "3", "[0,1,0]", "1"), "more than m = 2"}, {"a two", part("2", "3", "[0,2]", "1"), `"2"`},
	})
	bucket := func(m, k, buckets string) []byte {
		return fmt.Appendf(nil, `{"version":1,"m":%s,"k":%s,"buckets":%s}`, m, k, buckets)
	}
	if f, err := openNPMBloomFilter(bucket("64", "3", "[ -1, 4294967295]")); err != nil || f.Stats().Ones != 64 {
		t.Fatal(err)
	}
	expectRefused(t, openNPMBloomFilter, []damaged{
		{"nothing", nil, "JSON"}, {"no members", []byte("{}"), "the JSON lacks"}, {"no version", []byte(`{"m":32,"k":1,"buckets":[0]}`), "no version"},
		{"version 2", []byte(`{"version":2,"m":32,"k":1,"buckets":[0]}`), "version 2"}, {"no bits", bucket("0", "1", "[]"), "m = 0"}, {"odd bits", bucket("33", "1", "[0,0]"), "m = 33"},
		{"no probes", bucket("32", "0", "[0]"), "k = 0"}, {"many probes", bucket("32", "1001", "[0]"), "k = 1001"}, {"beyond memory", bucket("18446744073709551584", "1", "[0]"), "buckets"},
		{"too few", bucket("64", "1", "[ 1 ]"), "1 buckets"}, {"too many", bucket("32", "1", "[1,2]"), "more buckets"}, {"33 bits", bucket("32", "1", "[4294967296]"), "4294967296"},
		{"too low", bucket("32", "1", "[-2147483649]"), "-2147483649"}, {"no list", bucket("32", "1", "{}"), "the JSON lacks"}, {"a text", bucket("32", "1", `["x"]`), "number"},
	})
}

func FuzzNPM(f *testing.F) {
	for _, dir := range []string{"js-bloom-filters", "js-bloomfilter"} {
		f.Add(readGolden(f, goldenCase{dir: dir}).filter)
	}
	f.Add([]byte(`{"type":"BloomFilter","_size":5,"_nbHashes":3,"_filter":[0,1,0,1,1],"_seed":-1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		exerciseForeign(t, b, Spec{Name: "npm-bloom-filters"})
		exerciseForeign(t, b, Spec{Name: "npm-bloomfilter"})
	})
}
