package interop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"

	"seen/bloom"
	"seen/internal/filtertest"
)

// plainParquetHash is XXH64 with seed 0, step by step.
func plainParquetHash(b []byte) uint64 {
	const p1, p2, p3, p4, p5 = 11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261
	u64 := func(b []byte) (x uint64) {
		for i := range 8 {
			x |= uint64(b[i]) << (8 * i)
		}
		return x
	}
	round := func(acc, x uint64) uint64 { return bits.RotateLeft64(acc+x*p2, 31) * p1 }
	n := uint64(len(b))
	h := uint64(p5)
	if n >= 32 {
		p1 := uint64(p1)
		acc := [4]uint64{p1 + p2, p2, 0, -p1}
		for ; len(b) >= 32; b = b[32:] {
			for i := range acc {
				acc[i] = round(acc[i], u64(b[8*i:]))
			}
		}
		h = bits.RotateLeft64(acc[0], 1) + bits.RotateLeft64(acc[1], 7) + bits.RotateLeft64(acc[2], 12) + bits.RotateLeft64(acc[3], 18)
		for _, x := range acc {
			h = (h^round(0, x))*p1 + p4
		}
	}
	h += n
	for ; len(b) >= 8; b = b[8:] {
		h = bits.RotateLeft64(h^round(0, u64(b)), 27)*p1 + p4
	}
	if len(b) >= 4 {
		h = bits.RotateLeft64(h^uint64(binary.LittleEndian.Uint32(b))*p1, 23)*p2 + p3
		b = b[4:]
	}
	for _, c := range b {
		h = bits.RotateLeft64(h^uint64(c)*p5, 11) * p1
	}
	h = (h ^ h>>33) * p2
	h = (h ^ h>>29) * p3
	return h ^ h>>32
}

func TestParquetHash(t *testing.T) {
	for i, want := range []uint64{0xef46db3751d8e999, 0xd24ec4f1a98c6e5b, 0x45ab6734b21e6968, 0x6ac1e58032166597, 0x8377db93c80fd5bf} {
		key := anchorKeys()[i]
		if got := plainParquetHash(key); got != want {
			t.Errorf("%q: %016x, want %016x", key, got, want)
		}
		f := testParquet(t, parquetConfig{Bytes: 1 << 16, Type: parquetBinary})
		if _, err := f.Add(key); err != nil || !f.hasHash(want) || f.hasHash(want^1<<63) {
			t.Errorf("%q is not where the hash %016x is, %v", key, want, err)
		}
	}
}

// plainParquet answers from the blocks of a filter for the bytes of a value.
func plainParquet(array []byte) func(value []byte) bool {
	factors := []uint64{1203114875, 1150766481, 2284105051, 2729912477, 1884591559, 770785867, 2667333959, 1550580529}
	return func(value []byte) bool {
		h := plainParquetHash(value)
		block := array[h>>32*uint64(len(array)/32)>>32*32:][:32]
		for i, factor := range factors {
			bit := h & 0xffffffff * factor & 0xffffffff >> 27
			if block[4*i+int(bit/8)]&(1<<(bit%8)) == 0 {
				return false
			}
		}
		return true
	}
}

func testParquet(t testing.TB, c parquetConfig) *parquet {
	t.Helper()
	f, err := newParquet(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var parquetVectors = []struct {
	name   string
	typ    parquetType
	config parquetConfig
}{
	{"parquet-sbbf-duckdb-int64", parquetInt64, parquetConfig{Capacity: 306, ErrorRate: 0.05}},
	{"parquet-sbbf-duckdb-string", parquetString, parquetConfig{Capacity: 310, ErrorRate: 0.05}},
	{"parquet-sbbf-int64", parquetInt64, parquetConfig{Bytes: 320}},
	{"parquet-sbbf-string", parquetString, parquetConfig{Bytes: 320}},
}

func TestParquetVectors(t *testing.T) {
	for _, c := range parquetVectors {
		t.Run(c.name, func(t *testing.T) {
			v := readVector(t, c.name)
			w := v.wish(t)
			blob := v.File(t, w.File)
			f, err := openParquetFilter(blob, c.typ)
			if err != nil {
				t.Fatal(err)
			}
			v.compareForeign(t, "read", f.Has)
			v.compareForeign(t, "read in the plain way", plainParquet(blob[len(blob)-len(f.bits.b):]))
			expectBytes(t, "written again", written(t, f), blob)
			expectReadOnly(t, f)

			c.config.Type = c.typ
			made := testParquet(t, c.config)
			adds(t, made, v.Keys)
			v.compareForeign(t, "made", made.Has)
			expectBytes(t, "made", written(t, made), blob)

			table, err := openParquetFile(v.File(t, w.Container))
			if err != nil {
				t.Fatal(err)
			}
			v.compareForeign(t, "in the file", table.Has)
			expectBytes(t, "cut out of the file", written(t, table), blob)
			parts := table.filters
			if len(parts) != 1 || parts[0].Column != "k" || parts[0].RowGroup != 0 || parts[0].Filter.scheme.typ != c.typ || parts[0].Offset != w.Offset {
				t.Errorf("%+v", parts)
			}
		})
	}
}

// TestParquetRowGroups asks three filters of one column, one by one and together.
func TestParquetRowGroups(t *testing.T) {
	v := readVector(t, "parquet-multi-rowgroup")
	file := v.File(t, "table.parquet")
	f, err := openParquetFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if parts, columns := f.filters, f.columns; len(parts) != 3 || len(columns) != 1 || columns[0] != "k" || uint64(len(parts[2].Filter.bits.b)) != 128 {
		t.Fatalf("%+v in %v", parts, columns)
	}
	yes := 0
	for i, key := range v.Asked {
		digits := v.Answers[i]
		for group := range 3 {
			one, err := f.Select("k", group, parquetString)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := one.Has(key), digits[group] == '1'; got != want {
				t.Fatalf("key %q in row group %d: %v, the original says %v", key, group, got, want)
			}
		}
		if got, want := f.Has(key), digits != "000"; got != want {
			t.Fatalf("key %q: %v, the original says %s", key, got, digits)
		}
		if digits != "000" {
			yes++
		}
	}
	expectBytes(t, "written", written(t, f), file)
	s := f.Stats()
	if s.Layers != 3 || s.Bits != 8*(160+160+128) || math.Abs(s.Cardinality.Value-310) > 30 {
		t.Errorf("%+v", s)
	}
	// The error rate that the bits give against the answers for keys that are not there.
	rate, trials := float64(yes-len(v.Keys))/float64(len(v.Asked)-len(v.Keys)), float64(len(v.Asked)-len(v.Keys))
	if math.Abs(rate-s.ErrorRate) > 5*math.Sqrt(s.ErrorRate/trials) {
		t.Errorf("%v of keys are found that are not there, the bits say %v", rate, s.ErrorRate)
	}
	for _, c := range []struct {
		column string
		group  int
		typ    parquetType
	}{{"x", -1, ""}, {"k", 3, ""}, {"k", -1, parquetInt64}, {"k", -1, "text"}} {
		if g, err := f.Select(c.column, c.group, c.typ); err == nil {
			t.Errorf("%+v: %d filters", c, len(g.filters))
		}
	}
}

// thriftField writes a field of a structure that follows the field before, and its
// value.
func thriftField(delta, typ byte, value ...byte) []byte {
	return append([]byte{delta<<4 | typ}, value...)
}

// parquetTable writes a file with one row group, of columns whose filters are given.
func parquetTable(names []string, physical []byte, filters [][]byte) []byte {
	file := []byte("PAR1")
	var columns []byte
	for i, name := range names {
		offset := len(file)
		file = append(file, filters[i]...)
		meta := thriftField(1, thriftI32, 2*physical[i])                                  // 1: type
		meta = append(meta, thriftField(1, thriftList, 0x15, 0)...)                       // 2: encodings, skipped
		meta = append(meta, thriftField(1, thriftList, 0x28, 1, 'a', byte(len(name)))...) // 3: path, a.name
		meta = append(meta, name...)                                                      // ...
		meta = append(meta, thriftField(11, thriftI64)...)                                // 14: offset of the filter
		meta = append(binary.AppendVarint(meta, int64(offset)), 0)                        // ...
		columns = append(columns, thriftField(3, thriftStruct, meta...)...)               // 3: meta
		columns = append(columns, thriftField(2, thriftI64, 0)...)                        // 5: of some other program
		columns = append(columns, 0)                                                      // end of the column
	}
	meta := thriftField(1, thriftI32, 2)                                       // 1: version
	meta = append(meta, thriftField(3, thriftList, 0x1c)...)                   // 4: a row group
	meta = append(meta, thriftField(1, thriftList, byte(len(names))<<4|12)...) // 1: columns
	meta = append(append(meta, columns...), 0, 0)                              // end of group and file
	file = append(file, meta...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(meta))), "PAR1"...)
}

// mixedTable is a file with a column of each type.
func mixedTable(t testing.TB, add map[parquetType][]byte) []byte {
	var names []string
	var physical []byte
	var filters [][]byte
	for i, typ := range []parquetType{"", parquetInt32, parquetInt64, parquetBinary, parquetFloat, parquetDouble, parquetString, parquetUUID} {
		key, ok := add[typ]
		if !ok {
			continue
		}
		f := testParquet(t, parquetConfig{Bytes: 1024, Type: typ})
		adds(t, f, [][]byte{key})
		names, physical, filters = append(names, "c"+string(typ)), append(physical, byte(i)), append(filters, written(t, f))
	}
	return parquetTable(names, physical, filters)
}

func TestParquetTypes(t *testing.T) {
	table := mixedTable(t, map[parquetType][]byte{
		parquetInt32: Int64Key(-5), parquetInt64: Int64Key(1 << 40), parquetFloat: []byte("1.5"), parquetDouble: []byte("-2.25"),
		parquetString: []byte("text"), parquetUUID: []byte("00112233-4455-6677-8899-aabbccddeeff"),
	})
	f, err := openParquetFile(table)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(f.columns); got != "[a.cint32 a.cint64 a.cfloat a.cdouble a.cstring a.cuuid]" {
		t.Errorf("columns %s", got)
	}
	// All columns together take text.
	for _, key := range []string{"-5", "1099511627776", "1.5", "15e-1", "-2.25", "text"} {
		if !f.Has([]byte(key)) {
			t.Errorf("%s is not there", key)
		}
	}
	for _, key := range []string{"5", "-2.5", "Text", ""} {
		if f.Has([]byte(key)) {
			t.Errorf("%s is there", key)
		}
	}
	ask := func(column string, typ parquetType, key []byte) bool {
		t.Helper()
		g, err := f.Select(column, 0, typ)
		if err != nil {
			t.Fatal(err)
		}
		return g.Has(key)
	}
	float, double := binary.LittleEndian.AppendUint32(nil, math.Float32bits(1.5)), binary.LittleEndian.AppendUint64(nil, math.Float64bits(-2.25))
	for _, c := range []struct {
		column string
		typ    parquetType
		key    []byte
		want   bool
		value  []byte
	}{
		{"a.cint32", "", Int64Key(-5), true, []byte{0xfb, 0xff, 0xff, 0xff}},
		{"a.cint32", "", Int64Key(1<<32 - 5), false, nil}, // the same low half
		{"a.cint32", "", []byte{0xfb, 0xff, 0xff, 0xff}, false, nil},
		{"a.cint64", "", Int64Key(1 << 40), true, Int64Key(1 << 40)},
		{"a.cint64", "", []byte("1099511627776"), false, nil},
		{"a.cfloat", "", []byte("1.50"), true, float},
		{"a.cfloat", "", []byte("x"), false, nil},
		{"a.cdouble", "", []byte("-2.25"), true, double},
		{"a.cstring", "", []byte("text"), true, []byte("text")},
		{"a.cstring", parquetBinary, []byte("text"), true, []byte("text")},
		{"a.cuuid", parquetUUID, []byte("00112233445566778899AABBCCDDEEFF"), true, nil},
		{"a.cuuid", parquetUUID, []byte("00112233-4455-6677-8899-aabbccddeefg"), false, nil},
		{"a.cuuid", parquetUUID, []byte("0011"), false, nil},
		{"a.cuuid", "", []byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}, true, nil},
	} {
		if got := ask(c.column, c.typ, c.key); got != c.want {
			t.Errorf("%s of type %q: %q: %v", c.column, c.typ, c.key, got)
		}
		if c.value == nil {
			continue
		}
		g, err := f.Select(c.column, -1, c.typ)
		if err != nil {
			t.Fatal(err)
		}
		if blob := written(t, g); !plainParquet(blob[len(blob)-1024:])(c.value) {
			t.Errorf("%s: %x is not hashed as %x", c.column, c.key, c.value)
		}
	}
	// Columns of whole numbers alone take numbers.
	f, err = openParquetFile(mixedTable(t, map[parquetType][]byte{parquetInt32: Int64Key(7), parquetInt64: Int64Key(1 << 40)}))
	if err != nil {
		t.Fatal(err)
	}
	if !f.Has(Int64Key(7)) || !f.Has(Int64Key(1<<40)) || f.Has([]byte("7")) || f.Has(Int64Key(8)) {
		t.Error("the columns of numbers answer wrongly")
	}
	for typ, key := range map[parquetType]string{parquetInt32: "1", parquetInt64: "1", parquetFloat: "one", parquetDouble: "", parquetUUID: "-"} {
		if isNew, err := testParquet(t, parquetConfig{Bytes: 32, Type: typ}).Add([]byte(key)); isNew || err == nil {
			t.Errorf("%q was added as %s", key, typ)
		}
	}
}

func parseParquetBinary(b []byte) (*parquet, error) { return openParquetFilter(b, parquetBinary) }

// parquetHeader writes a header with any length and names.
func parquetHeader(size int64, algorithm, hash, compression byte) []byte {
	b := binary.AppendVarint([]byte{0x15}, size)
	for _, name := range []byte{algorithm, hash, compression} {
		b = append(b, 0x1c, name<<4|12, 0, 0)
	}
	return append(b, 0)
}

func TestParquetRefuses(t *testing.T) {
	block := make([]byte, 32)
	good := append(parquetHeader(32, 1, 1, 1), block...)
	if f, err := parseParquetBinary(good); err != nil || f.Has([]byte("a")) {
		t.Fatal(err)
	}
	// Longer ways to say the same, and fields of later.
	long := []byte{0x05, 2, 0xc0, 0, 0x0c, 4, 0x0c, 2, 0x18, 3, 'n', 'e', 'w', 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x19, 0xf5, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if f, err := parseParquetBinary(append(long, block...)); err != nil || uint64(len(f.bits.b)) != 32 {
		t.Error(err)
	}
	var deep []byte
	for range 100 {
		deep = append(deep, 0x1c)
	}
	expectRefused(t, parseParquetBinary, []damaged{
		{"nothing", nil, "1 more bytes; there are 0"},
		{"another algorithm", append(parquetHeader(32, 2, 1, 1), block...), "algorithm 2"},
		{"another hash", append(parquetHeader(32, 1, 3, 1), block...), "hash 3"},
		{"gzip", append(parquetHeader(32, 1, 1, 2), block...), "compression 2"},
		{"no algorithm", append([]byte{0x15, 64, 0}, block...), "algorithm -1"},
		{"no blocks", parquetHeader(0, 1, 1, 1), "0 bytes"},
		{"a negative length", append(parquetHeader(-32, 1, 1, 1), block...), "-32 bytes"},
		{"half a block", append(parquetHeader(48, 1, 1, 1), make([]byte, 48)...), "not a multiple of 32"},
		{"a block too few", append(parquetHeader(64, 1, 1, 1), block...), "64 bytes; there are 32"},
		{"a block too many", append(parquetHeader(32, 1, 1, 1), make([]byte, 64)...), "32 bytes follow"},
		{"all memory", append(parquetHeader(1<<62, 1, 1, 1), block...), "4611686018427387904"},
		{"structures in structures", deep, "deep"},
		{"a list of much", []byte{0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, "elements; there are 0 bytes"},
		{"a map of much", []byte{0x1b, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x55}, "pairs; there are 0 bytes"},
		{"a text of much", []byte{0x18, 0xff, 0xff, 0xff, 0xff, 0x7f}, "more bytes; there are 0"},
		{"a number that does not end", append([]byte{0x15}, bytes.Repeat([]byte{0x80}, 20)...), "64 bits"},
		{"a type of later", []byte{0x1e, 0}, "unknown type 14"},
	})
	if _, err := openParquetFilter(good, "text"); err == nil || errors.Is(err, ErrBadData) {
		t.Errorf("the type text: %v", err)
	}
}

func TestParquetFileRefuses(t *testing.T) {
	filter := append(parquetHeader(32, 1, 1, 1), make([]byte, 32)...)
	good := parquetTable([]string{"c"}, []byte{6}, [][]byte{filter})
	if _, err := openParquetFile(good); err != nil {
		t.Fatal(err)
	}
	with := func(at int, b byte) []byte {
		c := bytes.Clone(good)
		c[(at+len(c))%len(c)] = b
		return c
	}
	v := readVector(t, "parquet-sbbf-int64")
	table := v.File(t, "table.parquet")
	expectRefused(t, openParquetFile, []damaged{
		{"nothing", nil, "PAR1"},
		{"two marks", []byte("PAR1PAR1"), "PAR1"},
		{"an encrypted file", []byte("PARE....PARE"), "encrypted"},
		{"metadata of more than there is", with(-5, 1), "bytes of metadata, but has"},
		{"a column of truths", parquetTable([]string{"c"}, []byte{0}, [][]byte{filter}), "type 0"},
		{"a type of later", parquetTable([]string{"c"}, []byte{8}, [][]byte{filter}), "type 8"},
		{"a filter that is too short", parquetTable([]string{"c"}, []byte{6}, [][]byte{filter[:30]}), "the header says an array of 32 bytes"},
		{"no filters", parquetTable(nil, nil, nil), "no column"},
		{"metadata cut short", append(append(bytes.Clone(table[:len(table)-30]), 4, 0, 0, 0), "PAR1"...), "metadata"},
	})
	for _, offset := range []int64{-1, 0, 3, 1 << 40, int64(len(good))} {
		if _, err := openParquetFile(parquetOneColumn(filter, offset)); !errors.Is(err, ErrBadData) {
			t.Errorf("a filter at %d: %v", offset, err)
		}
	}
	length := func(n int64) []byte { return binary.AppendVarint([]byte{0x15}, n) } // 15: length of the filter
	if _, err := openParquetFile(parquetOneColumn(filter, 4, length(int64(len(filter)))...)); err != nil {
		t.Error(err)
	}
	_, err := openParquetFile(parquetOneColumn(filter, 4, length(int64(len(filter)+1))...))
	if !errors.Is(err, ErrBadData) || !strings.Contains(err.Error(), "by the metadata") {
		t.Errorf("a filter of another length: %v", err)
	}
}

// parquetOneColumn writes a file with one filter, whose metadata say that it is at
// an offset. What is given more follows that field; behind a 0, which ends the metadata
// of the column, it belongs to the column itself.
func parquetOneColumn(filter []byte, offset int64, more ...byte) []byte {
	meta := []byte{0x49, 0x1c, 0x19, 0x1c, 3<<4 | thriftStruct, 0x15, 12, 0xd6}
	meta = append(append(binary.AppendVarint(meta, offset), more...), 0, 0, 0, 0)
	file := append(append([]byte("PAR1"), filter...), meta...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(meta))), "PAR1"...)
}

// TestParquetEncrypted reads a file of which a column is encrypted: its filter cannot be
// asked, and all the bytes there are may be a filter by chance.
func TestParquetEncrypted(t *testing.T) {
	filter := append(parquetHeader(32, 1, 1, 1), make([]byte, 32)...)
	for what, column := range map[string][]byte{
		"encryption":         {0, 5<<4 | thriftStruct, 0},
		"encrypted metadata": {0, 6<<4 | thriftBinary, 2, 'x', 'y'},
	} {
		_, err := openParquetFile(parquetOneColumn(filter, 4, column...))
		if !errors.Is(err, ErrBadData) || !strings.Contains(err.Error(), "columns are encrypted") {
			t.Errorf("a column with %s: %v", what, err)
		}
	}
}

func TestParquetConfig(t *testing.T) {
	for _, c := range []parquetConfig{
		{}, {Type: parquetInt64}, {Bytes: 33, Type: parquetInt64}, {Bytes: 1 << 31, Type: parquetInt64}, {Bytes: 32}, {Bytes: 32, Type: "text"},
		{Capacity: 10, Type: parquetInt64}, {ErrorRate: 0.1, Type: parquetInt64}, {Capacity: 1 << 40, ErrorRate: 0.1, Type: parquetInt64},
		{Capacity: 10, ErrorRate: 1e-200, Type: parquetInt64},
	} {
		if f, err := newParquet(c); err == nil {
			t.Errorf("%+v: %d bytes", c, uint64(len(f.bits.b)))
		}
	}
	for _, c := range []struct {
		n    uint64
		p    float64
		size uint64
	}{{1, 0.5, 32}, {100, 0.01, 128}, {1000, 0.01, 2048}, {1e6, 0.01, 2 << 20}, {50e6, 0.01, 64 << 20}} {
		if f := testParquet(t, parquetConfig{Capacity: c.n, ErrorRate: c.p, Type: parquetBinary}); uint64(len(f.bits.b)) != c.size {
			t.Errorf("%d keys at %v: %d bytes, want %d", c.n, c.p, uint64(len(f.bits.b)), c.size)
		}
	}
}

func TestParquetUnion(t *testing.T) {
	c := parquetConfig{Capacity: 200, ErrorRate: 0.01, Type: parquetString}
	whole, a, b := testParquet(t, c), testParquet(t, c), testParquet(t, c)
	adds(t, whole, numberedKeys(0, 200))
	adds(t, a, numberedKeys(0, 100))
	adds(t, b, numberedKeys(100, 200))
	if err := a.Union(b); err != nil {
		t.Fatal(err)
	}
	expectBytes(t, "the union", written(t, a), written(t, whole))
	if s := a.Stats(); s.Cardinality.Value < 180 || s.Cardinality.Value > 220 || s.Bits != 8*uint64(len(a.bits.b)) || s.ErrorRate <= 0 || s.ErrorRate > 0.02 {
		t.Errorf("%+v", s)
	}
	for _, d := range []parquetConfig{{Bytes: 32, Type: parquetString}, {Bytes: uint64(len(a.bits.b)), Type: parquetBinary}} {
		if err := a.Union(testParquet(t, d)); !errors.Is(err, bloom.ErrIncompatible) {
			t.Errorf("%+v: %v", d, err)
		}
	}
	parsed, err := openParquetFilter(written(t, a), parquetString)
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

func TestParquetNoCopy(t *testing.T) {
	expectNoCopy(t, parseParquetBinary, parquetHeader(16<<20, 1, 1, 1), 16<<20)
	filter := append(parquetHeader(16<<20, 1, 1, 1), make([]byte, 16<<20)...)
	expectNoCopy(t, openParquetFile, parquetTable([]string{"c"}, []byte{6}, [][]byte{filter}), 0)
}

func FuzzParseParquet(f *testing.F) {
	for _, c := range parquetVectors {
		v := readVector(f, c.name)
		f.Add(v.File(f, v.wish(f).File), []byte("a key"))
	}
	f.Add(append(parquetHeader(32, 1, 1, 1), bytes.Repeat([]byte{255}, 32)...), []byte("12345678"))
	f.Fuzz(func(t *testing.T, b, key []byte) {
		for _, name := range parquetTypes {
			typ := parquetType(name)
			g, err := openParquetFilter(b, typ)
			if (g == nil) == (err == nil) {
				t.Fatalf("%v and %v", g, err)
			}
			if err != nil {
				return
			}
			again, err := openParquetFilter(written(t, g), typ)
			if err != nil || again.Has(key) != g.Has(key) || uint64(len(again.bits.b)) != uint64(len(g.bits.b)) {
				t.Fatalf("what was written is another filter, %v", err)
			}
			c, err := cloned(g)
			if err != nil {
				t.Fatal(err)
			}
			isNew, err := c.Add(key)
			if err == nil && (isNew == g.Has(key) || !c.Has(key)) || err != nil && g.Has(key) {
				t.Fatalf("%s: key %q was there: %v, is new: %v, %v", typ, key, g.Has(key), isNew, err)
			}
		}
	})
}

func FuzzParseParquetFile(f *testing.F) {
	for _, c := range parquetVectors {
		f.Add(readVector(f, c.name).File(f, "table.parquet"), []byte("a key"))
	}
	f.Add(readVector(f, "parquet-multi-rowgroup").File(f, "table.parquet"), []byte("1"))
	f.Add(mixedTable(f, map[parquetType][]byte{parquetInt32: Int64Key(-5), parquetDouble: []byte("2"), parquetString: []byte("a")}), []byte("2"))
	f.Fuzz(func(t *testing.T, b, key []byte) {
		before := filtertest.HeapAllocs()
		g, err := openParquetFile(b)
		if n := filtertest.HeapAllocs() - before; n > 2<<20+400*uint64(len(b)) {
			t.Fatalf("parsing %d bytes allocated %d", len(b), n)
		}
		if (g == nil) == (err == nil) {
			t.Fatalf("%v and %v", g, err)
		}
		if err != nil {
			return
		}
		any := false
		for _, p := range g.filters {
			one, err := g.Select(p.Column, p.RowGroup, "")
			if err != nil {
				t.Fatal(err)
			}
			any = any || one.Has(key)
		}
		any = any || len(g.lacking) > 0 || g.encrypted > 0
		if !g.mixed() && any != g.Has(key) {
			t.Fatal("one of the filters has the key, and all together have not, or the reverse")
		}
		if s := g.Stats(); s.Ones > s.Bits {
			t.Fatal("more ones than bits")
		}
		written(t, g)
	})
}
