package bloom

import (
	"encoding/binary"
	"fmt"
	"runtime"

	"seen/internal/bridge"
	"seen/internal/frame"
)

// served is a Cuckoo as a server treats it; [bridge.Cuckoo] documents its methods.
type served struct{ *Cuckoo }

func init() {
	bridge.ServedCuckoo = func(f *Cuckoo) bridge.Cuckoo { return served{f} }
	bridge.CuckooFromHeader = cuckooFromHeader
}

func (f served) PrepareHash(h uint64) error { return f.prepare(h) }

func (f served) SetReserve(reserve func(bytes uint64) error) { f.reserve = reserve }

func (f served) SetMaxFilters(n int) { f.setMaxFilters(n) }

func badDump(format string, args ...any) error {
	return fmt.Errorf("%w: %s", bridge.ErrBadDump, fmt.Sprintf(format, args...))
}

const (
	cuckooHeaderSize = 38
	// maxDumpChunk is the most that ScanDump gives at a time.
	maxDumpChunk = 16 << 20
)

func (f served) AppendHeader(dst []byte) []byte {
	le := binary.LittleEndian
	tables := f.all()
	dst = le.AppendUint64(dst, f.Added())
	dst = le.AppendUint64(dst, tables[0].buckets())
	dst = le.AppendUint64(dst, f.Removed())
	dst = le.AppendUint64(dst, uint64(len(tables)))
	dst = le.AppendUint16(dst, uint16(f.bucketSize))
	dst = le.AppendUint16(dst, uint16(f.iterations))
	return le.AppendUint16(dst, uint16(f.expansion))
}

func cuckooFromHeader(header []byte, c CuckooConfig) (*Cuckoo, error) {
	if err := c.Hash.Validate(); err != nil {
		return nil, err
	}
	if len(header) != cuckooHeaderSize {
		return nil, badDump("a header of %d bytes instead of %d", len(header), cuckooHeaderSize)
	}
	le := binary.LittleEndian
	buckets, removed, filters := le.Uint64(header[8:]), le.Uint64(header[16:]), le.Uint64(header[24:])
	bucketSize, iterations, expansion := uint64(le.Uint16(header[32:])), uint64(le.Uint16(header[34:])), uint64(le.Uint16(header[36:]))
	if !validCuckoo(bucketSize, iterations, expansion, filters) {
		return nil, badDump("%d sub-filters, buckets of %d, %d iterations, expansion %d", filters, bucketSize, iterations, expansion)
	}
	if buckets == 0 || buckets&(buckets-1) != 0 || buckets >= maxBuckets {
		return nil, badDump("%d buckets, which is not a power of two below 2^56", buckets)
	}
	f := &Cuckoo{bucketSize: bucketSize, iterations: int(iterations), expansion: expansion, reserve: c.Reserve}
	f.setMaxFilters(c.MaxFilters)
	f.bindView(c.Hash.key(), c.Hash.KeyID(), f)
	f.removed.Store(removed)
	sizes := []uint64{buckets}
	for n := uint64(1); n < filters; n++ {
		if buckets = next(buckets, expansion); buckets == 0 || buckets >= maxBuckets {
			return nil, badDump("sub-filter %d of more than 2^56 buckets", n)
		}
		sizes = append(sizes, buckets)
	}
	if err := f.build(sizes); err != nil {
		return nil, err
	}
	return f, nil
}

func (f served) ScanDump(dst []byte, iterator int64) (int64, []byte) {
	if f.Added() == 0 || iterator < 0 {
		return 0, dst
	}
	if iterator == 0 {
		return 1, f.AppendHeader(dst)
	}
	t, at := f.byteAt(uint64(iterator - 1))
	if t == nil {
		return 0, dst
	}
	n := min(maxDumpChunk, t.size-at)
	dst = frame.AppendStored(dst, t.words, at, n)
	runtime.KeepAlive(t)
	return iterator + int64(n), dst
}

func (f served) Tables() (all [][]byte) {
	for _, t := range f.all() {
		all = append(all, frame.AppendStored(nil, t.words, 0, t.size))
		runtime.KeepAlive(t)
	}
	return all
}

// byteAt returns the table that holds the byte at an offset of all tables together,
// and the offset in it; nil if there is none.
func (f *Cuckoo) byteAt(at uint64) (*cuckooTable, uint64) {
	for _, t := range f.all() {
		if at < t.size {
			return t, at
		}
		at -= t.size
	}
	return nil, 0
}

func (f served) LoadChunk(iterator int64, data []byte) error {
	n := int64(len(data))
	if iterator <= n {
		return badDump("iterator %d with a chunk of %d bytes", iterator, n)
	}
	t, at := f.byteAt(uint64(iterator - n - 1))
	if t == nil {
		return badDump("iterator %d with a chunk of %d bytes is outside the filter", iterator, n)
	}
	if uint64(n) > t.size-at {
		return badDump("%d bytes where a sub-filter has %d left", n, t.size-at)
	}
	f.plan = cuckooPlan{}
	from, to := at/8, (at+uint64(n)+7)/8
	before := occupied(t.words[from:to])
	frame.Store(t.words, at, data)
	f.added.Add(occupied(t.words[from:to]) - before)
	runtime.KeepAlive(t)
	return nil
}

func (f served) Sample(n int) [][]float64 {
	var all [][]float64
	for _, t := range f.all() {
		const line = 8 // words, of 8 slots
		lines := (len(t.words) + line - 1) / line
		shares := make([]float64, min(n, lines))
		for i := range shares {
			from := i * lines / len(shares) * line
			to := min(from+line, len(t.words))
			used := occupied(t.words[from:to])
			shares[i] = min(1, float64(used)/float64(min(8*uint64(to-from), t.size-min(t.size-1, 8*uint64(from)))))
		}
		all = append(all, shares)
		runtime.KeepAlive(t)
	}
	return all
}
