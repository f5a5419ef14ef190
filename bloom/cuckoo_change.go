package bloom

import (
	"fmt"
	"math/bits"
	"runtime"
	"slices"
)

// cuckooPlan says how to add a key: the fingerprints on the path move on by one slot each,
// then the fingerprint of the key goes to slot of table.
type cuckooPlan struct {
	ready bool
	h     uint64
	table *cuckooTable
	slot  uint64 // free now; where the last of the path goes, or the key if there is no path
	grows bool   // table is the spare one
}

// prepare makes the plan for the next AddHash, if it is of the same hash; see
// [bridge.Cuckoo].
//
// The key gets a free slot of its buckets, in the newest sub-filter that has one. If none
// has, fingerprints move in the newest: one of the key's first bucket to its other bucket,
// if necessary one from there to its other bucket, and so on. The whole way is known before
// the first one moves.
func (f *Cuckoo) prepare(h uint64) error {
	if f.plan.ready && f.plan.h == h {
		return nil
	}
	// Both plans use the same memory for the path.
	f.plan, f.path = cuckooPlan{}, f.path[:0]
	tables := f.all()
	for _, t := range slices.Backward(tables) {
		if slot, ok := t.find(h, 0); ok {
			f.plan = cuckooPlan{ready: true, h: h, table: t, slot: slot}
			return nil
		}
	}
	newest := tables[len(tables)-1]
	slot, ok := f.findWay(newest, h)
	if ok {
		f.plan = cuckooPlan{ready: true, h: h, table: newest, slot: slot}
		return nil
	}
	f.path = f.path[:0]
	if err := f.makeSpare(newest); err != nil {
		return err
	}
	slot, _ = f.spare.find(h, 0)
	f.plan = cuckooPlan{ready: true, h: h, table: f.spare, slot: slot, grows: true}
	return nil
}

// findWay looks for a way to make room for a key in the first of its buckets. It
// stores the slots on the way in f.path, and returns the free one at the end.
//
// The n-th step takes the fingerprint in slot n, modulo the size, of the present bucket. If
// that slot is already on the way, the way is a circle: the fingerprint at the beginning of
// the circle stays where it is, and the one before it goes on to its other bucket.
func (f *Cuckoo) findWay(t *cuckooTable, h uint64) (free uint64, ok bool) {
	if f.onWay == nil {
		f.onWay = map[uint64]int{}
	}
	clear(f.onWay)
	bucket := h & t.mask
	for n := range f.iterations {
		slot := bucket*t.bucketSize + uint64(n)%t.bucketSize
		fp := t.get(slot)
		if at, circle := f.onWay[slot]; circle {
			for _, s := range f.path[at:] {
				delete(f.onWay, s)
			}
			f.path = f.path[:at]
			fp = fingerprint(h)
			if at > 0 {
				fp = t.get(f.path[at-1])
			}
		} else {
			f.onWay[slot] = len(f.path)
			f.path = append(f.path, slot)
		}
		bucket = t.alternate(bucket, fp)
		if free, ok = t.in(bucket, 0); ok {
			return free, true
		}
	}
	return 0, false
}

// makeSpare makes the sub-filter after the newest, unless it exists.
func (f *Cuckoo) makeSpare(newest *cuckooTable) error {
	if f.expansion == 0 {
		return fmt.Errorf("%w: no free slot for the key in a cuckoo filter of %d slots, which does not grow", ErrFull, newest.size)
	}
	if n := len(f.all()); n >= f.maxFilters {
		return fmt.Errorf("%w: %d", ErrMaxFilters, n)
	}
	if f.spare != nil {
		return nil
	}
	hi, buckets := bits.Mul64(newest.buckets(), f.expansion)
	if hi != 0 {
		return fmt.Errorf("%w: the next one would be larger than an array can be", ErrMaxFilters)
	}
	memory, err := f.tableMemory(buckets)
	if err != nil || (f.Bytes()+memory)/8 > maxWords {
		return fmt.Errorf("%w: the next one would be larger than an array can be", ErrMaxFilters)
	}
	if err := f.ask(memory); err != nil {
		return err
	}
	t, err := newCuckooTable(buckets, f.bucketSize)
	if err != nil {
		return err
	}
	f.spare = t
	f.bytes.Add(memory)
	return nil
}

// execute does what the plan says. The last fingerprint on the way moves first, so
// that each has a free slot to go to and is never absent.
func (f *Cuckoo) execute() {
	p := f.plan
	f.plan = cuckooPlan{}
	if p.grows {
		tables := append(slices.Clone(f.all()), p.table)
		f.spare = nil
		f.tables.Store(&tables)
	}
	for _, slot := range slices.Backward(f.path) {
		p.table.move(slot, p.table, p.slot)
		p.slot = slot
	}
	f.path = f.path[:0]
	p.table.put(p.slot, fingerprint(p.h))
	runtime.KeepAlive(p.table)
}

// Compact moves fingerprints to older sub-filters that have room, and releases the newest
// sub-filters that become empty. Remove does the same when the number of removed copies is
// above a tenth of the copies that are left.
func (f *Cuckoo) Compact() { f.compact(true) }

// compact does Compact. Unless all is true it stops at the first sub-filter that it cannot
// empty.
func (f *Cuckoo) compact(all bool) {
	f.plan = cuckooPlan{}
	if f.spare != nil { // the next sub-filter may now be a smaller one
		f.bytes.Add(-f.spare.memory)
		f.spare = nil
	}
	tables := f.all()
	for i := len(tables) - 1; i > 0; i-- {
		if !tables[i].emptyInto(tables[:i]) {
			if all {
				continue
			}
			break
		}
		if i == len(tables)-1 {
			f.bytes.Add(-tables[i].memory)
			tables = slices.Clone(tables[:i])
			f.tables.Store(&tables)
		}
	}
	f.removed.Store(0)
	runtime.KeepAlive(tables)
}

// emptyInto moves the fingerprints of t to older tables and reports whether all found a
// free slot. One bucket of a fingerprint in t is known, and so is one in each smaller
// table.
func (t *cuckooTable) emptyInto(older []*cuckooTable) bool {
	empty := true
	for i, w := range t.words {
		for ; w != 0; w &^= 0xff << (bits.TrailingZeros64(w) &^ 7) {
			slot := uint64(i)*8 + uint64(bits.TrailingZeros64(w))/8
			if !t.moveInto(older, slot) {
				empty = false
			}
		}
	}
	return empty
}

// moveInto moves the fingerprint of a slot to the first table that has room for it.
func (t *cuckooTable) moveInto(older []*cuckooTable, slot uint64) bool {
	fp := t.get(slot)
	for _, to := range older {
		bucket := slot / t.bucketSize & to.mask
		free, ok := to.in(bucket, 0)
		if !ok {
			free, ok = to.in(to.alternate(bucket, fp), 0)
		}
		if ok {
			t.move(slot, to, free)
			return true
		}
	}
	return false
}
