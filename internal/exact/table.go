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
// words of up to eight keys, and sides has the doubt of each. A key is in the first line from
// its home on, around the end, that was not full. Keys that were printed are crossed out.
//
// A word is the first hash without its leading 16 bits, and the 16 bits of the second hash;
// the side has the leading bits, and the position of the doubt.
// The leading bits are those of the partition and of the pass, which are the same for all
// keys, and those that choose the home. So two keys with one word differ in bits that the
// place of the word tells, except that a key may be a few lines behind its home, and that
// a table of few keys has few lines.
type table struct {
	placed bool
	memory *pages.Array
	lines  []kernel.Slots
	sides  []uint64
	places []uint64

	skip     uint   // leading bits of a hash that all keys here share
	passBits uint   // of these, the last ones, which are those of
	pass     uint64 // this
	others   map[key]*other
	groups   [2]lookups
	n, room  uint64
}

// key is what tells keys apart.
type key struct {
	hash   uint64
	second uint16
}

// other is the doubt of a key whose word no line can have.
type other struct {
	side, place uint64
	crossed     bool
}

// Words that are not of keys.
const (
	empty   = 0
	crossed = 1<<64 - 1
)

// fullest is the number of keys for each line, of eight, up to which a table is filled. With
// half of them, one line in thirty is full.
const fullest = 4

const (
	secondBits   = 64 - positionBits
	positionMask = 1<<positionBits - 1
)

func wordOf(hash, second uint64) uint64 { return hash<<secondBits | second&(1<<secondBits-1) }

// bytesFor returns the memory of a table for n keys.
func (t *table) bytesFor(n uint64) uint64 {
	each := uint64(2 * lineBytes)
	if t.placed {
		each += lineBytes
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
	n      int
	words  [group]uint64
	hashes [group]uint64
	homes  [group]int
	lines  [group]*kernel.Slots
	sides  [group]uint64 // of doubts
	places [group]uint64
	has    [group]bool
	odd    bool // one of the words cannot be in a line
}

// gather takes keys of this pass from records of the given size, and brings their homes into
// the cache of the processor. It returns the other records.
func (t *table) gather(g *lookups, b []byte, size int) []byte {
	n, odd := 0, false
	for n < group && len(b) >= size {
		h := binary.LittleEndian.Uint64(b)
		if t.isHere(h) {
			second := uint64(0)
			switch size {
			case printedSize:
				second = uint64(binary.LittleEndian.Uint16(b[8:]))
			case doubtSize, placedSize:
				side := binary.LittleEndian.Uint64(b[8:])
				second = side >> positionBits
				g.sides[n&(group-1)] = h&^positionMask | side&positionMask
				if size == placedSize {
					g.places[n&(group-1)] = binary.LittleEndian.Uint64(b[16:])
				}
			}
			w := wordOf(h, second)
			odd = odd || w == empty || w == crossed
			at := t.home(h)
			g.words[n&(group-1)], g.hashes[n&(group-1)], g.homes[n&(group-1)] = w, h, at
			g.lines[n&(group-1)] = &t.lines[at]
			n++
		}
		b = b[size:]
	}
	g.n, g.odd = n, odd
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
		for i := range g.n {
			if !t.enter(g, i) {
				return errCrowded
			}
		}
	}
	return nil
}

// enter enters doubt i of g unless its key is there. It returns false if there is no room.
func (t *table) enter(g *lookups, i int) bool {
	word := g.words[i]
	if word == empty || word == crossed {
		t.enterOther(key{g.hashes[i], uint16(word)}, g.sides[i], g.places[i])
		return true
	}
	for at := g.homes[i]; ; {
		l := &t.lines[at]
		for k, w := range l {
			switch w {
			case word:
				return true
			case empty:
				if t.n++; t.n > t.room {
					return false
				}
				l[k] = word
				t.sides[at*kernel.LineWords+k] = g.sides[i]
				if t.placed {
					t.places[at*kernel.LineWords+k] = g.places[i]
				}
				return true
			}
		}
		if at++; at == len(t.lines) {
			at = 0
		}
	}
}

func (t *table) enterOther(k key, side, place uint64) {
	if t.others == nil {
		t.others = map[key]*other{}
	}
	if t.others[k] == nil {
		t.others[k] = &other{side: side, place: place}
	}
}

// crossPrinted crosses out the keys in records of printed keys.
func (t *table) crossPrinted(b []byte) error {
	g, ahead := &t.groups[0], &t.groups[1]
	for b = t.gather(g, b, printedSize); g.n > 0; g, ahead = ahead, g {
		b = t.gather(ahead, b, printedSize)
		if g.odd {
			for i := range g.n {
				t.crossOut(g, i, false)
			}
			continue
		}
		kernel.Search(g.has[:], g.lines[:], g.words[:g.n])
		for i, has := range g.has[:g.n] {
			if has || g.lines[i].Full() {
				t.crossOut(g, i, false)
			}
		}
	}
	return nil
}

// crossBefore crosses out the keys whose first hashes are in the records, whatever the second
// ones.
func (t *table) crossBefore(b []byte) error {
	g := &t.groups[0]
	for b = t.gather(g, b, beforeSize); g.n > 0; b = t.gather(g, b, beforeSize) {
		for i := range g.n {
			t.crossOut(g, i, true)
		}
	}
	return nil
}

// crossOut crosses out key i of g, if it is there: with any second hash if any is set.
func (t *table) crossOut(g *lookups, i int, any bool) {
	word := g.words[i]
	ignored := uint64(0)
	if any {
		ignored = 1<<secondBits - 1
	}
	if len(t.others) > 0 {
		t.crossOther(g.hashes[i], word, ignored)
	}
	if !any && (word == empty || word == crossed) {
		return
	}
	for at := g.homes[i]; ; {
		l := &t.lines[at]
		for k, w := range l {
			if w == empty {
				return
			}
			if (w^word)&^ignored == 0 && w != crossed {
				l[k] = crossed
				if !any {
					return
				}
			}
		}
		if at++; at == len(t.lines) {
			at = 0
		}
	}
}

func (t *table) crossOther(hash, word, ignored uint64) {
	for k, o := range t.others {
		if k.hash == hash && (uint64(k.second)^word)&(1<<secondBits-1)&^ignored == 0 {
			o.crossed = true
		}
	}
}

// leftKey is a key that is not crossed out.
type leftKey struct{ hash, second, position, place uint64 }

// left yields the keys that are not crossed out; of the second hash, the last 16 bits count.
func (t *table) left() iter.Seq[leftKey] {
	return func(yield func(leftKey) bool) {
		for k, o := range t.others {
			if !o.crossed && !yield(leftKey{k.hash, uint64(k.second), o.side & positionMask, o.place}) {
				return
			}
		}
		for at := range t.lines {
			for k, w := range t.lines[at] {
				if w == empty {
					break
				}
				if w == crossed {
					continue
				}
				slot := at*kernel.LineWords + k
				side := t.sides[slot]
				key := leftKey{hash: side&^positionMask | w>>secondBits, second: w, position: side & positionMask}
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
