package stream

import (
	"bytes"
	"iter"
	"slices"
	"sync/atomic"

	"seen/internal/keyhash"
	"seen/internal/stream/keyspec"
	"seen/internal/stream/split"
)

// Block is a run of whole records of one input. It is valid until the function that Run
// calls with it returns. Do not keep or change anything in it; make a copy.
type Block struct {
	// Data holds the records with their terminators, the last one included.
	Data []byte
	// Offsets tells records apart: record i is Data[Offsets[i]:Offsets[i+1]].
	// There is one more of them than records.
	Offsets []uint32
	// Hashes holds the hash of the key of each record; that of a record in
	// Missing means nothing. It is nil for a header and with Config.Keyless.
	Hashes []uint64
	// Times holds the time of each record in Unix nanoseconds, or NoTime. It is
	// nil without Config.Time and for a header.
	Times []int64
	// Missing lists the records without a key or without a time, each once and
	// in ascending order: those that no filter can be asked about. Those without
	// a key are listed if the key was compiled with keyspec.MissingMark, those
	// without a time if the time was.
	Missing []uint32
	// File is the name of the input.
	File string
	// First is the number of the first record within its file, from 1.
	First uint64
	// Header says that the block is the header line of a CSV or TSV file, alone: it
	// comes when the key or the time names a column, once per file.
	Header bool

	seconds *seconds
	second  []uint64
	framing *framing
	key     *keyspec.Key
	time    *keyspec.Time
	scratch keyspec.Scratch
	split   bool  // Offsets is complete
	keyless bool  // no key or time is taken
	fresh   bool  // the first block of its file
	marked  bool  // it begins with a byte order mark
	failure error // what ends the run behind the records of this block
	inner   bool  // the record behind them has the failure
	noKey   bool  // which is that it has no key or no time
	ready   chan struct{}
}

// Len returns the number of records.
func (b *Block) Len() int { return len(b.Offsets) - 1 }

// Line returns record i with its terminator, as it is printed.
func (b *Block) Line(i int) []byte { return b.Data[b.Offsets[i]:b.Offsets[i+1]] }

// Record returns record i without its terminator.
func (b *Block) Record(i int) []byte { return b.framing.trim(b.Line(i)) }

// text returns record i as keys and times are taken from it: without the byte order
// mark that its file may begin with.
func (b *Block) text(i int) []byte {
	if i == 0 && b.marked {
		return bytes.TrimPrefix(b.Record(i), utf8Mark)
	}
	return b.Record(i)
}

// Key returns the key of record i, nil if it has none. It is taken out of the
// record again, which costs nothing for whole records, and stays valid until
// the next call.
func (b *Block) Key(i int) []byte {
	if b.key == nil {
		return b.text(i)
	}
	key, err := b.key.Extract(b.text(i), &b.scratch)
	if err != nil {
		return nil
	}
	return key
}

// Keyed yields the longest runs [from, to) of records that are not in Missing, in
// order. It is how a filter is asked about a block: for each run with a slice
// of Hashes.
func (b *Block) Keyed() iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		from := 0
		for _, m := range b.Missing {
			if int(m) > from && !yield(from, int(m)) {
				return
			}
			from = int(m) + 1
		}
		if n := len(b.Hashes); n > from {
			yield(from, n)
		}
	}
}

// generous is how many times the size of a block a buffer may have that is kept
// for later; a very long record makes larger ones, which are given up.
const generous = 16

// reset empties b for a new use.
func (b *Block) reset(blockSize int) {
	if cap(b.Data) > generous*blockSize {
		*b = Block{ready: b.ready}
	}
	*b = Block{
		Data:    b.Data[:0],
		Offsets: append(b.Offsets[:0], 0),
		Hashes:  b.Hashes[:0],
		Times:   b.Times[:0],
		Missing: b.Missing[:0],
		second:  b.second[:0],
		scratch: b.scratch,
		ready:   b.ready,
	}
}

// process splits the block if the reader has not done so, and extracts and
// hashes the keys.
func (b *Block) process(hash *keyhash.Hash) {
	if !b.split {
		b.Offsets = split.AppendEnds(b.Offsets, b.Data, b.framing.delimiter[0])
	}
	if b.Header || b.keyless {
		b.Hashes, b.Times = nil, nil
		return
	}
	n := b.Len()
	b.Hashes = slices.Grow(b.Hashes[:0], n)[:n]
	if b.seconds != nil && b.seconds.wanted.Load() {
		b.second = slices.Grow(b.second[:0], n)[:n]
	} else {
		b.second = nil
	}
	if b.time == nil {
		b.Times = nil
	} else {
		b.Times = slices.Grow(b.Times[:0], n)[:n]
		b.extractTimes()
	}
	if b.key == nil {
		b.hashRecords(hash)
	} else {
		b.hashKeys(hash)
	}
}

// hashRecords is process for keys that are whole records.
func (b *Block) hashRecords(hash *keyhash.Hash) {
	b.sumRecords(b.Hashes, hash)
	if b.second != nil {
		b.sumRecords(b.second, b.seconds.hash)
	}
}

// sumRecords stores the hash of each record in hs.
func (b *Block) sumRecords(hs []uint64, hash *keyhash.Hash) {
	if b.framing.crlf {
		sum := hash.Summer()
		for i := range hs {
			hs[i] = sum.Sum(b.text(i))
		}
		return
	}
	hash.SumLines(hs, b.Data, b.Offsets[1:], len(b.framing.delimiter))
	if b.marked && len(hs) > 0 {
		hs[0] = hash.Sum(b.text(0))
	}
}

// hashKeys is process for keys that are taken out of records.
func (b *Block) hashKeys(hash *keyhash.Hash) {
	fail := b.key.Missing() == keyspec.MissingFail
	timeless := len(b.Missing)
	sum := hash.Summer()
	var second keyhash.Summer
	if b.second != nil {
		second = b.seconds.hash.Summer()
	}
	for i := range b.Hashes {
		key, err := b.key.Extract(b.text(i), &b.scratch)
		switch {
		case err == nil:
			b.Hashes[i] = sum.Sum(key)
			if b.second != nil {
				b.second[i] = second.Sum(key)
			}
		case fail:
			b.fail(i, err)
			return
		default:
			b.Missing = append(b.Missing, uint32(i))
		}
	}
	if timeless > 0 && len(b.Missing) > timeless {
		slices.Sort(b.Missing)
		b.Missing = slices.Compact(b.Missing)
	}
}

// seconds is what the blocks of a run share about their second hashes.
type seconds struct {
	hash   *keyhash.Hash
	wanted atomic.Bool // Seconds was called
}

// Seconds returns the second hash of the key of each record; that of a record in Missing
// means nothing. Config.Second must be set, and b must not be a header or a copy. The first
// call of a run computes them; from then on, the workers do that with the first hash.
func (b *Block) Seconds() []uint64 {
	if b.second != nil {
		return b.second
	}
	b.seconds.wanted.Store(true)
	b.second = make([]uint64, b.Len())
	if b.key == nil {
		b.sumRecords(b.second, b.seconds.hash)
		return b.second
	}
	sum := b.seconds.hash.Summer()
	for i := range b.second {
		// The error is in Missing already.
		if key, err := b.key.Extract(b.text(i), &b.scratch); err == nil {
			b.second[i] = sum.Sum(key)
		}
	}
	return b.second
}

// extractTimes fills in Times and begins Missing, which hashKeys completes.
func (b *Block) extractTimes() {
	missing := b.time.Missing()
	for i := range b.Times {
		t, err := b.time.Extract(b.text(i), &b.scratch)
		if err != nil {
			t = NoTime
			switch missing {
			case keyspec.MissingFail:
				b.fail(i, err)
				return
			case keyspec.MissingMark:
				b.Missing = append(b.Missing, uint32(i))
			}
		}
		b.Times[i] = t
	}
}

// fail drops record n, in which err was found, and all behind it.
func (b *Block) fail(n int, err error) {
	b.failure, b.inner, b.noKey = err, true, true
	b.Truncate(n)
}

// Truncate drops record n and all behind it. n is at most Len.
func (b *Block) Truncate(n int) {
	b.Data = b.Data[:b.Offsets[n]]
	b.Offsets = b.Offsets[:n+1]
	if b.Hashes != nil {
		b.Hashes = b.Hashes[:n]
	}
	if b.Times != nil {
		b.Times = b.Times[:n]
	}
	if b.second != nil {
		b.second = b.second[:n]
	}
	// Times are taken before keys: records behind n may be in Missing already.
	kept, _ := slices.BinarySearch(b.Missing, uint32(n))
	b.Missing = b.Missing[:kept]
}

// CopyTo makes dst a copy of b, in the memory that dst has. The copy is of the
// caller: it stays valid when b is not any more, and may be truncated.
func (b *Block) CopyTo(dst *Block) {
	*dst = Block{
		Data:    append(dst.Data[:0], b.Data...),
		Offsets: append(dst.Offsets[:0], b.Offsets...),
		Hashes:  copyOf(dst.Hashes, b.Hashes),
		Times:   copyOf(dst.Times, b.Times),
		Missing: append(dst.Missing[:0], b.Missing...),
		File:    b.File,
		First:   b.First,
		Header:  b.Header,
		marked:  b.marked,
		framing: b.framing,
		key:     b.key,
		time:    b.time,
		scratch: dst.scratch,
	}
}

// copyOf copies from into the memory of s; nil stays nil, which means that there
// are none.
func copyOf[T any](s, from []T) []T {
	if from == nil {
		return nil
	}
	return append(s[:0], from...)
}
