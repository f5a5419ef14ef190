package interop

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/klauspost/compress/s2"

	"seen/bloom"
	"seen/sizing"
)

// Numbers that table files end with.
const (
	leveldbMagic = 0xdb4775248b80fb57
	rocksdbMagic = 0x88e241b785f4cff7
)

// tableMagic returns the last eight bytes of a file as a number.
func tableMagic(b []byte) uint64 {
	if len(b) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(b[len(b)-8:])
}

// tableBlock is where a block of a table file is, without its trailer.
type tableBlock struct{ at, size uint64 }

// tableOr is the open function of a format of two kinds of files: tables, which end with
// magic, and filters.
func tableOr(magic uint64, table, filter func(b []byte, s Spec) (Foreign, error)) func(b []byte, s Spec) (Foreign, error) {
	return func(b []byte, s Spec) (Foreign, error) {
		if tableMagic(b) == magic {
			return table(b, s)
		}
		return filter(b, s)
	}
}

// readBlock reads a pair of numbers of variable length, and returns what follows it.
func readBlock(b []byte) (h tableBlock, rest []byte, err error) {
	var n int
	if h.at, n = binary.Uvarint(b); n <= 0 {
		return h, nil, errors.New("a position that is not a number")
	}
	b = b[n:]
	if h.size, n = binary.Uvarint(b); n <= 0 {
		return h, nil, errors.New("a size that is not a number")
	}
	return h, b[n:], nil
}

// tableTrailer is the type of compression and the checksum after a block.
const tableTrailer = 5

// of returns the block, and its trailer, in a file whose footer is not part of b.
func (h tableBlock) of(b []byte) (body, trailer []byte, err error) {
	if have := uint64(len(b)); have < tableTrailer || h.at > have-tableTrailer || h.size > have-tableTrailer-h.at {
		return nil, nil, fmt.Errorf("a block of %d bytes at %d, in a file of %d", h.size, h.at, have)
	}
	body = b[h.at:][:h.size:h.size]
	return body, b[h.at+h.size:][:tableTrailer], nil
}

// walkBlock calls visit, which must not copy all keys, with each entry of an uncompressed
// block. An entry is three numbers, of the bytes that its key shares with the key before,
// of the other bytes of the key, and of the bytes of the value, and then these two. The
// block ends with the positions of some entries and their number. The key is valid until
// the next call.
func walkBlock(b []byte, visit func(key, value []byte) error) error {
	if len(b) < 4 {
		return errors.New("a block without an end")
	}
	restarts := uint64(binary.LittleEndian.Uint32(b[len(b)-4:]))
	if restarts > uint64(len(b)-4)/4 {
		return fmt.Errorf("%d restarts in a block of %d bytes", restarts, len(b))
	}
	b = b[:uint64(len(b)-4)-4*restarts]
	var key []byte
	for len(b) > 0 {
		var n [3]uint64 // shared, not shared, value
		for i := range n {
			v, size := binary.Uvarint(b)
			if size <= 0 {
				return errors.New("an entry of a block is cut off")
			}
			n[i], b = v, b[size:]
		}
		have := uint64(len(b))
		if n[0] > uint64(len(key)) || n[1] > have || n[2] > have-n[1] {
			return fmt.Errorf("an entry of %d, %d and %d bytes; there are %d", n[0], n[1], n[2], have)
		}
		key = append(key[:n[0]], b[:n[1]]...)
		if err := visit(key, b[n[1]:][:n[2]:n[2]]); err != nil {
			return err
		}
		b = b[n[1]+n[2]:]
	}
	return nil
}

// levelDBTable is a table file of LevelDB (.ldb, .sst) with filters of the policy
// leveldb.BuiltinBloomFilter2, and can only be asked.
//
// The last 48 bytes of the file are the positions and sizes of two blocks, and a number
// that says what it is. The first, the metaindex, has that of the filter block: filters
// as in levelDB, one for each 2^base bytes of data blocks that begin there, the position
// of each in 32 bits, that of those positions, and base in a byte. The second, the index,
// has a key at or above all of each data block, and where that is. A key is looked up in
// the filter of the block that would contain it; keys are compared by their bytes, as
// LevelDB does by default.
//
// Parsing reads all three and checks their checksums. Any number of goroutines may ask.
type levelDBTable struct {
	file    []byte
	index   []tableEntry
	filters []byte
	offsets []byte // of the filters, and behind them the number of their bytes
	base    uint
}

// tableEntry is a data block: where it begins, and a key at or above its keys.
type tableEntry struct {
	key []byte
	at  uint64
}

const (
	leveldbFooter = 48
	leveldbFilter = "filter.leveldb.BuiltinBloomFilter2"
	// leveldbKeyTail is what LevelDB appends to a key of the user.
	leveldbKeyTail = 8
)

// parseLevelDBTable returns the filters of a table file, to which they refer.
func parseLevelDBTable(file []byte, _ Spec) (*levelDBTable, error) {
	if len(file) < leveldbFooter || tableMagic(file) != leveldbMagic {
		return nil, errors.New("not a table of LevelDB: its last bytes differ")
	}
	b, footer := file[:len(file)-leveldbFooter], file[len(file)-leveldbFooter:]
	meta, rest, err := readBlock(footer)
	if err != nil {
		return nil, fmt.Errorf("the metaindex: %w", err)
	}
	index, _, err := readBlock(rest)
	if err != nil {
		return nil, fmt.Errorf("the index: %w", err)
	}
	t := &levelDBTable{file: file}
	metaindex, err := leveldbBlock(b, meta)
	if err != nil {
		return nil, fmt.Errorf("the metaindex: %w", err)
	}
	entries, found := 0, false
	var other string
	var filter tableBlock
	err = walkBlock(metaindex, func(key, value []byte) (err error) {
		// Keys may share their beginning, so copies of all keys could take far more
		// memory than the block.
		if entries++; string(key) == leveldbFilter {
			found = true
			filter, _, err = readBlock(value)
		} else if entries == 1 {
			other = string(key[:min(len(key), 100)])
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the metaindex: %w", err)
	}
	if !found {
		return nil, fmt.Errorf("the metaindex has %d entries, the first %q, but not %s: the table was written without a Bloom filter", entries, other, leveldbFilter)
	}
	if err := t.readFilters(b, filter); err != nil {
		return nil, fmt.Errorf("the filter block: %w", err)
	}
	if err := t.readIndex(b, index); err != nil {
		return nil, fmt.Errorf("the index: %w", err)
	}
	return t, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// leveldbBlock returns the content of a block.
func leveldbBlock(b []byte, h tableBlock) ([]byte, error) {
	body, trailer, err := h.of(b)
	if err != nil {
		return nil, err
	}
	// The checksum is stored turned and shifted.
	sum := crc32.Update(crc32.Checksum(body, castagnoli), castagnoli, trailer[:1])
	if want := binary.LittleEndian.Uint32(trailer[1:]); (sum>>15|sum<<17)+0xa282ead8 != want {
		return nil, errors.New("the checksum does not match")
	}
	switch trailer[0] {
	case 0:
		return body, nil
	case 1:
		// Three bytes of snappy stand for at most 64.
		if n, err := s2.DecodedLen(body); err != nil || n > 32*len(body) {
			return nil, fmt.Errorf("%d bytes of snappy for %d, %w", len(body), n, cmp.Or(err, errors.New("more than they can hold")))
		}
		return s2.Decode(nil, body)
	}
	return nil, fmt.Errorf("compression %d; seen reads none and snappy", trailer[0])
}

func (t *levelDBTable) readFilters(b []byte, h tableBlock) error {
	body, err := leveldbBlock(b, h)
	if err != nil {
		return err
	}
	if len(body) < 5 {
		return fmt.Errorf("%d bytes; it ends with 5", len(body))
	}
	at := uint64(binary.LittleEndian.Uint32(body[len(body)-5:]))
	if at > uint64(len(body)-5) || (uint64(len(body)-5)-at)%4 != 0 {
		return fmt.Errorf("positions at %d, of %d bytes", at, len(body))
	}
	if t.base = uint(body[len(body)-1]); t.base > 63 {
		return fmt.Errorf("a filter for 2^%d bytes of data", t.base)
	}
	t.filters, t.offsets = body[:at], body[at:len(body)-1]
	return nil
}

func (t *levelDBTable) readIndex(b []byte, h tableBlock) error {
	index, err := leveldbBlock(b, h)
	if err != nil {
		return err
	}
	room := len(index)
	return walkBlock(index, func(key, value []byte) error {
		data, _, err := readBlock(value)
		if err != nil {
			return err
		}
		if len(key) < leveldbKeyTail {
			return fmt.Errorf("a key of %d bytes; LevelDB itself adds %d", len(key), leveldbKeyTail)
		}
		// No entry shares bytes with the one before, so all keys fit into the block.
		if room -= len(key); room < 0 {
			return errors.New("more keys than its bytes hold")
		}
		user := bytes.Clone(key[:len(key)-leveldbKeyTail])
		if n := len(t.index); n > 0 && bytes.Compare(t.index[n-1].key, user) > 0 {
			return errors.New("the keys are not in the order of their bytes: the table has another comparator")
		}
		t.index = append(t.index, tableEntry{user, data.at})
		return nil
	})
}

// count returns the number of filters.
func (t *levelDBTable) count() uint64 { return uint64(len(t.offsets))/4 - 1 }

// filter returns a filter by its number, empty if nothing was added. nil: the filter does
// not exist, so every key may be there.
func (t *levelDBTable) filter(i uint64) []byte {
	if i >= t.count() {
		return nil
	}
	from, to := uint64(binary.LittleEndian.Uint32(t.offsets[4*i:])), uint64(binary.LittleEndian.Uint32(t.offsets[4*i+4:]))
	if from > to || to > uint64(len(t.filters)) {
		return nil
	}
	return t.filters[from:to]
}

// Has reports whether the table may have key, a key of the user.
func (t *levelDBTable) Has(key []byte) bool {
	i, _ := slices.BinarySearchFunc(t.index, key, func(e tableEntry, key []byte) int { return bytes.Compare(e.key, key) })
	if i == len(t.index) {
		return false
	}
	filter := t.filter(t.index[i].at >> t.base)
	if filter == nil {
		return true
	}
	f, err := parseLevelDB(filter, Spec{})
	if err != nil { // LevelDB says no for less than two bytes, and yes without probes
		return len(filter) >= 2
	}
	return f.Has(key)
}

// KeyKind returns what the bytes of a key are.
func (t *levelDBTable) KeyKind() KeyKind { return KeyBytes }

// Stats describes all filters of the table. It reads all of their bits. The error rate is
// the mean of theirs.
func (t *levelDBTable) Stats() bloom.Stats {
	all := bloom.Stats{Type: "leveldb", Bytes: uint64(len(t.filters))}
	variance := 0.0
	for i := range t.count() {
		f, err := parseLevelDB(t.filter(i), Spec{})
		if err != nil {
			continue
		}
		s := f.Stats()
		all.Layers++
		all.Probes = max(all.Probes, s.Probes)
		all.Bits += s.Bits
		all.Ones += s.Ones
		all.ErrorRate += s.ErrorRate
		all.Cardinality.Value += s.Cardinality.Value
		variance += s.Cardinality.StdErr * s.Cardinality.StdErr
	}
	if all.Layers == 0 {
		all.Cardinality = sizing.Estimate{}
		return all
	}
	all.ErrorRate /= float64(all.Layers)
	all.Fill = float64(all.Ones) / float64(all.Bits)
	all.Cardinality.StdErr = math.Sqrt(variance)
	return all
}

// Describe says what the file is.
func (t *levelDBTable) Describe() Description {
	return Description{
		Format: "leveldb", System: "LevelDB table with filters of leveldb.BuiltinBloomFilter2", Hash: leveldbHashName,
		Fields: []Field{
			{"data blocks", strconv.Itoa(len(t.index))}, {"filters", strconv.FormatUint(t.count(), 10)},
			{"data bytes for a filter", strconv.FormatUint(1<<t.base, 10)},
		},
		Notes: []string{"keys are the user keys, in the order of their bytes"},
	}
}

// WriteTo writes the file.
func (t *levelDBTable) WriteTo(w io.Writer) (int64, error) {
	return bytes.NewReader(t.file).WriteTo(w)
}
