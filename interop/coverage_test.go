package interop

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"seen/internal/filtertest"
	"seen/internal/recipe"
)

// coverageCase is a filter to fill: n keys at an error rate, and loads times as many.
type coverageCase struct {
	spec  string
	loads []float64 // keys relative to the capacity
	rates []float64 // error rates; all of coverageRates if nil
	// key makes a key that is not a number; 16 hexadecimal digits if nil.
	key func(random uint64) []byte
}

const coverageKeys = 1000

var (
	coverageRates = []float64{0.1, 0.01, 1e-4}
	oneSize       = []float64{0.01} // where the specification tells the size
)

// The estimated number of keys of a filter of another system, and the standard error that
// it claims, are right: for filters that are nearly empty, full, overfull and grown.
func TestCardinalityCoverage(t *testing.T) {
	arrays := []float64{0.1, 0.5, 1, 3}
	for _, c := range []coverageCase{
		{spec: "bits-and-blooms", loads: arrays},
		{spec: "dcso", loads: arrays},
		{spec: "guava:funnel=long", loads: arrays},
		{spec: "spark:type=long", loads: arrays},
		{spec: "parquet:type=int64", loads: arrays},
		{spec: "redisbloom", loads: []float64{0.1, 1, 4, 20}},
		{spec: "pyprobables", loads: arrays},
		{spec: "pyprobables:type=expanding", loads: []float64{0.1, 1, 4}},
		{spec: "pyprobables:type=counting", loads: arrays},
		{spec: "npm-bloom-filters", loads: arrays},
		{spec: "npm-bloomfilter", loads: arrays},
		{spec: "bitarray:gen=sha1", loads: arrays},
		{spec: "rocksdb", loads: arrays},
		{spec: "leveldb", loads: arrays},
		{spec: "leveldb:bits=12", loads: arrays, rates: oneSize}, // 3 and 5 divide the bits
		{spec: "leveldb:bits=34", loads: arrays, rates: oneSize}, // 5 and 17
		{spec: "redisson", loads: arrays},
		{spec: "redisson:m=19168,k=13", loads: arrays, rates: oneSize}, // 32 divides the bits
		{spec: "redisson:m=16384,k=16", loads: arrays, rates: oneSize},
		{spec: "redis-recipe:type=md5,bits=13", loads: arrays, rates: oneSize},
		{spec: "redis-recipe:type=md5,bits=13,blocks=3", loads: arrays, rates: oneSize},
		{spec: "redis-recipe:type=scrapy,bits=13", loads: arrays, rates: oneSize, key: fingerprint},
		{spec: "redis-recipe:type=scrapy,bits=16", loads: arrays, rates: oneSize, key: fingerprint},
		{spec: "java-bitset:bits=16384", loads: arrays, rates: oneSize},
		{spec: "clickhouse:type=bloom,k=7", loads: arrays, rates: oneSize},
		{spec: "clickhouse:type=bloom,k=7,value=int64", loads: arrays, rates: oneSize},
		{spec: "clickhouse:type=token,k=7", loads: arrays, rates: oneSize},
		{spec: "clickhouse:type=ngram,k=7,n=16", loads: arrays, rates: oneSize}, // a key is one gram
	} {
		t.Run(c.spec, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

func (c coverageCase) run(t *testing.T) {
	spec, err := ParseSpec(c.spec)
	if err != nil {
		t.Fatal(err)
	}
	if c.rates == nil {
		c.rates = coverageRates
	}
	if c.key == nil {
		c.key = func(random uint64) []byte { return fmt.Appendf(nil, "%016x", random) }
	}
	random := rand.New(rand.NewPCG(31, 1))
	for _, p := range c.rates {
		for _, load := range c.loads {
			cell := fmt.Sprintf("%s for %d keys at %v with %v of that", c.spec, coverageKeys, p, load)
			var covered filtertest.Coverage
			keys := int(math.Ceil(load * coverageKeys))
			for range filtertest.CoverageTrials {
				f := coverageFilter(t, spec, p)
				for range keys {
					var key []byte
					if f.KeyKind() == KeyInt64 {
						key = Int64Key(int64(random.Uint64()))
					} else {
						key = c.key(random.Uint64())
					}
					if _, err := f.(Adder).Add(key); err != nil {
						t.Fatal(err)
					}
				}
				covered.Add(t, cell, f.Stats().Cardinality, float64(keys))
			}
			covered.Check(t, cell)
		}
	}
}

// fingerprint is a key as Scrapy makes it, a SHA-1 in hexadecimal digits.
func fingerprint(random uint64) []byte {
	sum := sha1.Sum(binary.LittleEndian.AppendUint64(nil, random))
	return hex.AppendEncode(nil, sum[:])
}

// coverageFilter returns an empty filter. ClickHouse's cannot be created: it is a granule
// of 1 KiB, in memory of its own.
func coverageFilter(t *testing.T, spec Spec, p float64) Foreign {
	t.Helper()
	f, err := Create(spec, coverageKeys, p)
	if spec.Name == "clickhouse" {
		f, err = Open(make([]byte, 1<<10), spec)
		if err == nil {
			granule := f.(*clickHouse)
			granule.bits, err = granule.bits.clone(0)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What the schemes with uneven bits say of them is what their probes do.
func TestBitParts(t *testing.T) {
	for _, s := range []interface {
		scheme
		uneven
	}{
		levelScheme{19200, 30}, levelScheme{10000, 6}, levelScheme{2040, 30}, levelScheme{3 * 1024, 5},
		redisson{Size: 19170, Iterations: 13}, redisson{Size: 19168, Iterations: 30}, redisson{Size: 1024, Iterations: 20},
	} {
		m, k := s.size()
		parts := s.parts()
		partOf := func(position uint64) int {
			if _, ok := s.(levelScheme); ok {
				return int(position % uint64(len(parts)))
			}
			for t := range parts {
				if position>>t&1 != 0 {
					return t
				}
			}
			return len(parts) - 1
		}
		const keys = 100_000
		random := rand.New(rand.NewPCG(5, 8))
		counts := make([][]int, len(parts))
		for i := range counts {
			counts[i] = make([]int, k)
		}
		for range keys {
			positions, err := s.positions(nil, fmt.Appendf(nil, "%016x", random.Uint64()))
			if err != nil {
				t.Fatal(err)
			}
			for i, position := range positions {
				counts[partOf(position)][i]++
			}
		}
		for part, c := range counts {
			for probe, got := range c {
				p := parts[part].share * parts[part].rates[probe]
				// The counts of all cells are within 6 standard deviations, and 0 where none may be.
				if want := p * keys; math.Abs(float64(got)-want) > 6*math.Sqrt(want*(1-p)+float64(got)/keys) {
					t.Errorf("%#v, m %d: probe %d chose part %d in %d of %d keys, want %.0f", s, m, probe, part, got, keys, want)
				}
			}
		}
	}
}

// The parts of a recipe are all bits, and a key chooses no more of them than it has probes,
// whatever the parameters.
func TestRecipeParts(t *testing.T) {
	for _, r := range []recipe.Recipe{
		recipe.MD5{}, recipe.MD5{Bits: 3}, recipe.MD5{Bits: 12, Blocks: 256}, recipe.MD5{Bits: 17, Blocks: 100}, recipe.MD5{Bits: 32},
		recipe.Scrapy{}, recipe.Scrapy{Bits: 3}, recipe.Scrapy{Bits: 14, Hashes: 1}, recipe.Scrapy{Bits: 21, Hashes: 40}, recipe.Scrapy{Bits: 32}, recipe.Scrapy{Bits: 32, Hashes: 256},
	} {
		s, err := recipeOf(r)
		if err != nil {
			t.Fatal(err)
		}
		m, k := s.size()
		share, chosen := 0.0, 0.0
		parts := s.parts()
		for _, p := range parts {
			share += p.share
			for _, rate := range p.rates {
				if !(rate >= 0) {
					t.Fatalf("%+v: rate %v", r, rate)
				}
				chosen += p.share * rate
			}
		}
		if math.Abs(share-1) > 1e-6 || chosen > 1.001*float64(k) || s.bits > 10 && chosen < 0.98*float64(k) {
			t.Errorf("%+v: parts of %v of the bits, of which a key chooses %v with %d probes", r, share, chosen, k)
		}
		for _, ones := range []uint64{1, m/10 + 1, m / 2, m - 1} {
			e := partsCardinality(parts, m, ones)
			if math.IsNaN(e.Value) || e.Value <= 0 || math.IsNaN(e.StdErr) || e.StdErr < 0 {
				t.Errorf("%+v: %d of %d bits are estimated as %v", r, ones, m, e)
			}
		}
	}
}
