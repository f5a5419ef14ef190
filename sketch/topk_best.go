package sketch

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
)

// best keeps the k keys with the highest counts in a binary tree of k slots, of which no
// slot has a higher count than those below it. A slot without a key counts as 0. A new key
// takes the place of the one in the root, and keys move in the way that RedisBloom moves
// them, so that equal counts are listed in its order, and the key that it drops is dropped.
//
// Slots are numbered in post-order: those of the left part of a tree, those of the right
// part, the root. The slots that keys fill one after another have the numbers 0, 1, 2 and
// so on, so a tree takes the memory of its keys and not of k. The index of a slot is its
// place in a breadth-first order, where RedisBloom has it in an array.
type best struct {
	k     int
	slots []entry // by number; those beyond have no keys
	place map[string]int
	bytes uint64 // of the keys
	kept  int
}

// entry is a slot: one of the best keys, unless it is empty.
type entry struct {
	key   string
	count uint32
	kept  bool // there is a key
}

// node is a slot with the number of slots in the tree below it, itself included.
type node struct{ number, size int }

func (b *best) root() node { return node{b.k - 1, b.k} }

// below returns the roots of both parts of the tree below n; a part without slots has size 0.
func (n node) below() (left, right node) {
	if n.size < 2 {
		return left, right
	}
	// All levels are full except for the last, which is filled from the left.
	levels := bits.Len(uint(n.size))
	last := n.size - (1<<(levels-1) - 1)
	left.size = 1<<(levels-2) - 1 + min(last, 1<<(levels-2))
	right.size = n.size - 1 - left.size
	right.number = n.number - 1
	left.number = right.number - right.size
	return left, right
}

// find returns the node of a number, and its index.
func (b *best) find(number int) (n node, index int) {
	n = b.root()
	for n.number != number {
		left, right := n.below()
		index = 2*index + 1
		if number <= left.number {
			n = left
		} else {
			n, index = right, index+1
		}
	}
	return n, index
}

// number returns the number of the slot with an index.
func (b *best) number(index int) int {
	n := b.root()
	for shift := bits.Len(uint(index+1)) - 2; shift >= 0; shift-- {
		left, right := n.below()
		if n = left; (index+1)>>shift&1 != 0 {
			n = right
		}
	}
	return n.number
}

func (b *best) at(number int) entry {
	if number < len(b.slots) {
		return b.slots[number]
	}
	return entry{}
}

func (b *best) set(number int, e entry) {
	if number >= len(b.slots) {
		if !e.kept {
			return
		}
		b.slots = append(b.slots, make([]entry, number+1-len(b.slots))...)
	}
	b.slots[number] = e
	if e.kept {
		b.place[e.key] = number
	}
}

// lesser returns the slot right below n with the lower count, the left one if they are
// equal, and false if there is none.
func (b *best) lesser(n node) (node, bool) {
	left, right := n.below()
	if right.size > 0 && b.at(right.number).count < b.at(left.number).count {
		return right, true
	}
	return left, left.size > 0
}

// down puts e where n is or below it. It also passes the first slot that has the same
// count.
func (b *best) down(n node, e entry) {
	below, ok := b.lesser(n)
	if ok && b.at(below.number).count <= e.count {
		for {
			b.set(n.number, b.at(below.number))
			n = below
			if below, ok = b.lesser(n); !ok || b.at(below.number).count >= e.count {
				break
			}
		}
	}
	b.set(n.number, e)
}

// least returns the count that a new key must have at least.
func (b *best) least() uint32 { return b.at(b.k - 1).count }

// raise gives the key in a slot another count.
func (b *best) raise(number int, count uint32) {
	n, _ := b.find(number)
	e := b.slots[number]
	e.count = count
	b.down(n, e)
}

// take puts a new key in the place of the one in the root, if there is one, and returns that.
func (b *best) take(key string, count uint32) (expelled []byte, ok bool) {
	old := b.at(b.k - 1)
	if old.kept {
		expelled, ok = []byte(old.key), true
		delete(b.place, old.key)
		b.bytes -= uint64(len(old.key))
		b.kept--
	}
	b.kept++
	b.bytes += uint64(len(key))
	b.down(b.root(), entry{key, count, true})
	return expelled, ok
}

// list returns the slots that have keys, by descending counts; those of equal counts by
// their index.
func (b *best) list() []TopKEntry {
	type found struct{ number, index int }
	all := make([]found, 0, b.kept)
	for number, e := range b.slots {
		if e.kept {
			_, index := b.find(number)
			all = append(all, found{number, index})
		}
	}
	slices.SortFunc(all, func(x, y found) int {
		return cmp.Or(cmp.Compare(b.slots[y.number].count, b.slots[x.number].count), cmp.Compare(x.index, y.index))
	})
	list := make([]TopKEntry, len(all))
	for i, f := range all {
		list[i] = TopKEntry{[]byte(b.slots[f.number].key), b.slots[f.number].count}
	}
	return list
}

// fill puts entries, by their numbers, into a tree without keys. With ordered, none may have
// a lower count than the slot above it.
func (b *best) fill(slots []entry, ordered bool) error {
	b.slots = slots
	for number, e := range slots {
		if !e.kept {
			continue
		}
		if _, twice := b.place[e.key]; twice {
			return fmt.Errorf("key %d is there twice", number)
		}
		b.place[e.key] = number
		b.kept++
		b.bytes += uint64(len(e.key))
	}
	for number := range slots {
		n, _ := b.find(number)
		if below, ok := b.lesser(n); ordered && ok && b.at(below.number).count < b.at(number).count {
			return fmt.Errorf("key %d has a lower count than key %d", below.number, number)
		}
	}
	return nil
}

// spread returns entries, of which none is empty, in the order of numbers in a tree where
// they fill the first slots.
func (b *best) spread(entries []entry) []entry {
	// Ascending counts at ascending indexes are in order whatever the shape of the tree.
	slices.SortStableFunc(entries, func(x, y entry) int { return cmp.Compare(x.count, y.count) })
	numbers, indexes := make([]int, len(entries)), make([]int, len(entries))
	for number := range numbers {
		numbers[number] = number
		_, indexes[number] = b.find(number)
	}
	slices.SortFunc(numbers, func(x, y int) int { return cmp.Compare(indexes[x], indexes[y]) })
	spread := make([]entry, len(entries))
	for i, number := range numbers {
		spread[number] = entries[i]
	}
	return spread
}

func (b *best) clear() { *b = best{k: b.k, place: map[string]int{}} }

func (b *best) clone() best {
	c := *b
	c.slots = slices.Clone(b.slots)
	c.place = make(map[string]int, len(b.place))
	for number, e := range c.slots {
		if e.kept {
			c.place[e.key] = number
		}
	}
	return c
}
