package store

import (
	"fmt"
	"slices"
)

// Add implements [Filter]. Keys that are there are answered without a lock.
func (b *Bloom) Add(added []bool, keys [][]byte) (done int, at LSN, err error) {
	added = added[:len(keys)]
	if b.hidden != nil {
		return b.addShown(added, keys)
	}
	defer func() { b.traffic.adds.Add(uint64(done)) }() // refused keys do not count
	if len(keys) == 1 && b.step == 0 {
		v := b.view.Load()
		if v.has(b.store.hash.Sum(keys[0]), 0) {
			added[0] = false
			return 1, b.LSN(), nil
		}
	}
	if len(keys) > batchKeys {
		b.store.log.hold() // all of the call or nothing, after a crash
		defer b.store.log.release()
	}
	sc := scratches.Get().(*scratch[uint64])
	defer scratches.Put(sc)
	for done < len(keys) && err == nil {
		end := min(done+batchKeys, len(keys))
		b.store.hash.SumKeys(sc.hs[:], keys[done:end])
		sc.start(end - done)
		var n int
		n, err = b.addBatch(added[done:end], sc)
		done += n
	}
	return done, b.LSN(), err
}

// addBatch adds the keys in sc, whose answers go to added, and returns how many
// were dealt with.
func (b *Bloom) addBatch(added []bool, sc *scratch[uint64]) (done int, err error) {
	clear(added)
	applied := b.applied.Load()
	v := b.view.Load()
	// In a window a key counts as settled only if the present generation has it.
	v.ask(sc, b.generation(v), noTime)
	if sc.n == 0 {
		return len(added), nil
	}
	if err := b.lock(); err != nil {
		return int(sc.at[0]), err
	}
	defer b.mu.Unlock()
	v = b.view.Load()
	gen := b.generation(v)
	if b.last.Load() != applied || b.step != 0 {
		v.ask(sc, gen, noTime) // what others have added since
	}
	sc.unique(func(h uint64) uint64 { return h })
	if b.step != 0 {
		b.findOlder(sc, v, gen)
	}
	for held := false; sc.n > 0; {
		room, err := b.room(gen)
		if err != nil {
			return int(sc.at[0]), err
		}
		if room < sc.n && !held {
			held = true // several operations
			b.store.log.hold()
			defer b.store.log.release()
		}
		m := min(sc.n, room)
		b.record(sc.hs[:m])
		for i := range m {
			added[sc.at[i]] = b.step == 0 || !sc.older[i]
		}
		sc.drop(m)
	}
	return len(added), nil
}

// findOlder notes which of the keys another generation remembers: they are
// recorded again, but they are not new.
func (b *Bloom) findOlder(sc *scratch[uint64], v *view, gen int64) {
	clear(sc.older[:sc.n])
	for _, l := range v.layers {
		if l.gen < gen && l.gen >= b.oldest(v) {
			l.hasAll(sc.hit[:sc.n], sc.hs[:sc.n])
			for i, hit := range sc.hit[:sc.n] {
				sc.older[i] = sc.older[i] || hit
			}
		}
	}
}

// record logs and makes the addition of hashes to the newest layer, which has room
// for them.
func (b *Bloom) record(hs []uint64) {
	top := b.view.Load().layers[0]
	at := b.store.log.add(b.id, top.serial, hs)
	b.changed(at)
	top.put(hs, at)
	b.applied.Store(uint64(at))
}

// room returns the number of keys that the newest layer takes. If that is 0, it makes
// another layer.
func (b *Bloom) room(gen int64) (int, error) {
	v := b.view.Load()
	var top *layer
	if len(v.layers) > 0 && v.layers[0].gen == gen {
		top = v.layers[0]
		if added := top.added.Load(); added < top.capacity {
			return int(min(top.capacity-added, batchKeys)), nil
		}
	}
	c, err := b.config.nextLayer(b.next, gen, top)
	if err != nil {
		return 0, err
	}
	if err := b.grow(c); err != nil {
		return 0, err
	}
	return int(min(c.capacity, batchKeys)), nil
}

// grow logs and makes a new layer. In a window older ones may go.
func (b *Bloom) grow(c layerConfig) error {
	after := b.with(b.view.Load(), &layer{layerConfig: c})
	if len(after.layers) > maxLayers { // it was loaded with so many
		return fmt.Errorf("%w: it has %d layers of at most %d", ErrFull, maxLayers, maxLayers)
	}
	l, err := b.fit(c, after.bytes())
	if err != nil {
		return err
	}
	at := b.store.log.append(opGrow, b.id, c.append(nil))
	b.changed(at)
	b.add(l, at)
	return nil
}

func (b *Bloom) first() error {
	c, err := b.config.nextLayer(0, 0, nil)
	if err != nil {
		return err
	}
	l, err := b.fit(c, c.bytes())
	if err != nil {
		return err
	}
	b.add(l, 0)
	return nil
}

// fit makes an empty layer of a value whose arrays will take the given bytes with it.
func (b *Bloom) fit(c layerConfig, arrays uint64) (*layer, error) {
	release, err := b.resize(arrays)
	if err != nil {
		return nil, err
	}
	l, err := c.make()
	if err != nil {
		release()
	}
	return l, err
}

// add makes l, whose making is logged, the newest layer.
func (b *Bloom) add(l *layer, at LSN) {
	l.changedAt(at)
	after := b.with(b.view.Load(), l)
	b.next = l.serial + 1
	b.view.Store(after)
}

// valueOverhead is about what a value takes in addition to its arrays: its place in the
// tables and its description.
const valueOverhead = 384

// resize accounts for the memory of a value whose arrays will take the given bytes.
// release undoes it.
func (b *base) resize(arrays uint64) (release func(), err error) {
	was, is := b.memory.Load(), arrays+valueOverhead
	if err := b.store.memory.change(was, is); err != nil {
		return nil, err
	}
	b.memory.Store(is)
	return func() {
		b.store.memory.force(is, was) // what was there before is not refused
		b.memory.Store(was)
	}, nil
}

// Clear implements [Filter]. A concurrent question is answered from before or after it.
func (b *Bloom) Clear() (LSN, error) {
	if err := b.lock(); err != nil {
		return 0, err
	}
	defer b.mu.Unlock()
	v, err := b.empty()
	if err != nil {
		return 0, err
	}
	at := b.store.log.append(opClear, b.id, v.appendConfigs(nil))
	b.changedAll(at)
	b.replaceAll(v, at)
	return at, nil
}

// empty returns the view of the filter without keys: its first layer again, or, of a
// window, no layer.
func (b *Bloom) empty() (*view, error) {
	v := &view{current: noTime}
	if b.step != 0 {
		return v, nil
	}
	var c layerConfig
	var err error
	if layers := b.view.Load().layers; len(layers) > 0 {
		// Not planned anew: a dump may have another layer than its error rate would give.
		c = layers[len(layers)-1].layerConfig
		c.serial = b.next
	} else if c, err = b.config.nextLayer(b.next, 0, nil); err != nil {
		return nil, err
	}
	l, err := c.make()
	if err != nil {
		return nil, fmt.Errorf("a new array for the cleared filter: %w", err)
	}
	v.layers = []*layer{l}
	return v, nil
}

// appendConfigs appends the descriptions of the layers, the oldest first.
func (v *view) appendConfigs(b []byte) []byte {
	for _, l := range slices.Backward(v.layers) {
		b = l.layerConfig.append(b)
	}
	return b
}

// replaceAll makes v, which is logged, the layers of the filter.
func (b *Bloom) replaceAll(v *view, at LSN) {
	for _, l := range v.layers {
		l.changedAt(at)
		b.next = max(b.next, l.serial+1)
	}
	b.install(v) // it takes less memory than before
}

// install makes v the layers of the filter, and accounts for their memory.
func (b *Bloom) install(v *view) {
	is := v.bytes() + valueOverhead
	b.store.memory.force(b.memory.Swap(is), is)
	b.view.Store(v)
}
