package interop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
)

func init() {
	goldenCases = append(goldenCases, []goldenCase{
		{dir: "leveldb-bloom10", spec: "leveldb", build: "leveldb:bits=10", capacity: 310, errorRate: 0.01},
		{dir: "leveldb-bloom10-bytes", spec: "leveldb", build: "leveldb:bits=10", capacity: 214, errorRate: 0.01},
		{dir: "leveldb-bloom5", spec: "leveldb", build: "leveldb:bits=5", capacity: 310, errorRate: 0.01},
	}...)
}

// plainLevelHash is LevelDB's hash, in whole numbers that do not wrap.
func plainLevelHash(b []byte, seed uint32) uint32 {
	width, m := new(big.Int).Lsh(big.NewInt(1), 32), big.NewInt(0xc6a4a793)
	h := big.NewInt(int64(len(b)))
	h.Mul(h, m).Mod(h, width).Xor(h, big.NewInt(int64(seed)))
	for len(b) > 0 {
		n, shift := min(4, len(b)), uint(16)
		if n < 4 {
			shift = 24
		}
		word := slices.Clone(b[:n])
		slices.Reverse(word)
		h.Add(h, new(big.Int).SetBytes(word)).Mul(h, m).Mod(h, width)
		h.Xor(h, new(big.Int).Rsh(h, shift))
		b = b[n:]
	}
	return uint32(h.Uint64())
}

func TestLevelDBHash(t *testing.T) {
	for i, want := range []uint32{0xbc9f1d34, 0x286e9db0, 0x008dfddb, 0xe7aa26c1, 0x49067230} {
		key := anchors()[i]
		if got, plain := leveldbHash(key, leveldbSeed), plainLevelHash(key, leveldbSeed); got != want || plain != want {
			t.Errorf("%d bytes: %x and, by the definition, %x, want %x", len(key), got, plain, want)
		}
	}
}

func TestLevelDBProbes(t *testing.T) {
	for dir, k := range map[string]int{"leveldb-bloom10": 6, "leveldb-bloom10-bytes": 6, "leveldb-bloom5": 3} {
		m := 8 * uint64(len(readGolden(t, goldenCase{dir: dir}).filter)-1)
		compareBits(t, goldenCase{dir: dir}, false, func(key []byte) (all []uint64) {
			h := uint64(plainLevelHash(key, 0xbc9f1d34))
			delta := h>>17 | h<<15&0xffffffff
			for i := range uint64(k) {
				all = append(all, (h+i*delta)%(1<<32)%m)
			}
			return all
		})
	}
}

// TestLevelDBSize has numbers at the edges of what LevelDB does with bits per key.
func TestLevelDBSize(t *testing.T) {
	for _, c := range []struct{ keys, bits, m, k uint64 }{
		{0, 10, 64, 6}, {1, 1, 64, 1}, {10, 10, 104, 6}, {1000, 1, 1000, 1}, {100, 50, 5000, 30}, {3, 1000, 3000, 30},
	} {
		f, err := newLevelDB(c.keys, c.bits)
		if err != nil {
			t.Fatal(err)
		}
		if m, k := f.scheme.size(); m != c.m || k != c.k {
			t.Errorf("%d keys of %d bits: %d bits and %d probes, want %d and %d", c.keys, c.bits, m, k, c.m, c.k)
		}
	}
	for _, c := range [][2]uint64{{1, 0}, {1 << 60, 100}, {1 << 63, 2}} {
		if f, err := newLevelDB(c[0], c[1]); err == nil {
			t.Errorf("%v: %v", c, f)
		}
	}
}

// TestLevelDBTable asks a table of LevelDB for all keys, and finds the filters of its
// data blocks by reading those.
func TestLevelDBTable(t *testing.T) {
	v := readVector(t, "leveldb-bloom10")
	content := v.File(t, "table.ldb")
	f, err := Open(content, Spec{})
	if err != nil {
		t.Fatal(err)
	}
	table := f.(*levelDBTable)
	yes := 0
	for i, key := range v.Asked {
		has := table.Has(key)
		if i < len(v.Keys) && !has {
			t.Fatalf("key %q was added", key)
		}
		if has {
			yes++
		}
	}
	// 2065 keys are absent, and 17 of them answered yes by the one filter for all keys
	// at a hundredth; those of the blocks are of the same rate.
	if yes -= len(v.Keys); yes > 60 {
		t.Errorf("%d of the keys that were not added may be there", yes)
	}
	st := f.Stats()
	if st.Layers < 5 || st.Probes != 6 || st.Cardinality.Value < 250 || st.Cardinality.Value > 370 || st.ErrorRate > 0.03 {
		t.Errorf("%+v", st)
	}
	// Every data block has a filter of its own or shares it; with another one, keys are
	// not found.
	for i := range table.index {
		table.index[i].at += 1 << table.base
	}
	lost := 0
	for _, key := range v.Keys {
		if !table.Has(key) {
			lost++
		}
	}
	if lost < len(v.Keys)/2 {
		t.Errorf("with the filters of other blocks only %d keys are missed", lost)
	}
	if _, err := Clone(f); err == nil {
		t.Error("a table can be changed")
	}
	expectBytes(t, "the file", written(t, f), content)
}

// entry is one of a block of which none shares its key.
func tableEntryOf(key string, value ...byte) []byte {
	b := binary.AppendUvarint([]byte{0}, uint64(len(key)))
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(append(b, key...), value...)
}

// levelTable makes a table from its metaindex entries and so on, with checksums.
type levelTable struct {
	meta, index, filter []byte
	compress            byte
}

func (c levelTable) file() []byte {
	var b []byte
	block := func(body []byte, kind byte) []byte {
		if kind == 1 {
			body = s2.EncodeSnappy(nil, body)
		}
		at := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(b))), uint64(len(body)))
		b = append(append(b, body...), kind)
		sum := crc32.Checksum(b[len(b)-len(body)-1:], crc32.MakeTable(crc32.Castagnoli))
		b = binary.LittleEndian.AppendUint32(b, (sum>>15|sum<<17)+0xa282ead8)
		return at
	}
	filter := block(c.filter, 0)
	if c.meta == nil {
		c.meta = append(tableEntryOf("filter.leveldb.BuiltinBloomFilter2", filter...), 0, 0, 0, 0, 1, 0, 0, 0)
	}
	footer := append(block(c.meta, c.compress), block(c.index, c.compress)...)
	footer = append(footer, make([]byte, 40-len(footer))...)
	return binary.LittleEndian.AppendUint64(append(b, footer...), leveldbMagic)
}

func goodLevelTable(t testing.TB) levelTable {
	t.Helper()
	f, err := newLevelDB(1, 10)
	if err != nil {
		t.Fatal(err)
	}
	adds(t, f, [][]byte{[]byte("b")})
	filter := written(t, f)
	n := byte(len(filter))
	// Two filters, of which the second is empty, for data at 0 and at 2048.
	block := append(filter, 0, 0, 0, 0, n, 0, 0, 0, n, 0, 0, 0, 11)
	index := append(tableEntryOf("c12345678", 0, 100), tableEntryOf("e12345678", 0x80, 0x10, 100)...)
	return levelTable{filter: block, index: append(index, 0, 0, 0, 0, 1, 0, 0, 0)}
}

func TestLevelDBTableMade(t *testing.T) {
	for _, compress := range []byte{0, 1} {
		c := goodLevelTable(t)
		c.compress = compress
		table, err := openLevelDBTable(c.file())
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]bool{"b": true, "a": false, "c": false, "d": false, "e": false, "f": false, "": false} {
			if table.Has([]byte(key)) != want {
				t.Errorf("key %q: %v", key, !want)
			}
		}
	}
	// Where a filter is missing, or has no probes, every key may be there; where it has
	// less than two bytes, none is.
	c := goodLevelTable(t)
	c.index = append(tableEntryOf("e12345678", 0x80, 0x20, 100), 0, 0, 0, 0, 1, 0, 0, 0)
	if table, err := openLevelDBTable(c.file()); err != nil || !table.Has([]byte("x")[:0]) {
		t.Error("a block without a filter has no keys", err)
	}
}

func TestLevelDBHostile(t *testing.T) {
	expectRefused(t, openLevelDB, []damaged{{"nothing", nil, "0 bytes"}, {"a byte", []byte{6}, "1 bytes"}, {"no probes", make([]byte, 9), "no probes"}})
	f, err := openLevelDB([]byte{0, 31})
	if err != nil || !f.Has([]byte("x")) || len(f.Describe().Notes) != 1 {
		t.Error("probes that are reserved", err)
	}

	change := func(do func(*levelTable)) []byte {
		c := goodLevelTable(t)
		do(&c)
		return c.file()
	}
	good := goodLevelTable(t).file()
	flip := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	footer := len(good) - leveldbFooter
	far := bytes.Clone(good)
	copy(far[footer:], []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 5})
	long := bytes.Clone(good)
	for i := range 40 {
		long[footer+i] = 0xff
	}
	expectRefused(t, openLevelDBTable, []damaged{
		{"nothing", nil, "its last bytes differ"}, {"another end", flip(len(good) - 1), "its last bytes differ"}, {"a short file", good[footer:], "a block of"}, {"a block far away", far, "a block of"},
		{"a long number", long, "not a number"}, {"another checksum", flip(footer - 1), "checksum"}, {"another byte", flip(footer - 20), "checksum"},
		{"another bit of a filter", flip(0), "the filter block: the checksum"},
		{"no filter", change(func(c *levelTable) { c.meta = append(tableEntryOf("filter.other"), 0, 0, 0, 0, 1, 0, 0, 0) }), `"filter.other"`},
		{"an empty block", change(func(c *levelTable) { c.meta = []byte{0} }), "without an end"},
		{"many restarts", change(func(c *levelTable) { c.meta = []byte{0xff, 0xff, 0xff, 0xff} }), "restarts"},
		{"a long key", change(func(c *levelTable) { c.meta = []byte{0, 100, 0, 0, 0, 0, 0} }), "an entry of 0, 100"},
		{"a key that shares too much", change(func(c *levelTable) { c.meta = []byte{5, 0, 0, 0, 0, 0, 0} }), "an entry of 5"},
		{"half an entry", change(func(c *levelTable) { c.meta = []byte{0, 0x80, 0, 0, 0, 0} }), "cut off"},
		{"compression 2", change(func(c *levelTable) { c.compress = 2 }), "compression 2"},
		{"a short filter block", change(func(c *levelTable) { c.filter = []byte{11} }), "ends with 5"},
		{"positions outside", change(func(c *levelTable) { c.filter = []byte{9, 0, 0, 0, 11} }), "positions at 9"},
		{"a large base", change(func(c *levelTable) { c.filter[len(c.filter)-1] = 64 }), "2^64"},
		{"a short key", change(func(c *levelTable) { c.index = append(tableEntryOf("c1", 0, 100), 0, 0, 0, 0, 1, 0, 0, 0) }), "a key of 2"},
		{"keys in another order", change(func(c *levelTable) {
			c.index = append(append(tableEntryOf("c12345678", 0, 100), tableEntryOf("b12345678", 0, 100)...), 0, 0, 0, 0, 1, 0, 0, 0)
		}), "comparator"},
		{"keys that share", change(func(c *levelTable) {
			long := strings.Repeat("x", 200)
			c.index = tableEntryOf(long, 0, 100)
			for range 10 {
				c.index = append(c.index, 200, 1, 0, 2, 0, 100)
			}
			c.index = append(c.index, 0, 0, 0, 0, 1, 0, 0, 0)
		}), "more keys than"},
	})
	// A filter outside the filters may have every key, as in LevelDB.
	b := goodLevelTable(t)
	b.filter[len(b.filter)-13] = 200
	table, err := openLevelDBTable(b.file())
	if err != nil || !table.Has([]byte("a")) {
		t.Error("a filter outside the filters", err)
	}
	table.Stats()
	if _, err := Open(good, Spec{Name: "rocksdb"}); !errors.Is(err, ErrBadData) {
		t.Error("a table of LevelDB is a filter of RocksDB", err)
	}
}

func FuzzTables(f *testing.F) {
	for dir, file := range map[string]string{"leveldb-bloom10": "table.ldb", "rocksdb-fastlocal10": "table.sst", "leveldb-bloom5": "filter.bin", "rocksdb-fastlocal5.5": "filter.bin"} {
		f.Add(readGolden(f, goldenCase{dir: dir, file: file}).filter)
	}
	f.Add(goodLevelTable(f).file())
	f.Fuzz(func(t *testing.T, b []byte) {
		exerciseForeign(t, b, Spec{Name: "leveldb"})
		exerciseForeign(t, b, Spec{Name: "rocksdb"})
		// With checksums that fit, the decoder gets further.
		if len(b) > 2 {
			at := int(b[0]) % len(b)
			c := goodLevelTable(t)
			c.index, c.compress = b[1:at+1:at+1], b[0]>>7
			exerciseForeign(t, c.file(), Spec{Name: "leveldb"})
			c.index, c.filter = goodLevelTable(t).index, b
			exerciseForeign(t, c.file(), Spec{Name: "leveldb"})
		}
	})
}
