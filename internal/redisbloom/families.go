package redisbloom

import (
	"encoding/binary"
	"math/bits"

	"seen/internal/rdb"
)

// Values of RedisBloom's other types, as payload.go has those of Bloom filters.
//
// A cuckoo filter (MBbloomCF, encoding 4): number of sub-filters, buckets of the first,
// copies, copies removed, bucket size, iterations, expansion; then of each sub-filter its
// number of buckets, and its table (string), one byte for each fingerprint.
//
// A count-min sketch (CMSk-TYPE, encoding 0): width, depth, total, counters (string), row by
// row, each in 32 bits, little-endian.
//
// A top-k (TopK-TYPE, encoding 0): k, width, depth, decay (double), buckets (string) of a
// fingerprint and a count, each in 32 bits, little-endian; k slots (string) of a
// fingerprint, the length of an item, 8 bytes without meaning, a count, and 4 bytes without
// meaning; then k strings, each an item and a zero byte. Module and payload cut an item at
// its first zero byte; an empty slot has an empty item and a count of 0.

// Family is a type of values of RedisBloom.
type Family int

// The families.
const (
	Bloom Family = iota
	Cuckoo
	CountMin
	TopK
)

// families has the name of the type, the encodings that are read, and the one that is written,
// which is the last of them.
var families = [...]struct {
	module        string
	first, latest uint64
}{
	Bloom:    {"MBbloom--", 1, 4},
	Cuckoo:   {"MBbloomCF", 4, 4},
	CountMin: {"CMSk-TYPE", 0, 0},
	TopK:     {"TopK-TYPE", 0, 0},
}

// String returns the name of the type, as TYPE replies it.
func (f Family) String() string { return families[f].module }

// FamilyAt returns the family of the value of a module that r is at, and false for that of
// another module.
func FamilyAt(r *rdb.Reader) (Family, bool) {
	for f := range families {
		if r.IsModule(families[f].module) {
			return Family(f), true
		}
	}
	return 0, false
}

// FamilyOf returns the family of a payload, and false for bytes that do not begin as one.
func FamilyOf(payload []byte) (Family, bool) {
	if len(payload) == 0 || payload[0] != rdb.KindModule {
		return 0, false
	}
	return FamilyAt(rdb.NewReader(payload[1:]))
}

// Check reads the value of a module that r is at, and reports what is wrong with its form.
// It takes little memory.
func Check(r *rdb.Reader, f Family) (err error) {
	switch f {
	case Cuckoo:
		_, err = ReadCuckoo(r)
	case CountMin:
		_, err = ReadCountMin(r)
	case TopK:
		_, err = ReadTopK(r)
	default:
		_, err = ReadValue(r)
	}
	return err
}

// encodingOf reads the id of a module, and returns its encoding.
func (f Family) encodingOf(r *rdb.Reader) (uint64, error) {
	id := r.Length()
	version := id & (1<<10 - 1)
	known := families[f]
	switch {
	case r.Err() != nil:
		return 0, r.Err()
	case id != rdb.ModuleID(known.module, version):
		return 0, rdb.Bad("the value of another module, id %016x", id)
	case version < known.first || version > known.latest:
		return 0, rdb.Bad("%s with encoding %d; seen reads %d to %d", known.module, version, known.first, known.latest)
	}
	return version, nil
}

// open checks a payload and reads the value in it.
func open[V any](payload []byte, read func(r *rdb.Reader) (V, error)) (v V, err error) {
	value, err := rdb.OpenPayload(payload)
	if err != nil {
		return v, err
	}
	if len(value) == 0 || value[0] != rdb.KindModule {
		return v, rdb.Bad("not the value of a module")
	}
	r := rdb.NewReader(value[1:])
	v, err = read(r)
	if n := len(r.Rest()); err == nil && n != 0 {
		err = rdb.Bad("%d bytes follow the value", n)
	}
	return v, err
}

// begin appends the start of a value.
func (f Family) begin(dst []byte) []byte {
	return rdb.AppendLength(append(dst, rdb.KindModule), rdb.ModuleID(families[f].module, families[f].latest))
}

// seal appends the end of the value that begins at start in dst, and what makes it a payload.
func seal(dst []byte, start int, version uint16) []byte {
	dst = binary.LittleEndian.AppendUint16(rdb.AppendEnd(dst), version)
	return binary.LittleEndian.AppendUint64(dst, rdb.Checksum(dst[start:]))
}

// Seal returns the payload of a value: the bytes of an RDB file after the kind and the key.
func Seal(value []byte) []byte {
	dst := append([]byte{rdb.KindModule}, value...)
	dst = binary.LittleEndian.AppendUint16(dst, rdb.Version)
	return binary.LittleEndian.AppendUint64(dst, rdb.Checksum(dst))
}

func appendText(dst, text []byte) []byte {
	return append(rdb.AppendTextHead(dst, uint64(len(text))), text...)
}

// CuckooValue is a cuckoo filter as it is in an RDB file or a payload. It refers to the bytes
// that it was read from.
type CuckooValue struct {
	// Header is what CF.SCANDUMP gives first.
	Header []byte
	// Tables are those of the sub-filters, the oldest first.
	Tables []rdb.Text
}

// maxCuckooFilters is RedisBloom's limit of sub-filters, of which seen makes fewer.
const maxCuckooFilters = 1 << 16

// ReadCuckoo reads the value that follows the kind and the key.
func ReadCuckoo(r *rdb.Reader) (*CuckooValue, error) {
	if _, err := Cuckoo.encodingOf(r); err != nil {
		return nil, err
	}
	filters, buckets, copies, removed := r.Number(), r.Number(), r.Number(), r.Number()
	size, iterations, expansion := r.Number(), r.Number(), r.Number()
	if filters == 0 || filters > maxCuckooFilters || size == 0 || (size|iterations|expansion)>>16 != 0 {
		r.Fail("%d sub-filters, buckets of %d, %d iterations, expansion %d", filters, size, iterations, expansion)
	}
	v := new(CuckooValue)
	want := buckets
	for i := uint64(0); i < filters && r.Err() == nil; i++ {
		n, table := r.Number(), r.ModuleText()
		if high, slots := bits.Mul64(n, size); n != want || high != 0 || slots != table.Len() {
			r.Fail("sub-filter %d has %d buckets of %d and %d bytes, and should have %d buckets", i, n, size, table.Len(), want)
		}
		high, next := bits.Mul64(want, expansion)
		if high != 0 {
			next = 0 // no table has so many
		}
		want = next
		v.Tables = append(v.Tables, table)
	}
	if r.End(); r.Err() != nil {
		return nil, r.Err()
	}
	le := binary.LittleEndian
	for _, n := range []uint64{copies, buckets, removed, filters} {
		v.Header = le.AppendUint64(v.Header, n)
	}
	for _, n := range []uint64{size, iterations, expansion} {
		v.Header = le.AppendUint16(v.Header, uint16(n))
	}
	return v, nil
}

// OpenCuckoo reads the cuckoo filter of a payload.
func OpenCuckoo(payload []byte) (*CuckooValue, error) { return open(payload, ReadCuckoo) }

// AppendCuckoo appends a cuckoo filter as a payload for RESTORE: of its header, which is
// well-formed, and its tables.
func AppendCuckoo(dst, header []byte, tables [][]byte) []byte {
	start := len(dst)
	le := binary.LittleEndian
	size := uint64(le.Uint16(header[32:]))
	dst = Cuckoo.begin(dst)
	for _, at := range []int{24, 8, 0, 16} {
		dst = rdb.AppendNumber(dst, le.Uint64(header[at:]))
	}
	for _, at := range []int{32, 34, 36} {
		dst = rdb.AppendNumber(dst, uint64(le.Uint16(header[at:])))
	}
	for _, table := range tables {
		dst = rdb.AppendNumber(dst, uint64(len(table))/size)
		dst = appendText(dst, table)
	}
	return seal(dst, start, rdb.Version)
}

// CountMinValue is a count-min sketch as it is in an RDB file or a payload. It refers to the
// bytes that it was read from.
type CountMinValue struct {
	Width, Depth, Total uint64
	Counters            rdb.Text
}

// ReadCountMin reads the value that follows the kind and the key.
func ReadCountMin(r *rdb.Reader) (*CountMinValue, error) {
	if _, err := CountMin.encodingOf(r); err != nil {
		return nil, err
	}
	v := &CountMinValue{Width: r.Number(), Depth: r.Number(), Total: r.Number(), Counters: r.ModuleText()}
	if !holds(v.Counters, 4, v.Width, v.Depth) {
		r.Fail("%d bytes of counters with width %d and depth %d", v.Counters.Len(), v.Width, v.Depth)
	}
	if r.End(); r.Err() != nil {
		return nil, r.Err()
	}
	return v, nil
}

// holds reports whether a text has width * depth parts of the given size, at least one.
func holds(text rdb.Text, size, width, depth uint64) bool {
	high, n := bits.Mul64(width, depth)
	return high == 0 && n != 0 && text.Len()%size == 0 && text.Len()/size == n
}

// OpenCountMin reads the count-min sketch of a payload.
func OpenCountMin(payload []byte) (*CountMinValue, error) { return open(payload, ReadCountMin) }

// AppendCountMin appends a count-min sketch as a payload for RESTORE.
func AppendCountMin(dst []byte, width, depth, total uint64, counters []byte) []byte {
	start := len(dst)
	dst = CountMin.begin(dst)
	for _, n := range []uint64{width, depth, total} {
		dst = rdb.AppendNumber(dst, n)
	}
	return seal(appendText(dst, counters), start, rdb.Version)
}

// TopKValue is a top-k as it is in an RDB file or a payload. It refers to the bytes that it
// was read from.
type TopKValue struct {
	K, Width, Depth uint64
	Decay           float64
	Buckets         rdb.Text
	heap            rdb.Text
	items           []rdb.Text
}

// heapSlot is the length of a slot.
const heapSlot = 24

// ReadTopK reads the value that follows the kind and the key.
func ReadTopK(r *rdb.Reader) (*TopKValue, error) {
	if _, err := TopK.encodingOf(r); err != nil {
		return nil, err
	}
	v := &TopKValue{K: r.Number(), Width: r.Number(), Depth: r.Number(), Decay: r.Double(), Buckets: r.ModuleText(), heap: r.ModuleText()}
	switch {
	case !holds(v.Buckets, 8, v.Width, v.Depth):
		r.Fail("%d bytes of buckets with width %d and depth %d", v.Buckets.Len(), v.Width, v.Depth)
	case !holds(v.heap, heapSlot, v.K, 1):
		r.Fail("%d bytes of slots with k = %d", v.heap.Len(), v.K)
	case !(v.Decay > 0 && v.Decay <= 1):
		r.Fail("decay %v", v.Decay)
	}
	for i := uint64(0); i < v.K && r.Err() == nil; i++ { // each takes bytes
		v.items = append(v.items, r.ModuleText())
	}
	if r.End(); r.Err() != nil {
		return nil, r.Err()
	}
	return v, nil
}

// OpenTopK reads the top-k of a payload.
func OpenTopK(payload []byte) (*TopKValue, error) { return open(payload, ReadTopK) }

// Slot is one of the items that a top-k keeps.
type Slot struct {
	Item        []byte
	Fingerprint uint32
	Count       uint32
	// Empty says that there is no item. Cut says that Item is only the first part of it.
	Empty, Cut bool
}

// Slots returns the k slots of the heap.
func (v *TopKValue) Slots() ([]Slot, error) {
	heap, err := v.heap.Bytes()
	if err != nil {
		return nil, err
	}
	slots := make([]Slot, v.K)
	for i := range slots {
		le, b := binary.LittleEndian, heap[heapSlot*i:]
		item, err := v.items[i].Bytes()
		if err != nil {
			return nil, err
		}
		last := len(item) - 1
		if last < 0 || item[last] != 0 {
			return nil, rdb.Bad("item %d of a top-k does not end with a zero byte", i)
		}
		s := Slot{Item: item[:last], Fingerprint: le.Uint32(b), Count: le.Uint32(b[16:])}
		length := uint64(le.Uint32(b[4:]))
		if s.Empty = last == 0 && s.Count == 0; !s.Empty && length < uint64(last) {
			return nil, rdb.Bad("item %d of a top-k has %d bytes instead of %d", i, last, length)
		}
		s.Cut = length > uint64(last)
		slots[i] = s
	}
	return slots, nil
}

// AppendTopK appends a top-k as a payload for RESTORE. There are k slots.
func AppendTopK(dst []byte, width, depth uint64, decay float64, buckets []byte, slots []Slot) []byte {
	start := len(dst)
	dst = TopK.begin(dst)
	for _, n := range []uint64{uint64(len(slots)), width, depth} {
		dst = rdb.AppendNumber(dst, n)
	}
	dst = appendText(rdb.AppendDouble(dst, decay), buckets)
	dst = rdb.AppendTextHead(dst, heapSlot*uint64(len(slots)))
	le := binary.LittleEndian
	for _, s := range slots {
		dst = le.AppendUint32(dst, s.Fingerprint)
		dst = le.AppendUint32(dst, uint32(len(s.Item)))
		dst = le.AppendUint64(dst, 0)
		dst = le.AppendUint64(dst, uint64(s.Count))
	}
	for _, s := range slots {
		dst = append(rdb.AppendTextHead(dst, uint64(len(s.Item))+1), s.Item...)
		dst = append(dst, 0)
	}
	return seal(dst, start, rdb.Version)
}
