package interop

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"seen/internal/filtertest"
)

// TestTableKeysAreNotCopied has blocks whose keys share a long beginning: copies of all
// of them would take a thousand times the memory of the file.
func TestTableKeysAreNotCopied(t *testing.T) {
	block := tableEntryOf(strings.Repeat("x", 20_000))
	for range 5000 {
		block = append(binary.AppendUvarint(block, 20_000), 0, 0)
	}
	block = append(block, make([]byte, 4)...)
	c := goodLevelTable(t)
	c.meta = block
	level := c.file()
	rocks := append(bytes.Clone(block), make([]byte, tableTrailer)...)
	footer := binary.AppendUvarint([]byte{1, 0}, uint64(len(block)))
	footer = append(footer, make([]byte, rocksdbFooter-12-len(footer))...)
	footer = append(footer, rocksdbVersion, 0, 0, 0)
	rocks = binary.LittleEndian.AppendUint64(append(rocks, footer...), rocksdbMagic)
	for name, open := range map[string]func() error{
		"leveldb": func() error { _, err := openLevelDBTable(level); return err },
		"rocksdb": func() error { _, err := openRocksDBTable(rocks); return err },
	} {
		before := filtertest.HeapAllocs()
		err := open()
		if n := filtertest.HeapAllocs() - before; err == nil || !strings.Contains(err.Error(), "metaindex has") || n > 2<<20 {
			t.Errorf("%s: %d bytes allocated, %v", name, n, err)
		}
	}
}

// TestRefusedGoesLast has the chunks of RedisBloom that begin and end as a pickle does.
func TestRefusedGoesLast(t *testing.T) {
	b := written(t, smallRedis(t, "chunks"))
	for _, at := range []int{0, 20 + 16} { // keys in the filter, and in its one sub-filter
		binary.LittleEndian.PutUint64(b[at:], 0x0280)
	}
	b[len(b)-1] = '.'
	all := Detect(b)
	if len(all) != 2 || all[1].Refused == "" {
		t.Fatalf("%+v", all)
	}
	if f, err := Open(b, Spec{}); err != nil || f.Describe().Format != "redisbloom" {
		t.Error(f, err)
	}
}

// TestParquetLacking has two row groups of which one has a filter, without the only key.
func TestParquetLacking(t *testing.T) {
	filter := append(parquetHeader(32, 1, 1, 1), make([]byte, 32)...)
	file := func(values byte) []byte {
		column := func(rest ...byte) []byte { return append([]byte{0x19, 0x1c, 0x3c, 0x15, 12}, append(rest, 0, 0, 0)...) }
		meta := append([]byte{0x49, 0x2c}, column(0x46, 2, 0x96, 8)...) // 5: values, 14: offset of the filter, 4
		meta = append(append(meta, column(0x46, values)...), 0)
		b := append(append([]byte("PAR1"), filter...), meta...)
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(meta))), "PAR1"...)
	}
	for values, want := range map[byte]bool{0: false, 2: true} {
		f, err := openParquetFile(file(values))
		if err != nil {
			t.Fatal(err)
		}
		d := f.Describe()
		if got := f.Has([]byte("key")); got != want || (len(d.Notes) > 0) != want {
			t.Errorf("a row group with %d values and no filter: %v, %q", values/2, got, d.Notes)
		}
		one, err := f.Select("", 0, "")
		if err != nil {
			t.Fatal(err)
		}
		if one.Has([]byte("key")) || len(one.Describe().Notes) != 0 {
			t.Error("the row group with the filter may have a key that it has not")
		}
	}
	// A column that cannot be read may have any key.
	f, err := openParquetFile(file(0))
	if err != nil {
		t.Fatal(err)
	}
	f.encrypted = 1
	if !f.Has([]byte("key")) {
		t.Error("an encrypted column has no keys")
	}
}

// TestParquetLongHeader has a header that any number of columns could point to.
func TestParquetLongHeader(t *testing.T) {
	b := append([]byte{0x18, 0x90, 0x4e}, make([]byte, 10_000)...) // 1: a text, to be skipped
	b = append(b, parquetHeader(32, 1, 1, 1)...)
	if _, err := parseParquetBinary(append(b, make([]byte, 32)...)); err == nil || !strings.Contains(err.Error(), "the metadata say 10000 more bytes") {
		t.Error(err)
	}
}

// TestParquetKeepsMaybe takes a file in which a row group has no filter to other places:
// nowhere may it say no to a key of that group.
func TestParquetKeepsMaybe(t *testing.T) {
	one := must(newParquet(parquetConfig{Type: parquetString, Bytes: 1024}))
	f := &parquetFile{
		filters: []parquetPart{{Column: "c", Physical: "BYTE_ARRAY", RowGroup: 0, Filter: one}},
		lacking: []parquetPlace{{"c", 1}}, spec: Spec{Name: "parquet"},
	}
	f.index()
	key := []byte("in group 1")
	if !f.Has(key) {
		t.Fatal("the file")
	}
	if s, w, in := Extract(f); in {
		var b bytes.Buffer
		if _, err := w.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		g, err := Open(b.Bytes(), s)
		if err != nil {
			t.Fatal(err)
		}
		if !g.Has(key) {
			t.Error("Extract says no")
		}
	}
	if c, err := Clone(f); err == nil {
		t.Errorf("Clone says %v", c.Has(key))
	}
	into := must(newParquet(parquetConfig{Type: parquetString, Bytes: 1024}))
	if err := into.Union(f); err == nil {
		t.Errorf("Union says %v", into.Has(key))
	}
	var b bytes.Buffer
	if _, err := f.WriteTo(&b); err == nil {
		if g, err := openParquetFilter(b.Bytes(), parquetString); err == nil && !g.Has(key) {
			t.Error("WriteTo says no")
		}
	}
}
