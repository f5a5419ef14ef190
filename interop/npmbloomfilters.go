package interop

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// npmBloomFiltersSeed is the default seed of the npm package bloom-filters.
const npmBloomFiltersSeed = 78187493520

// npmBloomFilters is a BloomFilter of the npm package bloom-filters, version 3.
//
// saveAsJSON writes an object with type "BloomFilter", _size (m), _nbHashes (k), _seed
// and _filter, which has size, 8 bits for each byte, and content, the base64 of the
// bytes; bit i is bit i mod 8 of byte i/8, the lowest first. In older files _filter is a
// list of 0 and 1. The low 32 bits of XXH64 with the seeds _seed+1 and _seed+2 are a and
// b, and probe i is a + i*b + (i*i*i-i)/6, which does not wrap, modulo m. The sums are
// those of JavaScript's numbers, which are rounded from 2^53 on; a sum of 0 is replaced
// by npmBloomFiltersSeed; and of the result the low 32 bits of the whole part count.
//
// See plain for what goroutines may do.
type npmBloomFilters struct {
	plain[npmScheme]
	seed json.Number
}

// npmScheme is how the package bloom-filters maps a key to positions.
type npmScheme struct {
	m, k   uint64
	first  uint32 // seed of a
	second uint32 // seed of b
}

// npmSchemeOf returns the scheme for a seed.
func npmSchemeOf(m, k uint64, seed float64) npmScheme {
	hashSeed := func(sum float64) uint32 {
		if sum == 0 {
			sum = npmBloomFiltersSeed
		}
		return uint32(int64(math.Mod(math.Trunc(sum), 1<<32))) // Mod is exact
	}
	return npmScheme{m, k, hashSeed(seed + 1), hashSeed(seed + 2)}
}

func (s npmScheme) positions(dst []uint64, key []byte) ([]uint64, error) {
	if !utf8.Valid(key) {
		return nil, errNoText
	}
	a, b := uint64(uint32(xxh64(key, s.first))), uint64(uint32(xxh64(key, s.second)))
	for i := range s.k {
		dst = append(dst, (a+i*b+(i*i*i-i)/6)%s.m)
	}
	return dst, nil
}

// xxh64 is XXH64 with a seed.
func xxh64(key []byte, seed uint32) uint64 {
	d := xxhash.NewWithSeed(uint64(seed))
	d.Write(key) // a hash takes everything
	return d.Sum64()
}

func (s npmScheme) size() (m, k uint64) { return s.m, s.k }
func (npmScheme) keyKind() KeyKind      { return KeyText }
func (npmScheme) name() string          { return "npm-bloom-filters" }

func (s npmScheme) params() []Field {
	return []Field{
		{"m", strconv.FormatUint(s.m, 10)}, {"k", strconv.FormatUint(s.k, 10)}, {"seed", fmt.Sprintf("%d and %d modulo 2^32", s.first, s.second)},
	}
}

// npmMaxNumber is 2^53: numbers of JavaScript hold all whole numbers up to it.
const npmMaxNumber = 1 << 53

// createNPMBloomFilters returns an empty filter of the size that the package gives it,
// with a seed, such as npmBloomFiltersSeed: a whole number from -2^53 to 2^53.
func createNPMBloomFilters(spec Spec, capacity uint64, errorRate float64) (Foreign, error) {
	seed, err := strconv.ParseFloat(spec.Params["seed"], 64)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: seed=%s is not a whole number from -2^53 to 2^53", spec.Name, ErrSpec, spec.Params["seed"])
	}
	m := math.Ceil(-float64(capacity) * math.Log(errorRate) / (ln2 * ln2))
	k := math.Ceil(m / float64(capacity) * ln2)
	if err := checkSize(m, capacity, errorRate); err != nil {
		return nil, err
	}
	if seed != math.Trunc(seed) || math.Abs(seed) > npmMaxNumber {
		return nil, fmt.Errorf("npm-bloom-filters: the seed %v is not a whole number from -2^53 to 2^53", seed)
	}
	p, err := newPlain(npmSchemeOf(uint64(m), uint64(k), seed), lsbFirst, bytesOf(uint64(m)), capacity, errorRate)
	return foreign(&npmBloomFilters{p, json.Number(strconv.FormatFloat(seed, 'f', -1, 64))}, err)
}

// npmFile is the object of a file.
type npmFile struct {
	Type   *string         `json:"type"`
	Size   *uint64         `json:"_size"`
	Hashes *uint64         `json:"_nbHashes"`
	Filter json.RawMessage `json:"_filter"`
	Seed   json.Number     `json:"_seed"`
}

// parseNPMBloomFilters returns the filter that the JSON b describes. Its bits are
// decoded into memory of less than the length of b.
func parseNPMBloomFilters(b []byte, _ Spec) (*npmBloomFilters, error) {
	var doc npmFile
	if err := json.Unmarshal(b, &doc); err != nil && (doc.Type == nil || *doc.Type == "BloomFilter") {
		return nil, err
	}
	if doc.Type != nil && *doc.Type != "BloomFilter" {
		return nil, fmt.Errorf("type %q of the package; seen reads BloomFilter", *doc.Type)
	}
	if doc.Type == nil || doc.Size == nil || doc.Hashes == nil || doc.Filter == nil {
		return nil, errors.New("the JSON lacks type, _size, _nbHashes or _filter")
	}
	if *doc.Size == 0 || *doc.Size > npmMaxNumber || *doc.Hashes == 0 || *doc.Hashes > foreignMaxProbes {
		return nil, fmt.Errorf("m = %d bits and k = %d probes; they are at least 1, and k at most %d", *doc.Size, *doc.Hashes, foreignMaxProbes)
	}
	seed, err := npmSeed(doc.Seed)
	if err != nil {
		return nil, err
	}
	array, err := npmArray(doc.Filter, *doc.Size)
	if err != nil {
		return nil, err
	}
	if want := bytesOf(*doc.Size); uint64(len(array)) != want {
		return nil, fmt.Errorf("%d bytes of bits, but m = %d takes %d", len(array), *doc.Size, want)
	}
	return &npmBloomFilters{opened(npmSchemeOf(*doc.Size, *doc.Hashes, seed), lsbFirst, array), doc.Seed}, nil
}

// npmSeed returns a seed as the number that it is in JavaScript.
func npmSeed(n json.Number) (float64, error) {
	if n == "" {
		return 0, errors.New("the JSON has no _seed")
	}
	v, err := strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return 0, fmt.Errorf("_seed %s is not a number of JavaScript: its absolute value is above 1.8e308", n)
	}
	return v, nil
}

// npmArray decodes the value of _filter in either form.
func npmArray(raw json.RawMessage, m uint64) ([]byte, error) {
	if len(raw) > 0 && raw[0] == '[' {
		return npmBitList(raw, m)
	}
	var bits struct {
		Size    uint64 `json:"size"`
		Content []byte `json:"content"`
	}
	if err := json.Unmarshal(raw, &bits); err != nil {
		return nil, fmt.Errorf("_filter: %w", err)
	}
	if bits.Size != 8*uint64(len(bits.Content)) {
		return nil, fmt.Errorf("_filter has a size of %d and %d bytes of content", bits.Size, len(bits.Content))
	}
	return bits.Content, nil
}

// npmBitList decodes a list of 0 and 1.
func npmBitList(raw json.RawMessage, m uint64) ([]byte, error) {
	if 2*m > uint64(len(raw)) {
		return nil, fmt.Errorf("_filter is a list in %d bytes, and m = %d", len(raw), m)
	}
	array := bitArray{order: lsbFirst, b: make([]byte, bytesOf(m))}
	i := uint64(0)
	for v := range bytes.SplitSeq(raw[1:len(raw)-1], []byte(",")) {
		switch bit := string(bytes.TrimSpace(v)); {
		case i == m:
			return nil, fmt.Errorf("_filter is a list of more than m = %d", m)
		case bit == "1":
			array.set(i)
		case bit != "0":
			return nil, fmt.Errorf("element %d of _filter is %q, not 0 or 1", i, bit)
		}
		i++
	}
	if i != m {
		return nil, fmt.Errorf("_filter is a list of %d, and m = %d", i, m)
	}
	return array.b, nil
}

func (npmScheme) describe() Description {
	return Description{
		Format: "npm-bloom-filters", System: "npm bloom-filters, BloomFilter", Hash: "XXH64 twice, low 32 bits of each, enhanced double hashing",
	}
}

// Describe says what the filter is.
func (f *npmBloomFilters) Describe() Description {
	d := f.plain.Describe()
	d.Fields = []Field{{"_seed", f.seed.String()}}
	return d
}

// WriteTo writes the object, with its bits in base64.
func (f *npmBloomFilters) WriteTo(w io.Writer) (int64, error) {
	c := &countingWriter{w: w}
	if _, err := fmt.Fprintf(c, `{"type":"BloomFilter","_size":%d,"_nbHashes":%d,"_filter":{"size":%d,"content":"`, f.scheme.m, f.scheme.k, 8*uint64(len(f.bits.b))); err != nil {
		return c.n, err
	}
	text := base64.NewEncoder(base64.StdEncoding, c)
	if _, err := f.bits.writeBetween(text, nil, nil); err != nil {
		return c.n, err
	}
	if err := text.Close(); err != nil {
		return c.n, err
	}
	_, err := fmt.Fprintf(c, `"},"_seed":%s}`, f.seed)
	return c.n, err
}

var npmBloomFiltersFormat = format{
	name:     "npm-bloom-filters",
	system:   "npm bloom-filters, saveAsJSON",
	params:   []param{{name: "seed", meaning: "the seed of the filter", preset: strconv.FormatUint(npmBloomFiltersSeed, 10), forWrite: true}},
	verified: "answers and JSON of bloom-filters 3.0.4, and files rebuilt byte for byte",
	sign:     "JSON with a type of the package and members whose names begin with _",
	detect:   detects("npm-bloom-filters", Certain, func(b []byte) bool { return jsonFilter(b) == "npm-bloom-filters" }),
	open:     parseAs("npm-bloom-filters", parseNPMBloomFilters),
	create:   createNPMBloomFilters,
	clone:    copyOf[npmBloomFilters],
}
