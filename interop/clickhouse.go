package interop

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-faster/city"
)

// clickHouseIndex says how a skipping index of ClickHouse maps a value to bits.
type clickHouseIndex struct {
	// Kind is the type of the index.
	Kind clickHouseKind
	// Probes is the number of hash functions, 1 to 1000; for clickHouseBloom at most 15.
	Probes uint64
	// Value is the type of the column of a clickHouseBloom: string, or one of int8 to
	// int64 and uint8 to uint64. The others have strings.
	Value string
	// Seed is the last parameter of clickHouseTokens and clickHouseGrams.
	Seed uint64
	// Gram is the first parameter of clickHouseGrams, 1 to 1000: characters of a gram.
	Gram uint64
}

// clickHouseKind is a type of index.
type clickHouseKind string

const (
	// clickHouseBloom is bloom_filter: the hash of a value is combined with a constant
	// for each probe. Strings are hashed with CityHash64, and whole numbers, as unsigned
	// ones of their width, by the last step of MurmurHash3.
	clickHouseBloom clickHouseKind = "bloom"
	// clickHouseTokens is tokenbf_v1: it has each run of ASCII letters and digits, and of
	// bytes above 127.
	clickHouseTokens clickHouseKind = "token"
	// clickHouseGrams is ngrambf_v1: it has each sequence of Gram characters.
	clickHouseGrams clickHouseKind = "ngram"
)

// clickHouseSeeds are what a hash is combined with for each probe of a bloom_filter.
var clickHouseSeeds = [...]uint64{
	13635471485423070496, 10336109063487487899, 17779957404565211594, 8988612159822229247, 4954614162757618085,
	12980113590177089081, 9263883436177860930, 3656772712723269762, 10362091744962961274, 7582936617938287249,
	15033938188484401405, 18286745649494826751, 6852245486148412312, 8886056245089344681, 10151472371158292780,
}

// clickHouseWidths are the bits of the types of numbers.
var clickHouseWidths = map[string]uint{"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}

// clickHouse is the filter of one granule in an index of ClickHouse, without the numbers
// and the compression around it in the files of the server: bit i is bit i mod 8 of byte
// i/8. It can only be asked. The answer is that of the index: whether a granule may have
// the value or, for tokens and grams, a value that contains all tokens or grams of the
// key. The answer for a key without tokens or grams is always yes.
//
// Any number of goroutines may ask. The struct must not be copied.
type clickHouse struct{ plain[clickScheme] }

// clickScheme is an index whose granules have m bits.
type clickScheme struct {
	clickHouseIndex
	m uint64
}

// clickHouseGranule is the most bytes that ClickHouse gives to a granule.
const clickHouseGranule = 1 << 30

// openClickHouse returns the granule in b. It refers to b.
func openClickHouse(b []byte, c clickHouseIndex) (*clickHouse, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("clickhouse: %w", err)
	}
	if len(b) == 0 || len(b) > clickHouseGranule {
		return nil, fmt.Errorf("clickhouse: %w: %d bytes; a granule has 1 to %d", ErrBadData, len(b), clickHouseGranule)
	}
	return &clickHouse{opened(clickScheme{c, 8 * uint64(len(b))}, lsbFirst, b)}, nil
}

// check refuses numbers that no index has.
func (c clickHouseIndex) check() error {
	most := uint64(foreignMaxProbes)
	switch c.Kind {
	case clickHouseBloom:
		most = uint64(len(clickHouseSeeds))
	case clickHouseGrams:
		if c.Gram == 0 || c.Gram > 1000 {
			return fmt.Errorf("grams of %d characters; give 1 to 1000", c.Gram)
		}
	}
	if c.Probes == 0 || c.Probes > most {
		return fmt.Errorf("%d probes; give 1 to %d", c.Probes, most)
	}
	return nil
}

func (s clickScheme) positions(dst []uint64, key []byte) ([]uint64, error) {
	switch {
	case s.Kind == clickHouseTokens:
		for from := 0; from < len(key); from++ {
			to := from
			for to < len(key) && isTokenByte(key[to]) {
				to++
			}
			if to > from {
				dst = s.token(dst, key[from:to])
				from = to
			}
		}
		return dst, nil
	case s.Kind == clickHouseGrams:
		from, to := 0, 0
		for count := uint64(0); to < len(key); {
			_, size := utf8.DecodeRune(key[to:])
			to += size
			if count++; count > s.Gram {
				_, size = utf8.DecodeRune(key[from:])
				from += size
			}
			if count >= s.Gram {
				dst = s.token(dst, key[from:to])
			}
		}
		return dst, nil
	}
	h := city.CH64(key)
	if s.Value != "string" {
		v, err := s.number(key)
		if err != nil {
			return nil, err
		}
		h = murmurFinish(v)
	}
	for _, seed := range clickHouseSeeds[:s.Probes] {
		dst = append(dst, cityPair(h, seed)%s.m)
	}
	return dst, nil
}

func isTokenByte(c byte) bool {
	return c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// token appends the positions of a token or a gram.
func (s clickScheme) token(dst []uint64, token []byte) []uint64 {
	h1, h2 := citySeeded(token, s.Seed), citySeeded(token, 845897321*s.Seed+217728422)
	for i := range s.Probes {
		dst = append(dst, (h1+i*h2+i*i)%s.m)
	}
	return dst
}

// number returns the value of a key as the column holds it, padded with zeros.
func (s clickScheme) number(key []byte) (uint64, error) {
	v, ok := parseInt64Key(key)
	if !ok {
		return 0, errors.New("the keys of this index are whole numbers")
	}
	width := clickHouseWidths[s.Value]
	low, high := int64(math.MinInt64)>>(64-width), int64(math.MaxInt64)>>(64-width)
	if strings.HasPrefix(s.Value, "u") {
		low = 0
		if width < 64 {
			high = 1<<width - 1
		}
	}
	if v < low || v > high {
		return 0, fmt.Errorf("%d is not a value of %s", v, s.Value)
	}
	return uint64(v) << (64 - width) >> (64 - width), nil
}

// cityPair is the hash of two numbers inside CityHash.
func cityPair(low, high uint64) uint64 {
	const mul = 0x9ddfea08eb382d69
	a := (low ^ high) * mul
	b := (high ^ a ^ a>>47) * mul
	return (b ^ b>>47) * mul
}

// citySeeded is CityHash64 of version 1.0 with a seed.
func citySeeded(b []byte, seed uint64) uint64 {
	return cityPair(city.CH64(b)-0x9ae16a3b2f90404f, seed)
}

// murmurFinish is the last step of MurmurHash3, which mixes the bits of a number.
func murmurFinish(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

func (s clickScheme) size() (m, k uint64) { return s.m, s.Probes }

func (s clickScheme) keyKind() KeyKind {
	if s.Kind == clickHouseBloom && s.Value != "string" {
		return KeyInt64
	}
	return KeyBytes
}

func (s clickScheme) params() []Field {
	fields := []Field{{"type", string(s.Kind)}, {"k", strconv.FormatUint(s.Probes, 10)}}
	if s.Kind == clickHouseBloom {
		return append(fields, Field{"value", s.Value})
	}
	fields = append(fields, Field{"seed", strconv.FormatUint(s.Seed, 10)})
	if s.Kind == clickHouseGrams {
		fields = append(fields, Field{"n", strconv.FormatUint(s.Gram, 10)})
	}
	return fields
}

func (clickScheme) name() string { return "clickhouse" }

func (s clickScheme) describe() Description {
	d := Description{Format: specOf(s), System: "granule of a ClickHouse index", Hash: "CityHash64 of version 1.0"}
	if s.keyKind() == KeyInt64 {
		d.Hash = "the last step of MurmurHash3, combined as in CityHash64"
	}
	d.Notes = []string{"the layout comes from reading the source and was not compared with a server"}
	return d
}

// WriteTo writes the bytes of the granule.
func (f *clickHouse) WriteTo(w io.Writer) (int64, error) {
	return f.bits.writeBetween(w, nil, nil)
}

var clickHouseFormat = format{
	name:   "clickhouse",
	system: "ClickHouse: one granule of bloom_filter, tokenbf_v1 or ngrambf_v1",
	params: []param{
		{name: "type", meaning: "the kind of index: bloom_filter, tokenbf_v1 or ngrambf_v1", values: []string{"bloom", "token", "ngram"}, required: true},
		{name: "k", meaning: "the number of probes", preset: "3"},
		{name: "value", meaning: "the type of the column of a bloom_filter", preset: "string", values: []string{
			"string", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
		}},
		{name: "seed", meaning: "the last parameter of tokenbf_v1 and ngrambf_v1", preset: "0"},
		{name: "n", meaning: "the first parameter of ngrambf_v1", preset: "3"},
	},
	verified: "hashes of ClickHouse 18.16; the layout of indices comes from reading the source and was not compared with a server",
	noWrite:  "only ClickHouse builds its indices, in files whose layout seen does not know",
	open: func(b []byte, s Spec) (Foreign, error) {
		c := clickHouseIndex{Kind: clickHouseKind(s.Params["type"]), Value: s.Params["value"]}
		for _, p := range []struct {
			name string
			most uint64
			to   *uint64
		}{{"k", foreignMaxProbes, &c.Probes}, {"seed", math.MaxUint64, &c.Seed}, {"n", 1000, &c.Gram}} {
			n, err := s.number(p.name, 0, p.most)
			if err != nil {
				return nil, err
			}
			*p.to = n
		}
		return foreign(openClickHouse(b, c))
	},
}
