package bloom

import (
	"io"
	"math"
	"math/bits"
	"runtime"

	"seen/internal/frame"
	"seen/sizing"
)

// Stats describes the filter; it reads all tables. Bits are the bits of the slots, Ones the
// slots in use.
func (f *Cuckoo) Stats() Stats {
	tables := f.all()
	s := Stats{Type: "cuckoo", Probes: 2, Layers: len(tables), Bytes: f.Bytes(), Added: f.Added()}
	right, rightAtCapacity := 1.0, 1.0
	for _, t := range tables {
		n := t.occupied()
		s.Ones += n
		s.Capacity += t.size
		right *= f.rightAt(float64(n) / float64(t.size))
		rightAtCapacity *= f.rightAt(1)
	}
	runtime.KeepAlive(tables)
	s.Bits = 8 * s.Capacity
	s.Fill = float64(s.Ones) / float64(s.Capacity)
	s.Cardinality = sizing.Estimate{Value: float64(s.Ones)}
	s.ErrorRate, s.ErrorRateAtCapacity = 1-right, 1-rightAtCapacity
	return s
}

// rightAt returns the probability that a table says no to an absent key, when the given
// share of its slots is in use.
func (f *Cuckoo) rightAt(load float64) float64 {
	const other = 254.0 / 255 // that a fingerprint is not the one asked for
	return math.Pow(other, 2*float64(f.bucketSize)*load)
}

// A cuckoo filter is a frame of type 13 with a part of kind 9 for each sub-filter,
// oldest first.
//
//	capacity  as asked, 0 if it was not
//	field 0   fingerprints in a bucket
//	field 1   the most iterations
//	field 2   expansion, a power of two, or 0
//	field 3   copies removed since the last compaction
func (f *Cuckoo) encode() (*frame.Header, [][]byte, error) {
	h := f.header(frame.TypeCuckoo, f.capacity, 0)
	copy(h.Fields[:], []uint64{f.bucketSize, uint64(f.iterations), f.expansion, f.removed.Load()})
	var parts [][]byte
	for _, t := range f.all() {
		body := frame.Bytes(t.words)
		h.Parts = append(h.Parts, frame.Part{Kind: frame.KindBuckets, M: t.size, Added: t.occupied(), Length: uint64(len(body))})
		parts = append(parts, body)
	}
	return h, parts, nil
}

// cuckoo returns the filter of a frame. Of a mapped file it makes a copy, since changes
// touch slots all over the tables.
func (l *loader) cuckoo() (View, error) {
	if err := l.noFields(4); err != nil {
		return nil, err
	}
	fields := l.h.Fields
	if !validCuckoo(fields[0], fields[1], fields[2], uint64(len(l.parts))) {
		return nil, l.bad("%d parts, buckets of %d, %d iterations, expansion %d", len(l.parts), fields[0], fields[1], fields[2])
	}
	if l.h.ErrorRate != 0 {
		return nil, l.bad("an error rate, %v", l.h.ErrorRate)
	}
	f := &Cuckoo{capacity: l.h.Capacity, bucketSize: fields[0], iterations: int(fields[1]), expansion: fields[2], maxFilters: maxCuckooFilters}
	f.bindView(l.hash, l.keyID, f)
	f.removed.Store(fields[3])
	var tables []*cuckooTable
	memory := uint64(cuckooOverhead)
	buckets := l.h.Parts[0].M / f.bucketSize
	for i, p := range l.h.Parts {
		if i > 0 {
			buckets = next(buckets, f.expansion)
		}
		if buckets == 0 || buckets&(buckets-1) != 0 {
			return nil, l.bad("part %d is of %d slots", i, p.M)
		}
		size, err := f.tableMemory(buckets)
		if err != nil {
			return nil, l.bad("part %d: %v", i, err)
		}
		if want := (frame.Part{Kind: frame.KindBuckets, M: buckets * f.bucketSize, Added: p.Added, Length: (buckets*f.bucketSize + 7) / 8 * 8}); p != want {
			return nil, l.bad("part %d is %+v instead of %+v", i, p, want)
		}
		if l.touch != nil {
			l.touch(i, 0, p.Length)
		}
		words, shared := frame.Words(l.parts[i])
		if l.touch != nil && shared {
			words = append([]uint64(nil), words...)
		}
		t := asCuckooTable(buckets, f.bucketSize, words, nil)
		if used := t.size % 8; used != 0 && words[len(words)-1]>>(8*used) != 0 {
			return nil, l.bad("part %d has fingerprints beyond its last slot, number %d", i, t.size-1)
		}
		if n := t.occupied(); n != p.Added {
			return nil, l.bad("part %d has %d fingerprints, its record says %d", i, n, p.Added)
		}
		tables = append(tables, t)
		f.added.Add(p.Added)
		memory += size
	}
	f.tables.Store(&tables)
	f.bytes.Store(memory)
	return f, nil
}

// next returns the buckets of the next sub-filter, 0 if the number is too large.
func next(buckets, expansion uint64) uint64 {
	hi, lo := bits.Mul64(buckets, expansion)
	if hi != 0 {
		return 0
	}
	return lo
}

// validCuckoo reports whether the numbers of a file or a header are in range.
func validCuckoo(bucketSize, iterations, expansion, filters uint64) bool {
	return bucketSize >= 1 && bucketSize <= maxBucketSize && iterations >= 1 && iterations <= maxIterations &&
		expansion <= maxExpansion && expansion&(expansion-1) == 0 && filters >= 1 && filters <= maxCuckooFilters &&
		(filters == 1 || expansion != 0)
}

func (f *Cuckoo) replace(g *Cuckoo) {
	f.capacity, f.bucketSize, f.iterations, f.expansion = g.capacity, g.bucketSize, g.iterations, g.expansion
	if f.maxFilters == 0 {
		f.maxFilters = maxCuckooFilters // f was a zero value
	}
	f.plan, f.spare, f.label = cuckooPlan{}, nil, g.label
	f.bindView(g.hash, g.keyID, f)
	f.tables.Store(g.tables.Load())
	f.added.Store(g.added.Load())
	f.removed.Store(g.removed.Load())
	f.bytes.Store(g.bytes.Load())
}

// UnmarshalBinary replaces f by the cuckoo filter in b. After an error f is unchanged.
// A SipHash filter is read with the secret of f. Reserve is not asked.
func (f *Cuckoo) UnmarshalBinary(b []byte) error { return decodeInto(f, b) }

// ReadFrom replaces f by the cuckoo filter in r, which it reads to the end. Reserve is
// not asked.
func (f *Cuckoo) ReadFrom(r io.Reader) (int64, error) { return readInto(f, r) }
