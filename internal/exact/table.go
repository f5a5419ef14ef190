package exact

import (
	"encoding/binary"
	"errors"
	"iter"
	"math/bits"

	"seen/internal/kernel"
	"seen/internal/pages"
)

// table has the first doubt of each key of a partition, or of a part of it. A line has the
// hashes of up to eight keys, and sides has for each their second hash and position. A key
// is in the first line from its home on, around the end, that was not full. Keys that
// were printed are crossed out.
type table struct {
	placed bool
	memory *pages.Array
	lines  []kernel.Slots
	sides  []uint64
	places []uint64

	skip     uint   // leading bits of a hash that all keys here share
	passBits uint   // of these, the last ones, which are those of
	pass     uint64 // this
	others   map[fingerprint]*other
	groups   [2]lookups
	n, room  uint64
}

// fingerprint is what tells keys apart.
type fingerprint struct {
	hash   uint64
	second uint16
}

// other is the doubt of a key that cannot be in a line: its hash is 0, or that of another
// key.
type other struct {
	side, place uint64
	crossed     bool
}

// crossed is the position of a key that was crossed out.
const crossed = 1<<positionBits - 1

// fullest is the number of keys for each line, of eight, up to which a table is filled.
const fullest = 6

// bytesFor returns the memory of a table for n keys.
func (t *table) bytesFor(n uint64) uint64 {
	each := uint64(lineBytes + 8*kernel.LineWords)
	if t.placed {
		each += 8 * kernel.LineWords
	}
	return (n/fullest + 2) * each
}

// leastInPass is the number of doubts for which a pass is worth its time, in some 30
// kilobytes.
const leastInPass = 1 << 10

// bitsFor returns how many bits of hashes have to be told apart in passes, so that a table
// for the keys of one pass fits into memory.
func (t *table) bitsFor(doubts, memory uint64) uint {
	k := uint(0)
	for doubts>>k > leastInPass && t.bytesFor(share(doubts, k)) > memory {
		k++
	}
	return k
}

// share returns how many of n keys have the same k bits, at most. That more have them is as
// good as impossible, unless someone who knows the hash has chosen the keys.
func share(n uint64, k uint) uint64 {
	if k == 0 {
		return n
	}
	mean := n >> k
	// Six standard deviations, and something for small numbers.
	root := uint64(1) << ((bits.Len64(mean) + 1) / 2)
	return min(n, mean+6*root+16)
}

// reset prepares the table for the keys of one pass, with room for so many.
func (t *table) reset(room uint64, partitions int, passBits uint, pass uint64) error {
	lines := room/fullest + 1
	slots := lines * kernel.LineWords
	words := 2 * slots
	if t.placed {
		words += slots
	}
	if t.memory == nil || uint64(len(t.memory.Words())) < words {
		t.release()
		memory, err := pages.New(words + words/8)
		if err != nil {
			return err
		}
		t.memory = memory
	}
	all := t.memory.Words()
	clear(all[:slots])
	t.lines, t.sides, t.places = asLines(all[:slots]), all[slots:2*slots], nil
	if t.placed {
		t.places = all[2*slots : 3*slots]
	}
	t.skip = uint(bits.Len(uint(partitions-1))) + passBits
	t.passBits, t.pass = passBits, pass
	t.others = nil
	t.n, t.room = 0, slots-1 // one is always empty, where searches end
	return nil
}

func (t *table) release() {
	if t.memory != nil {
		t.memory.Release()
	}
	t.memory, t.lines, t.sides, t.places = nil, nil, nil, nil
}

// home returns the line where the search for a hash begins.
func (t *table) home(h uint64) int {
	i, _ := bits.Mul64(h<<(t.skip&63), uint64(len(t.lines)))
	return int(i)
}

// isHere reports whether a hash is one of this pass.
func (t *table) isHere(h uint64) bool {
	return t.passBits == 0 || h<<((t.skip-t.passBits)&63)>>((64-t.passBits)&63) == t.pass
}

// lookups are some keys that are looked up together.
type lookups struct {
	n       int
	hashes  [group]uint64
	lines   [group]*kernel.Slots
	has     [group]bool
	records [group][]byte
}

// gather takes keys of this pass from records of the given size, and brings their homes into
// the cache of the processor. It returns the other records.
func (t *table) gather(g *lookups, b []byte, size int) []byte {
	n := 0
	for n < group && len(b) >= size {
		h := binary.LittleEndian.Uint64(b)
		if t.isHere(h) {
			g.hashes[n&(group-1)], g.records[n&(group-1)] = h, b[:size:size]
			g.lines[n&(group-1)] = &t.lines[t.home(h)]
			n++
		}
		b = b[size:]
	}
	g.n = n
	kernel.Fetch(g.lines[:n])
	return b
}

// errCrowded says that more keys are in a pass than share returns.
var errCrowded = errors.New("the hashes of the keys are not evenly distributed")

// fill enters doubts.
func (t *table) fill(b []byte) error {
	size := doubtSize
	if t.placed {
		size = placedSize
	}
	g, ahead := &t.groups[0], &t.groups[1]
	for b = t.gather(g, b, size); g.n > 0; g, ahead = ahead, g {
		b = t.gather(ahead, b, size)
		for i, h := range g.hashes[:g.n] {
			rec := g.records[i]
			place := uint64(0)
			if t.placed {
				place = binary.LittleEndian.Uint64(rec[16:])
			}
			if !t.enter(h, binary.LittleEndian.Uint64(rec[8:]), place) {
				return errCrowded
			}
		}
	}
	return nil
}

// enter enters a doubt unless its key is there. It returns false if there is no room.
func (t *table) enter(h, side, place uint64) bool {
	if h == 0 {
		t.enterOther(h, side, place)
		return true
	}
	for at := t.home(h); ; {
		l := &t.lines[at]
		for k, w := range l {
			switch w {
			case h:
				if (t.sides[at*kernel.LineWords+k]^side)>>positionBits != 0 {
					t.enterOther(h, side, place)
				}
				return true
			case 0:
				if t.n++; t.n > t.room {
					return false
				}
				l[k] = h
				t.sides[at*kernel.LineWords+k] = side
				if t.placed {
					t.places[at*kernel.LineWords+k] = place
				}
				return true
			}
		}
		if at++; at == len(t.lines) {
			at = 0
		}
	}
}

func (t *table) enterOther(h, side, place uint64) {
	key := fingerprint{h, uint16(side >> positionBits)}
	if t.others == nil {
		t.others = map[fingerprint]*other{}
	}
	if t.others[key] == nil {
		t.others[key] = &other{side: side, place: place}
	}
}

func (t *table) crossPrinted(b []byte) error {
	t.cross(b, printedSize)
	return nil
}

func (t *table) crossBefore(b []byte) error {
	t.cross(b, beforeSize)
	return nil
}

// cross crosses out the keys in records of printed keys, with or without a second hash.
func (t *table) cross(b []byte, size int) {
	g, ahead := &t.groups[0], &t.groups[1]
	for b = t.gather(g, b, size); g.n > 0; g, ahead = ahead, g {
		b = t.gather(ahead, b, size)
		hashes := g.hashes[:g.n]
		if zeros(hashes) {
			for i, h := range hashes {
				t.crossOut(h, g.records[i])
			}
			continue
		}
		kernel.Search(g.has[:], g.lines[:], hashes)
		for i, has := range g.has[:g.n] {
			if has || g.lines[i].Full() {
				t.crossOut(hashes[i], g.records[i])
			}
		}
	}
}

// zeros reports whether a hash is 0.
func zeros(hashes []uint64) bool {
	for _, h := range hashes {
		if h == 0 {
			return true
		}
	}
	return false
}

// crossOut crosses out the key of a record, if it is there.
func (t *table) crossOut(h uint64, record []byte) {
	whole := len(record) >= printedSize
	var second uint64
	if whole {
		second = uint64(binary.LittleEndian.Uint16(record[8:]))
	}
	for key, o := range t.others {
		if key.hash == h && (!whole || uint64(key.second) == second) {
			o.crossed = true
		}
	}
	if h == 0 {
		return
	}
	for at := t.home(h); ; {
		l := &t.lines[at]
		for k, w := range l {
			switch w {
			case h:
				if side := &t.sides[at*kernel.LineWords+k]; !whole || *side>>positionBits == second {
					*side |= crossed
				}
				return
			case 0:
				return
			}
		}
		if at++; at == len(t.lines) {
			at = 0
		}
	}
}

// leftKey is a key that is not crossed out.
type leftKey struct{ hash, second, position, place uint64 }

// left yields the keys that are not crossed out.
func (t *table) left() iter.Seq[leftKey] {
	return func(yield func(leftKey) bool) {
		for key, o := range t.others {
			if !o.crossed && !yield(leftKey{key.hash, uint64(key.second), o.side & crossed, o.place}) {
				return
			}
		}
		for at := range t.lines {
			for k, h := range t.lines[at] {
				if h == 0 {
					break
				}
				slot := at*kernel.LineWords + k
				side := t.sides[slot]
				if side&crossed == crossed {
					continue
				}
				key := leftKey{hash: h, second: side >> positionBits, position: side & crossed}
				if t.placed {
					key.place = t.places[slot]
				}
				if !yield(key) {
					return
				}
			}
		}
	}
}
