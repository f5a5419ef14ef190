package spill

import (
	"math/bits"
	"unsafe"

	"seen/internal/pages"
)

// groupTable maps fingerprints of 96 bits to a position and a count. It is cut into shards by
// the leading bits of the hash. A shard grows by half of itself, so that a growing table needs
// little more than its size at any time. Slots are in the order of hashes, apart from
// collisions, and collisions go to the next slot.
type groupTable struct {
	shift  uint // of a hash, for its shard
	shards []groupShard
	limit  uint64 // bytes; 0: without a limit
	bytes  uint64
	count  uint64 // of keys
}

type groupShard struct {
	memory *pages.Array
	slots  []groupSlot
	used   int
	room   int // used beyond which it has to grow
}

// groupSlot is one key; a count of 0 is an empty slot. The fields are packed: the count has
// 48 bits, as the position.
type groupSlot struct {
	hash     uint64
	low      uint64 // 32 bits of the second hash, 32 low bits of the count
	position uint64 // 48 bits of the position, 16 high bits of the count
}

const (
	slotWords   = 3
	slotBytes   = 8 * slotWords
	leastSlots  = 16
	hugePage    = 2 << 20 // large arrays take whole ones
	smallShard  = 64 << 10
	largeShard  = 4 << 20
	smallTable  = 48 << 20 // up to this limit, shards are smaller than huge pages
	mostShards  = 64
	countOfHigh = 1<<16 - 1
)

func (s *groupSlot) count() uint64 { return s.position&countOfHigh<<32 | s.low&(1<<32-1) }

func (s *groupSlot) at() uint64 { return s.position >> 16 }

func (s *groupSlot) set(position, count uint64) {
	s.low = s.low&^(1<<32-1) | count&(1<<32-1)
	s.position = position<<16 | count>>32
}

func (s *groupSlot) second() uint32 { return uint32(s.low >> 32) }

// newGroupTable returns an empty table with a limit of its memory.
func newGroupTable(limit uint64) *groupTable {
	n, least := uint64(mostShards), uint64(largeShard)
	if limit <= smallTable {
		least = smallShard
	}
	for limit > 0 && n > 1 && n*least > limit {
		n /= 2
	}
	return &groupTable{shift: uint(64 - bits.Len64(n-1)), shards: make([]groupShard, n), limit: limit}
}

// find returns the slot of a key, which is empty if the key is new. It returns nil if the key
// is new and there is no room for it.
func (t *groupTable) find(hash uint64, second uint32) (*groupSlot, error) {
	s := &t.shards[hash>>1>>((t.shift-1)&63)]
	if s.used == s.room {
		if err := t.grow(s); err != nil {
			return nil, err
		}
	}
	if len(s.slots) == 0 {
		return nil, nil
	}
	for i := t.home(s, hash); ; i++ {
		if i == len(s.slots) {
			i = 0
		}
		slot := &s.slots[i]
		if slot.count() == 0 {
			if s.used == s.room {
				return nil, nil
			}
			return slot, nil
		}
		if slot.hash == hash && slot.second() == second {
			return slot, nil
		}
	}
}

// home returns where the search for a hash begins.
func (t *groupTable) home(s *groupShard, hash uint64) int {
	i, _ := bits.Mul64(hash<<(64-t.shift), uint64(len(s.slots)))
	return int(i)
}

// take makes an empty slot that find returned a key.
func (t *groupTable) take(slot *groupSlot, hash uint64, second uint32, position, count uint64) {
	slot.hash, slot.low = hash, uint64(second)<<32
	slot.set(position, count)
	t.shards[hash>>1>>((t.shift-1)&63)].used++
	t.count++
}

// grow makes room in a shard within the limit. Where it cannot be made larger, it may become
// fuller; where it is as full as it may be, nothing changes.
func (t *groupTable) grow(s *groupShard) error {
	n := max(len(s.slots)*3/2, leastSlots)
	if size := n * slotBytes; size >= hugePage {
		n = (size + hugePage - 1) / hugePage * hugePage / slotBytes
	}
	more := uint64(n) * slotBytes // both are there for a moment
	if t.limit > 0 && t.bytes+more > t.limit && len(s.slots) > 0 {
		s.room = len(s.slots) * 7 / 8
		return nil
	}
	memory, err := pages.New(uint64(n) * slotWords)
	if err != nil {
		return err
	}
	old := *s
	*s = groupShard{memory: memory, slots: slotsOf(memory, n), used: old.used, room: n * 3 / 4}
	for _, slot := range old.slots {
		if slot.count() == 0 {
			continue
		}
		for i := t.home(s, slot.hash); ; i++ {
			if i == n {
				i = 0
			}
			if s.slots[i].count() == 0 {
				s.slots[i] = slot
				break
			}
		}
	}
	t.bytes += more
	if old.memory != nil {
		t.bytes -= uint64(len(old.slots)) * slotBytes
		old.memory.Release()
	}
	return nil
}

// each calls visit for every key until it returns an error.
func (t *groupTable) each(visit func(*groupSlot) error) error {
	for i := range t.shards {
		for j := range t.shards[i].slots {
			if slot := &t.shards[i].slots[j]; slot.count() != 0 {
				if err := visit(slot); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// empty removes all keys, and keeps the memory.
func (t *groupTable) empty() {
	for i := range t.shards {
		clear(t.shards[i].slots)
		t.shards[i].used = 0
	}
	t.count = 0
}

// release gives the memory back. The table is empty then.
func (t *groupTable) release() {
	for i := range t.shards {
		if m := t.shards[i].memory; m != nil {
			m.Release()
		}
		t.shards[i] = groupShard{}
	}
	t.bytes, t.count = 0, 0
}

// slotsOf returns the words of memory as n slots.
func slotsOf(memory *pages.Array, n int) []groupSlot {
	return unsafe.Slice((*groupSlot)(unsafe.Pointer(unsafe.SliceData(memory.Words()))), n)
}
