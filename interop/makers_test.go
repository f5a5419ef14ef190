package interop

import (
	"cmp"
	"fmt"
	"strconv"

	"seen/internal/recipe"
)

// What tests make of filters of one system, by way of the specifications that users give.

// typed returns a filter as its own type.
func typed[F Foreign](f Foreign, err error) (g F, _ error) {
	if err != nil {
		return g, err
	}
	return f.(F), nil
}

// cloned returns a copy of f that can be changed.
func cloned[F Foreign](f F) (F, error) { return typed[F](Clone(f)) }

// specWith returns a specification from pairs of a parameter and its value, without those
// that are "".
func specWith(name string, pairs ...string) Spec {
	s := Spec{Name: name}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			s = s.with(pairs[i], pairs[i+1])
		}
	}
	return s
}

// number is a parameter, and "" for 0.
func number(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// choice is one of two values of a parameter.
func choice(second bool, values ...string) string {
	if second {
		return values[1]
	}
	return values[0]
}

type guavaConfig struct {
	Capacity     uint64
	ErrorRate    float64
	Funnel       guavaFunnel
	Strategy     guavaStrategy
	ProbesByRate bool
}

func newGuava(c guavaConfig) (*guava, error) {
	strategy := map[guavaStrategy]string{guavaMitz32: "mitz32", guavaMitz64: "mitz64"}[c.Strategy]
	s := Spec{"guava", map[string]string{"funnel": string(c.Funnel), "strategy": strategy, "probes": choice(c.ProbesByRate, "size", "rate")}}
	return typed[*guava](Create(s, c.Capacity, c.ErrorRate))
}

func openGuava(b []byte, funnel guavaFunnel) (*guava, error) {
	return typed[*guava](Open(b, specWith("guava", "funnel", string(funnel))))
}

type sparkConfig struct {
	Capacity  uint64
	ErrorRate float64
	Type      sparkType
	Version   int
	Seed      int32
}

func newSpark(c sparkConfig) (*spark, error) {
	s := Spec{"spark", map[string]string{"type": string(c.Type), "version": strconv.Itoa(cmp.Or(c.Version, 1)), "seed": strconv.Itoa(int(c.Seed))}}
	return typed[*spark](Create(s, c.Capacity, c.ErrorRate))
}

func openSpark(b []byte, typ sparkType) (*spark, error) {
	return typed[*spark](Open(b, specWith("spark", "type", string(typ))))
}

type dcsoConfig struct {
	Capacity  uint64
	ErrorRate float64
	Data      []byte
	Gzip      bool
}

func newDCSO(c dcsoConfig) (*dcso, error) {
	return typed[*dcso](Create(specWith("dcso", "data", string(c.Data), "form", choice(c.Gzip, "plain", "gzip")), c.Capacity, c.ErrorRate))
}

func openDCSO(b []byte) (*dcso, error) { return typed[*dcso](Open(b, Spec{Name: "dcso"})) }

type bitsAndBloomsConfig struct {
	Capacity     uint64
	ErrorRate    float64
	M, K, Length uint64
	Form         bitsAndBloomsForm
	LittleEndian bool
}

func newBitsAndBlooms(c bitsAndBloomsConfig) (*bitsAndBlooms, error) {
	if c.M != 0 { // the wish does not matter
		c.Capacity, c.ErrorRate = 1, 0.5
	}
	s := specWith("bits-and-blooms", "m", number(c.M), "k", number(c.K), "length", number(c.Length), "form", string(c.Form), "order", choice(c.LittleEndian, "big", "little"))
	return typed[*bitsAndBlooms](Create(s, c.Capacity, c.ErrorRate))
}

func openBitsAndBlooms(b []byte) (*bitsAndBlooms, error) {
	return typed[*bitsAndBlooms](Open(b, Spec{Name: "bits-and-blooms"}))
}

type parquetConfig struct {
	Capacity  uint64
	ErrorRate float64
	Bytes     uint64
	Type      parquetType
}

func newParquet(c parquetConfig) (*parquet, error) {
	if c.Bytes != 0 { // the wish does not matter
		c.Capacity, c.ErrorRate = 1, 0.5
	}
	return typed[*parquet](Create(specWith("parquet", "type", string(c.Type), "bytes", number(c.Bytes)), c.Capacity, c.ErrorRate))
}

func openParquetFilter(b []byte, typ parquetType) (*parquet, error) {
	return typed[*parquet](Open(b, specWith("parquet", "type", string(typ))))
}

func openParquetFile(b []byte) (*parquetFile, error) {
	return typed[*parquetFile](parseAs("parquet", parseParquetFile)(b, Spec{}))
}

type pyConfig struct {
	Capacity  uint64
	ErrorRate float64
	pyOptions
	Hex bool
}

func (o pyOptions) spec(kind string) Spec {
	return specWith("pyprobables", "type", kind, "hash", string(o.Hash), "keys", choice(o.Bytes, "str", "bytes"))
}

func newPyBloom(c pyConfig) (*pyBloom, error) {
	return typed[*pyBloom](Create(c.spec("bloom").with("form", choice(c.Hex, "binary", "hex")), c.Capacity, c.ErrorRate))
}

func newPyCounting(c pyConfig) (*pyCounting, error) {
	return typed[*pyCounting](Create(c.spec("counting").with("form", choice(c.Hex, "binary", "hex")), c.Capacity, c.ErrorRate))
}

func newPyCountMin(width, depth uint64) (*pyCountMin, error) {
	return typed[*pyCountMin](Create(specWith("pyprobables", "type", "countmin", "width", fmt.Sprint(width), "depth", fmt.Sprint(depth)), 1, 0.5))
}

func openPyBloom(b []byte, o pyOptions) (*pyBloom, error) {
	return typed[*pyBloom](Open(b, o.spec("bloom")))
}

func openPyCounting(b []byte, o pyOptions) (*pyCounting, error) {
	return typed[*pyCounting](Open(b, o.spec("counting")))
}

func openPyExpanding(b []byte, o pyOptions) (*pyExpanding, error) {
	return typed[*pyExpanding](Open(b, o.spec("expanding")))
}

func openPyCountMin(b []byte, o pyOptions) (*pyCountMin, error) {
	return typed[*pyCountMin](Open(b, o.spec("countmin")))
}

func openLevelDB(b []byte) (*levelDB, error) {
	return typed[*levelDB](parseAs("leveldb", parseLevelDB)(b, Spec{}))
}

func openLevelDBTable(b []byte) (*levelDBTable, error) {
	return typed[*levelDBTable](parseAs("leveldb table", parseLevelDBTable)(b, Spec{}))
}

func openRocksDB(b []byte) (*rocksDB, error) {
	return typed[*rocksDB](parseAs("rocksdb", parseRocksDB)(b, Spec{}))
}

func openRocksDBTable(b []byte) (*rocksDBTable, error) {
	return typed[*rocksDBTable](parseAs("rocksdb table", parseRocksDBTable)(b, Spec{}))
}

func newNPMBloomFilter(capacity uint64, errorRate float64) (*npmBloomFilter, error) {
	return typed[*npmBloomFilter](Create(Spec{Name: "npm-bloomfilter"}, capacity, errorRate))
}

func openNPMBloomFilter(b []byte) (*npmBloomFilter, error) {
	return typed[*npmBloomFilter](Open(b, Spec{Name: "npm-bloomfilter"}))
}

func newNPMBloomFilters(capacity uint64, errorRate, seed float64) (*npmBloomFilters, error) {
	return typed[*npmBloomFilters](Create(specWith("npm-bloom-filters", "seed", strconv.FormatFloat(seed, 'f', -1, 64)), capacity, errorRate))
}

func openNPMBloomFilters(b []byte) (*npmBloomFilters, error) {
	return typed[*npmBloomFilters](Open(b, Spec{Name: "npm-bloom-filters"}))
}

// As returns f in another form, by way of [Rewrap].
func (f *bitsAndBlooms) As(form bitsAndBloomsForm, littleEndian bool) (*bitsAndBlooms, error) {
	w, err := Rewrap(f, specWith("bits-and-blooms", "form", string(form), "order", choice(littleEndian, "big", "little")))
	if err != nil {
		return nil, err
	}
	return w.(*bitsAndBlooms), nil
}

func newRedisRecipe(r recipe.Recipe) (*bitmap, error) {
	s, err := recipeOf(r)
	if err != nil {
		return nil, err
	}
	return newBitmap(s, 0, 0)
}

func openRedisRecipe(b []byte, r recipe.Recipe) (*bitmap, error) {
	s, err := recipeOf(r)
	if err != nil {
		return nil, err
	}
	return openBitmap(b, s)
}
