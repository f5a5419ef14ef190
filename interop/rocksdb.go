package interop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"

	"seen/bloom"
	"seen/internal/frame"
)

// rocksDB is a full filter of RocksDB's Bloom filter policy, in the layout that the
// tables of format version 5 brought (FastLocalBloom).
//
// It is lines of 64 bytes, and five bytes: ff, 00, the number of probes in the low five
// bits of one whose others are 0, 00 and 00. The low half of a hash of 64 bits, times
// the number of lines, divided by 2^32, is the line of a key. Each probe takes the upper
// 9 bits of the other half for a bit of the line, the lowest bit of a byte first, and
// multiplies that half by 9e3779b9. The hash is a preview of XXH3.
//
// See plain for what goroutines may do.
type rocksDB struct{ plain[rocksScheme] }

const (
	rocksdbTail      = 5
	rocksdbLine      = 64
	rocksdbMaxProbes = 30
)

// rocksScheme is how RocksDB maps a key to positions.
type rocksScheme struct{ lines, k uint64 }

func (s rocksScheme) positions(dst []uint64, key []byte) ([]uint64, error) {
	h := xxph3(key)
	line := (h & math.MaxUint32 * s.lines) >> 32 * (8 * rocksdbLine)
	x := uint32(h >> 32)
	for range s.k {
		dst = append(dst, line+uint64(x>>23))
		x *= 0x9e3779b9
	}
	return dst, nil
}

func (s rocksScheme) size() (m, k uint64) { return s.lines * rocksdbLine * 8, s.k }
func (rocksScheme) keyKind() KeyKind      { return KeyBytes }
func (rocksScheme) name() string          { return "rocksdb" }

func (s rocksScheme) params() []Field {
	return []Field{{"lines of 64 bytes", strconv.FormatUint(s.lines, 10)}, {"probes", strconv.FormatUint(s.k, 10)}}
}

// rocksdbProbes returns the number of probes that RocksDB chooses for a thousandth of a
// bit per key.
func rocksdbProbes(millibits uint64) uint64 {
	for i, most := range []uint64{2080, 3580, 5100, 6640, 8300, 10070, 11720, 14001, 16050, 18300, 22001, 25501} {
		if millibits <= most {
			return uint64(i) + 1
		}
	}
	if millibits > 50000 {
		return 24
	}
	return (millibits-1)/2000 - 1
}

// rocksdbMaxLines is what a position of 32 bits can choose among.
const rocksdbMaxLines = 1 << 26

// newRocksDB returns an empty filter of the size that RocksDB gives to so many different
// keys with so many bits per key, 1 to 100, perhaps a fraction. (With
// optimize_filters_for_memory RocksDB uses another size.)
func newRocksDB(keys uint64, bitsPerKey float64) (*rocksDB, error) {
	millibits := uint64(0)
	if bitsPerKey >= 1 && bitsPerKey <= 100 {
		millibits = uint64(1000*bitsPerKey + 0.500001)
	}
	high, total := bits.Mul64(keys, millibits)
	if millibits == 0 || high != 0 || total > 8000*rocksdbLine*rocksdbMaxLines {
		return nil, fmt.Errorf("rocksdb: %d keys with %v bits each; give 1 to 100 bits, and at most %d bytes in all", keys, bitsPerKey, uint64(rocksdbLine*rocksdbMaxLines))
	}
	s := rocksScheme{max(1, (total+8000*rocksdbLine-1)/(8000*rocksdbLine)), rocksdbProbes(millibits)}
	p, err := newPlain(s, lsbFirst, s.lines*rocksdbLine, keys, 0)
	return &rocksDB{p}, err
}

// parseRocksDB returns the filter in b, a whole filter block. It refers to b.
func parseRocksDB(b []byte, _ Spec) (*rocksDB, error) {
	if len(b) <= rocksdbTail {
		return nil, fmt.Errorf("a filter of %d bytes, to which RocksDB never added a key", len(b))
	}
	body, tail := b[:len(b)-rocksdbTail], b[len(b)-rocksdbTail:]
	switch {
	case tail[0] == 0xfe:
		return nil, errors.New("a Ribbon filter, which seen does not read")
	case tail[0] == 0:
		return nil, errors.New("RocksDB says that every key may be in this filter")
	case tail[0] < 0x80:
		return nil, errors.New("a filter of the layout before format version 5, which seen does not read; compact the table with a newer version")
	case tail[0] != 0xff || tail[1] != 0 || tail[2]>>5 != 0 || tail[3] != 0 || tail[4] != 0:
		return nil, fmt.Errorf("its last bytes are % x, not those of FastLocalBloom", tail)
	case tail[2] == 0 || tail[2] > rocksdbMaxProbes:
		return nil, fmt.Errorf("%d probes; FastLocalBloom has 1 to %d", tail[2], rocksdbMaxProbes)
	case len(body)%rocksdbLine != 0 || len(body)/rocksdbLine > rocksdbMaxLines:
		return nil, fmt.Errorf("%d bytes, not lines of %d, or more than %d lines", len(body), rocksdbLine, rocksdbMaxLines)
	}
	return &rocksDB{opened(rocksScheme{uint64(len(body)) / rocksdbLine, uint64(tail[2])}, lsbFirst, body)}, nil
}

// Stats describes the filter. It reads all bits. The error rate is the mean over the
// lines, whose fill differs.
func (f *rocksDB) Stats() bloom.Stats {
	s := f.plain.Stats()
	sum, lines := 0.0, 0
	for b := f.bits.b; len(b) >= rocksdbLine; b = b[rocksdbLine:] {
		sum += math.Pow(float64(frame.Ones(b[:rocksdbLine]))/(8*rocksdbLine), float64(s.Probes))
		lines++
	}
	s.ErrorRate, s.ErrorRateAtCapacity = sum/float64(lines), 0
	// The probes of a key are all in one line, so several fall on one bit more often than
	// in the whole array, and a key sets fewer bits: 1 % fewer with 12 probes.
	const bits = 8 * rocksdbLine
	distinct := bits * -math.Expm1(float64(s.Probes)*math.Log1p(-1.0/bits))
	s.Cardinality.Value *= float64(s.Probes) / distinct
	s.Cardinality.StdErr *= float64(s.Probes) / distinct
	return s
}

const rocksdbHashName = "XXPH3 of 64 bits, a preview of XXH3"

func (rocksScheme) describe() Description {
	return Description{Format: "rocksdb", System: "RocksDB filter, FastLocalBloom", Hash: rocksdbHashName}
}

// WriteTo writes the filter block.
func (f *rocksDB) WriteTo(w io.Writer) (int64, error) {
	return f.bits.writeBetween(w, nil, []byte{0xff, 0, byte(f.scheme.k), 0, 0})
}

// rocksDBTable is the full filter of a table file of RocksDB (.sst). It can only be
// asked, and written as the file that it came from; its clone is the filter alone.
//
// The last 53 bytes of a file of format version 1 to 5 are the type of its checksums, the
// positions and sizes of two blocks, the version in 32 bits and a number that says what
// it is. The first of the blocks, the metaindex, names the filter, as one that
// parseRocksDB takes.
//
// Parsing reads the metaindex and the properties. Any number of goroutines may ask.
type rocksDBTable struct {
	rocksDB
	file    []byte
	version uint32
	prefix  bool
}

const (
	rocksdbFooter  = 53
	rocksdbFilter  = "rocksdb.BuiltinBloomFilter"
	rocksdbFull    = "fullfilter." + rocksdbFilter
	rocksdbSplit   = "partitionedfilter." + rocksdbFilter
	rocksdbNotes   = "rocksdb.properties"
	rocksdbWhole   = "rocksdb.block.based.table.whole.key.filtering"
	rocksdbPrefix  = "rocksdb.block.based.table.prefix.filtering"
	rocksdbVersion = 5
)

// parseRocksDBTable returns the filter of a table file. It refers to the file.
func parseRocksDBTable(file []byte, _ Spec) (*rocksDBTable, error) {
	if len(file) < rocksdbFooter || tableMagic(file) != rocksdbMagic {
		return nil, errors.New("not a table of RocksDB: its last bytes differ")
	}
	b, footer := file[:len(file)-rocksdbFooter], file[len(file)-rocksdbFooter:]
	t := &rocksDBTable{file: file, version: binary.LittleEndian.Uint32(footer[rocksdbFooter-12:])}
	if t.version == 0 || t.version > rocksdbVersion {
		return nil, fmt.Errorf("format version %d; seen reads 1 to %d, so compact the table with format_version=5 in its options", t.version, rocksdbVersion)
	}
	meta, _, err := readBlock(footer[1:])
	if err != nil {
		return nil, fmt.Errorf("the metaindex: %w", err)
	}
	names := make(map[string]tableBlock)
	err = rocksdbEntries(b, meta, func(key, value []byte) error {
		for _, name := range []string{rocksdbFull, rocksdbSplit, rocksdbNotes} {
			if string(key) == name {
				h, _, err := readBlock(value)
				names[name] = h
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the metaindex: %w", err)
	}
	notes, ok := names[rocksdbNotes]
	if !ok {
		return nil, errors.New("the metaindex has no properties, which say whether the filter has whole keys")
	}
	whole := true
	err = rocksdbEntries(b, notes, func(key, value []byte) error {
		whole = whole && (string(key) != rocksdbWhole || string(value) != "0")
		t.prefix = t.prefix || string(key) == rocksdbPrefix && string(value) == "1"
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the properties: %w", err)
	}
	if !whole {
		return nil, errors.New("its filter has prefixes of keys and not whole keys")
	}
	h, ok := names[rocksdbFull]
	if _, split := names[rocksdbSplit]; split {
		return nil, errors.New("its filter is partitioned, which seen does not read; compact the table with partition_filters=false")
	}
	if !ok {
		return nil, errors.New("the metaindex has no full filter: the table was written without one")
	}
	body, trailer, err := h.of(b)
	if err == nil && trailer[0] != 0 {
		err = errors.New("it is compressed, and filters never are")
	}
	if err != nil {
		return nil, fmt.Errorf("the filter block: %w", err)
	}
	f, err := parseRocksDB(body, Spec{})
	if err != nil {
		return nil, fmt.Errorf("the filter block: %w", err)
	}
	t.rocksDB = *f
	return t, nil
}

// rocksdbEntries calls visit with the entries of a block that is not compressed, as the
// metaindex and the properties never are.
func rocksdbEntries(b []byte, h tableBlock, visit func(key, value []byte) error) error {
	body, trailer, err := h.of(b)
	if err != nil {
		return err
	}
	if trailer[0] != 0 {
		return fmt.Errorf("compression %d; seen reads uncompressed blocks", trailer[0])
	}
	return walkBlock(body, visit)
}

// Describe says what the file is.
func (t *rocksDBTable) Describe() Description {
	d := Description{
		Format: "rocksdb", System: "RocksDB table with a full filter, FastLocalBloom", Hash: rocksdbHashName,
		Fields: append([]Field{{"format version", strconv.FormatUint(uint64(t.version), 10)}}, t.scheme.params()...),
	}
	if t.prefix {
		d.Notes = append(d.Notes, "the filter also holds prefixes of keys")
	}
	return d
}

// WriteTo writes the file.
func (t *rocksDBTable) WriteTo(w io.Writer) (int64, error) {
	return bytes.NewReader(t.file).WriteTo(w)
}

var rocksdbFormat = format{
	name:     "rocksdb",
	system:   "RocksDB: a full filter, or a table file with one",
	params:   []param{{name: "bits", meaning: "bits per key, such as 9.9; by default the least that the error rate needs", forWrite: true}},
	verified: "filters, tables and answers of RocksDB 7.8.3; filters rebuilt byte for byte",
	sign:     "the magic number at the end of a table file, or the end of a filter and a length in lines",
	detect: func(b []byte) (Confidence, Spec, bool) {
		if tableMagic(b) == rocksdbMagic {
			return Certain, Spec{Name: "rocksdb"}, true
		}
		_, err := parseRocksDB(b, Spec{})
		return Possible, Spec{Name: "rocksdb"}, err == nil
	},
	open: tableOr(rocksdbMagic, parseAs("rocksdb table", parseRocksDBTable), parseAs("rocksdb", parseRocksDB)),
	create: func(s Spec, capacity uint64, errorRate float64) (Foreign, error) {
		bitsPerKey := -math.Log(errorRate) / (ln2 * ln2)
		if text := s.Params["bits"]; text != "" {
			var err error
			if bitsPerKey, err = strconv.ParseFloat(text, 64); err != nil {
				return nil, fmt.Errorf("%s: %w: bits=%s is not a number", s.Name, ErrSpec, text)
			}
		}
		return foreign(newRocksDB(capacity, bitsPerKey))
	},
	clone: func(f Foreign) (Foreign, error) {
		if t, ok := f.(*rocksDBTable); ok {
			f = &t.rocksDB
		}
		return copyOf[rocksDB](f)
	},
}
