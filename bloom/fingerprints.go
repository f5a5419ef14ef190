package bloom

import (
	"iter"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"unsafe"

	"seen/internal/kernel"
)

// fingerprints is a set of key hashes, all 64 bits of each.
//
// Terms:
//
//   - slot: a word that holds a hash, or 0 if it is empty. Hash 0 has a flag.
//   - line: eight slots, one cache line. Hashes fill it from its first slot on.
//   - segment: a run of lines with its own open addressing. The leading bits of a
//     hash choose its segment.
//   - home: the line of its segment where the search for a hash begins. A hash is in
//     the first line from there on, around the end, that was not full.
//   - size: the number of lines of a segment, one of a fixed ladder.
//
// Nearly all hashes are in their home. A line is searched without a branch, so that the
// processor goes on to other hashes of a batch while it waits for one.
//
// Segments grow one at a time, so that the pause and the extra memory are those of one
// segment. Each has its own ladder, so that they do not all grow at the same time: the
// memory for each hash hardly depends on the number of hashes. The number and sizes of the
// segments follow from the hashes, not from their order.
type fingerprints struct {
	segments []segment
	shift    uint   // 63 less the number of bits that choose a segment
	zero     bool   // hash 0 is there
	n        uint64 // other hashes
	most     uint64 // of them before the segments are split
	lines    uint64 // of all segments
}

type line = kernel.Slots

type segment struct {
	lines []line
	left  int // hashes that go in before it must grow
}

const (
	lineSlots    = kernel.LineWords
	slotBytes    = 8
	lineBytes    = lineSlots * slotBytes
	segmentBytes = uint64(unsafe.Sizeof(segment{}))

	// lineGrowth makes the ladders: on rung r segment i of s has
	// lineGrowth^(r + (i + 1/2)/s) lines, rounded down.
	lineGrowth = 1.4

	// splitBits is how many more bits choose a segment after a split. Splitting large
	// segments keeps many small ones, up to maxSegments, whose table of slices stays in the
	// first-level cache.
	splitBits   = 4
	maxSegments = 256
	splitAt     = 1 << 12 // hashes per segment on average
)

// mostIn returns the number of hashes that go into so many lines: six sevenths of the
// slots, so that one is always empty. Then one hash in nine is not in its home, and one in
// eighteen on average over the growth of a segment.
func mostIn(lines int) int { return lines * lineSlots * 6 / 7 }

// homeSeed spreads hashes over the lines of a segment. It is not known outside of this
// process, so that hashes which are similar, by intention or not, do not share their home.
var homeSeed = rand.Uint64() | 1

// home returns the index of the home of h. The order of homes is that of x below, for any
// number of lines, so that growing reads and writes both arrays from start to end.
func home(h uint64, lines int) int {
	x := (h ^ h>>32) * homeSeed
	x = (x ^ x>>32) * 0x9e3779b97f4a7c15 // any odd number without a pattern
	hi, _ := bits.Mul64(x, uint64(lines))
	return int(hi)
}

// one is 1 for true. The compiler makes it an instruction, without a branch.
func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// newSegment returns an empty segment. All memory for lines comes from here.
func newSegment(size int) segment {
	return segment{lines: make([]line, size), left: mostIn(size)}
}

// n returns the number of hashes in s.
func (s *segment) n() int { return mostIn(len(s.lines)) - s.left }

// newFingerprints returns an empty set, or one with the given hashes, which must
// be in ascending order and distinct.
func newFingerprints(sorted []uint64) *fingerprints {
	t := &fingerprints{}
	if len(sorted) > 0 && sorted[0] == 0 {
		t.zero = true
		sorted = sorted[1:]
	}
	t.n = uint64(len(sorted))
	count := 1
	for count < maxSegments && t.n > uint64(count)*splitAt {
		count <<= splitBits
	}
	t.setSegments(make([]segment, count))
	for i := range t.segments {
		sorted = t.fill(i, sorted)
	}
	return t
}

// setSegments installs segments, which may not have lines yet.
func (t *fingerprints) setSegments(segments []segment) {
	t.segments = segments
	t.shift = uint(64 - bits.Len(uint(len(segments))))
	t.most = math.MaxUint64
	if len(segments) < maxSegments {
		t.most = uint64(len(segments)) * splitAt
	}
}

// segment returns the index of the segment of h.
func (t *fingerprints) segment(h uint64) int {
	return int(h >> 1 >> (t.shift & 63)) // in two steps, as a shift by 64 takes longer
}

// sizeFor returns the least number of lines on the ladder of segment i that hold
// n hashes.
func (t *fingerprints) sizeFor(i, n int) int {
	phase := (float64(i) + 0.5) / float64(len(t.segments))
	for rung := 0.0; ; rung++ {
		size := int(math.Pow(lineGrowth, rung+phase))
		if mostIn(size) >= n {
			return size
		}
	}
}

// fill makes segment i from the hashes at the start of sorted that belong to it, and
// returns the rest.
func (t *fingerprints) fill(i int, sorted []uint64) (rest []uint64) {
	n := len(sorted)
	if i < len(t.segments)-1 {
		n, _ = slices.BinarySearch(sorted, uint64(i+1)<<(t.shift+1))
	}
	f := newFilling(t.sizeFor(i, n))
	for _, h := range sorted[:n] {
		f.place(h)
	}
	t.segments[i] = f.segment
	t.lines += uint64(len(f.lines))
	return sorted[n:]
}

// filling is a segment that is being filled with distinct hashes.
type filling struct {
	segment
	used []uint8 // hashes in each line, which are slow to count again
}

func newFilling(size int) filling {
	return filling{newSegment(size), make([]uint8, size)}
}

// place stores a hash.
func (f *filling) place(h uint64) {
	i := home(h, len(f.lines))
	for f.used[i] == lineSlots {
		if i++; i == len(f.lines) {
			i = 0
		}
	}
	f.lines[i][f.used[i]] = h
	f.used[i]++
	f.left--
}

// count returns the number of hashes.
func (t *fingerprints) count() uint64 {
	if t.zero {
		return t.n + 1
	}
	return t.n
}

// has reports whether h is there.
func (t *fingerprints) has(h uint64) bool {
	if h == 0 {
		return t.zero
	}
	lines := t.segments[t.segment(h)].lines
	i := home(h, len(lines))
	for {
		l := &lines[i]
		if l.Has(h) {
			return true
		}
		if !l.Full() {
			return false
		}
		if i++; i == len(lines) {
			i = 0
		}
	}
}

// add adds h and reports whether it is new. If there is not enough room, it does nothing
// and reports that it is not done; see grow.
func (t *fingerprints) add(h uint64) (isNew, done bool) {
	if h == 0 {
		isNew = !t.zero
		t.zero = true
		return isNew, true
	}
	s := &t.segments[t.segment(h)]
	i := home(h, len(s.lines))
	for {
		l := &s.lines[i]
		if l.Has(h) {
			return false, true
		}
		if !l.Full() {
			if s.left == 0 || t.n >= t.most {
				return false, false
			}
			l[l.Used()] = h
			s.left--
			t.n++
			return true, true
		}
		if i++; i == len(s.lines) {
			i = 0
		}
	}
}

// lookAhead is the number of hashes whose homes a batch brings into the cache and
// searches together.
const lookAhead = 32

// homes are some hashes of a batch and the lines that are their homes.
type homes struct {
	hs    []uint64
	lines [lookAhead]*line
	has   [lookAhead]bool  // whether the search found the hashes
	full  [lookAhead]*line // scratch memory of search
	moved bool             // the lines have moved since
}

// fetch takes the first hashes of hs and brings their homes into the cache. It returns the
// other hashes.
func (t *fingerprints) fetch(b *homes, hs []uint64) (rest []uint64) {
	b.hs, b.moved = hs[:min(lookAhead, len(hs))], false
	for k, h := range b.hs {
		lines := t.segments[t.segment(h)].lines
		b.lines[k&(lookAhead-1)] = &lines[home(h, len(lines))]
	}
	kernel.Fetch(b.lines[:len(b.hs)])
	return hs[len(b.hs):]
}

// search looks for the hashes in their homes. Where a hash may be elsewhere it brings the
// next line into the cache.
func (b *homes) search() {
	kernel.Search(b.has[:], b.lines[:], b.hs)
	n := 0
	for k, l := range b.lines[:len(b.hs)] {
		b.full[n&(lookAhead-1)] = l
		n += one(!b.has[k]) & one(l.Full())
	}
	kernel.FetchNext(b.full[:n])
}

// homes yields the hashes some at a time, after the search in their homes and while the
// lines of the next ones are on their way. Code that moves lines sets moved.
func (t *fingerprints) homes(hs []uint64) iter.Seq[*homes] {
	return func(yield func(*homes) bool) {
		// Each of three is at another stage: fetched, searched, yielded.
		var all [3]homes
		b, searched, fetched := &all[0], &all[1], &all[2]
		hs = t.fetch(b, hs)
		hs = t.fetch(searched, hs)
		b.search()
		for len(b.hs) > 0 {
			hs = t.fetch(fetched, hs)
			searched.search()
			if !yield(b) {
				return
			}
			if b.moved {
				t.fetch(fetched, fetched.hs)
				t.fetch(searched, searched.hs)
				searched.search()
			}
			b, searched, fetched = searched, fetched, b
		}
	}
}

// addAt does add for hash k of b, which the search did not find in its home.
func (t *fingerprints) addAt(b *homes, k int) (isNew, done bool) {
	h, l := b.hs[k], b.lines[k]
	s := &t.segments[t.segment(h)]
	if b.moved || l.Full() || s.left == 0 || t.n >= t.most {
		return false, false
	}
	if l.Has(h) { // since the search
		return false, true
	}
	l[l.Used()] = h
	s.left--
	t.n++
	return true, true
}

// addBatch does add for each of hs in order, stores the answers in added unless it is nil,
// and returns the number of new ones. Where there is no room it calls room, which makes
// room or, by returning false, ends the batch; done is the number of handled hashes.
func (t *fingerprints) addBatch(added []bool, hs []uint64, room func(h uint64) bool) (n, done int) {
	for b := range t.homes(hs) {
		for k, h := range b.hs {
			isNew := false
			if h == 0 || !b.has[k] {
				ok := false
				if h != 0 {
					isNew, ok = t.addAt(b, k)
				}
				for !ok {
					if isNew, ok = t.add(h); !ok {
						if !room(h) {
							return n, done
						}
						b.moved = true
					}
				}
			}
			if added != nil {
				added[done] = isNew
			}
			n += one(isNew)
			done++
		}
	}
	return n, done
}

// hasBatch does has for each of hs, stores the answers in found unless it is nil,
// and returns the number of trues.
func (t *fingerprints) hasBatch(found []bool, hs []uint64) (n int) {
	at := 0
	for b := range t.homes(hs) {
		for k, h := range b.hs {
			// Hashes are elsewhere only if their home is full.
			has := b.has[k]
			if h == 0 || !has && b.lines[k].Full() {
				has = t.has(h)
			}
			if found != nil {
				found[at] = has
			}
			n += one(has)
			at++
		}
	}
	return n
}

// bytes returns the memory of the set.
func (t *fingerprints) bytes() uint64 {
	return t.lines*lineBytes + uint64(len(t.segments))*segmentBytes
}

// growth returns the memory that grow takes for h while it runs, beyond bytes.
func (t *fingerprints) growth(h uint64) uint64 {
	if t.n >= t.most {
		// A copy of the largest segment, and the new segments.
		largest := 0
		for i := range t.segments {
			largest = max(largest, len(t.segments[i].lines))
		}
		return uint64(3*largest)*(lineBytes+1) + uint64(len(t.segments))<<splitBits*(segmentBytes+lineBytes)
	}
	i := t.segment(h)
	return uint64(t.sizeFor(i, t.segments[i].n()+1)) * (lineBytes + 1)
}

// grow makes room for h where add could not. It may take two calls.
func (t *fingerprints) grow(h uint64) {
	if t.n >= t.most {
		t.split()
		return
	}
	i := t.segment(h)
	old := &t.segments[i]
	f := newFilling(t.sizeFor(i, old.n()+1))
	for j := range old.lines {
		for _, h := range old.lines[j].Words() {
			f.place(h)
		}
	}
	t.lines += uint64(len(f.lines) - len(old.lines))
	*old = f.segment
}

// split divides each segment into several.
func (t *fingerprints) split() {
	old := t.segments
	t.setSegments(make([]segment, len(old)<<splitBits))
	var sorted []uint64
	for i := range old {
		sorted = old[i].appendSorted(sorted[:0], 63-t.shift-splitBits)
		t.lines -= uint64(len(old[i].lines))
		old[i] = segment{}
		rest := sorted
		for j := range 1 << splitBits {
			rest = t.fill(i<<splitBits+j, rest)
		}
	}
}

// appendSorted appends the hashes of s to dst in ascending order. All of them
// begin with the same common bits.
func (s *segment) appendSorted(dst []uint64, common uint) []uint64 {
	n := s.n()
	dst = slices.Grow(dst, n)
	out := dst[len(dst) : len(dst)+n]
	// One distribution by the leading bits leaves short runs, unless the hashes are not
	// well mixed.
	const perRun = 8
	width := max(1, uint(bits.Len(uint(n/perRun))))
	ends := make([]int, 1<<width)
	run := func(h uint64) uint64 { return h << common >> (64 - width) }
	for i := range s.lines {
		for _, h := range s.lines[i].Words() {
			ends[run(h)]++
		}
	}
	end := 0
	for i, count := range ends {
		ends[i] = end
		end += count
	}
	for i := range s.lines {
		for _, h := range s.lines[i].Words() {
			r := run(h)
			out[ends[r]] = h
			ends[r]++
		}
	}
	begin := 0
	for _, end := range ends {
		slices.Sort(out[begin:end])
		begin = end
	}
	return dst[:len(dst)+n]
}

// common returns the number of leading bits that the hashes of a segment share.
func (t *fingerprints) common() uint { return 63 - t.shift }

// sorted returns all hashes in ascending order.
func (t *fingerprints) sorted() []uint64 {
	all := make([]uint64, 0, t.count())
	if t.zero {
		all = append(all, 0)
	}
	for i := range t.segments {
		all = t.segments[i].appendSorted(all, t.common())
	}
	return all
}

// batches returns all hashes, some at a time and in no particular order. With drain it
// releases the memory of each segment after its last hash; the set must not be used
// afterwards.
func (t *fingerprints) batches(drain bool) iter.Seq[[]uint64] {
	return func(yield func([]uint64) bool) {
		batch := make([]uint64, 0, keyBatch)
		if t.zero {
			batch = append(batch, 0)
		}
		for i := range t.segments {
			lines := t.segments[i].lines
			for j := range lines {
				if len(batch) > keyBatch-lineSlots {
					if !yield(batch) {
						return
					}
					batch = batch[:0]
				}
				batch = append(batch, lines[j].Words()...)
			}
			if drain {
				t.segments[i] = segment{}
			}
		}
		yield(batch)
	}
}

// clone returns a copy that shares nothing with t.
func (t *fingerprints) clone() *fingerprints {
	c := *t
	c.segments = slices.Clone(t.segments)
	for i := range c.segments {
		c.segments[i] = newSegment(len(t.segments[i].lines))
		c.segments[i].left = t.segments[i].left
		copy(c.segments[i].lines, t.segments[i].lines)
	}
	return &c
}

// equal reports whether both sets have the same hashes.
func (t *fingerprints) equal(u *fingerprints) bool {
	if t.count() != u.count() {
		return false
	}
	for hs := range t.batches(false) {
		if u.hasBatch(nil, hs) != len(hs) {
			return false
		}
	}
	return true
}
