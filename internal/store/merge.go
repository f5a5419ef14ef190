package store

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"
)

// MergeBloom makes the filter dest the union of itself and of sources, all of LayoutSeen.
// If dest does not exist, it is made like the first source. Filters can be merged if their
// error rates, expansions and, of windows, spans are equal; ErrUnlike names the
// difference. The error rate of the union is at most the sum of all. After a crash dest is
// the whole union or unchanged.
//
// Keys that are added to a source during the call may be in the union or not; additions to
// dest wait. A source that is named twice counts once.
func (s *Store) MergeBloom(w *Work, dest []byte, sources ...[]byte) (LSN, error) {
	var from []*Bloom
	known := map[*Bloom]bool{}
	for _, name := range sources {
		b, err := s.seenBloom(name)
		if err != nil {
			return 0, err
		}
		if b == nil {
			return 0, fmt.Errorf("%w: %q", ErrNotFound, name)
		}
		if known[b] {
			continue
		}
		known[b] = true
		from = append(from, b)
	}
	if len(from) == 0 {
		return 0, fmt.Errorf("%w: a merge without sources", ErrNotFound)
	}
	to, err := s.seenBloom(dest)
	if err != nil {
		return 0, err
	}
	for _, b := range from {
		like := from[0]
		if to != nil {
			like = to
		}
		if err := b.config.alike(&like.config); err != nil {
			return 0, fmt.Errorf("%q: %w", b.name, err)
		}
	}
	parts := snapshot(from)
	if to != nil {
		return to.merge(w, parts)
	}
	to = newBloom(from[0].config)
	to.store = s
	v, next, err := to.united(w, &view{current: noTime}, parts)
	if err != nil {
		return 0, err
	}
	to.next = next
	to.view.Store(v)
	if len(v.layers) == 0 && to.step == 0 { // the sources are empty
		if err := to.first(); err != nil {
			s.memory.force(to.memory.Swap(0), 0)
			return 0, err
		}
	}
	return s.create(w, dest, to, false, nil)
}

// seenBloom returns the filter of LayoutSeen of a name, nil if the name has no value.
func (s *Store) seenBloom(name []byte) (*Bloom, error) {
	switch v := s.lookup(name).(type) {
	case nil:
		return nil, nil
	case *Bloom:
		return v, nil
	case *RedisBloom:
		return nil, fmt.Errorf("%w: %q has the layout redisbloom, whose sub-filters cannot be united", ErrUnlike, name)
	case *Foreign:
		return nil, fmt.Errorf("%w: %q is of another system, whose filters cannot be united with others", ErrUnlike, name)
	default:
		return nil, fmt.Errorf("%w: %q is a %s", ErrWrongType, name, v.Type())
	}
}

// alike returns why filters with the two configurations cannot be united.
func (c *BloomConfig) alike(d *BloomConfig) error {
	switch {
	case c.ErrorRate != d.ErrorRate:
		return fmt.Errorf("%w: error rates differ: %v and %v", ErrUnlike, c.ErrorRate, d.ErrorRate)
	case c.Expansion != d.Expansion:
		return fmt.Errorf("%w: expansions differ: %d and %d", ErrUnlike, c.Expansion, d.Expansion)
	case c.Span != d.Span || c.Generations != d.Generations:
		return fmt.Errorf("%w: spans differ: %v in %d generations and %v in %d", ErrUnlike, c.Span, c.Generations, d.Span, d.Generations)
	}
	return nil
}

// counted is a layer with the number of keys that it had at some moment.
type counted struct {
	*layer
	keys    uint64
	empty   bool  // it has no bits either
	current int64 // of the window that it is of
}

// snapshot returns the layers of filters. Their bits may be read later: bits are only ever
// added.
func snapshot(from []*Bloom) []counted {
	var parts []counted
	for _, b := range from {
		b.mu.Lock()
		v := b.view.Load()
		for _, l := range v.layers {
			parts = append(parts, counted{l, l.added.Load(), l.empty(), v.current})
		}
		b.mu.Unlock()
	}
	return parts
}

// merge adds layers of other filters to b.
func (b *Bloom) merge(w *Work, parts []counted) (at LSN, err error) {
	if err := b.lock(); err != nil {
		return 0, err
	}
	defer b.mu.Unlock()
	was := b.memory.Load()
	v, next, err := b.united(w, b.view.Load(), parts)
	if err != nil {
		return 0, err
	}
	c := b.captureView(v, next)
	if _, err = b.store.putParts(w, c); err != nil {
		b.store.memory.force(b.memory.Swap(was), was)
		return 0, err
	}
	at = b.store.log.append(opReplace, b.id, c.append(nil))
	b.changed(at)
	c.at = at
	b.stored.add(c.files())
	for _, l := range v.layers {
		if l.large != nil && l.large.changed == 0 { // a new one
			l.large.changed = at
		}
	}
	c.saved(c.image, at)
	b.next = next
	b.view.Store(v)
	return at, nil
}

// union is a layer to be made of several of equal parameters, the first of which may
// be one of the filter itself.
type union []counted

func (u union) keys() (n uint64) {
	for _, c := range u {
		n += c.keys
	}
	return n
}

// takes reports whether l may be ORed into u: keys of both then fit.
func (u union) takes(l counted) bool {
	first := u[0]
	return first.gen == l.gen && first.index == l.index && first.params == l.params &&
		u.keys()+l.keys <= max(first.capacity, l.capacity)
}

// united returns the layers of v together with others, and the next serial number. The
// layers of v do not change; those that take others are copied. The memory is accounted
// for.
func (b *Bloom) united(w *Work, v *view, parts []counted) (*view, uint64, error) {
	n := &view{current: v.current}
	var unions []union
	for _, l := range v.layers {
		unions = append(unions, union{{l, l.added.Load(), l.empty(), v.current}})
	}
	own := len(unions)
	for _, p := range parts {
		n.current = max(n.current, p.current)
	}
	for _, p := range parts {
		i := slices.IndexFunc(unions, func(u union) bool { return u.takes(p) })
		switch {
		case p.empty || b.forgotten(p.layer, n) || slices.Contains(v.layers, p.layer):
		case i >= 0:
			unions[i] = append(unions[i], p)
		default:
			unions = append(unions, union{p})
		}
	}
	if len(unions) > maxLayers {
		return nil, 0, fmt.Errorf("%w: the union would have %d layers of at most %d", ErrFull, len(unions), maxLayers)
	}
	bytes, twice := uint64(0), uint64(0)
	for i, u := range unions {
		bytes += u[0].bytes()
		if i < own && len(u) > 1 {
			twice += u[0].bytes() // what it replaces is there until the end
		}
	}
	if err := b.store.memory.change(0, twice); err != nil {
		return nil, 0, err
	}
	defer b.store.memory.force(twice, 0)
	release, err := b.resize(bytes)
	if err != nil {
		return nil, 0, err
	}
	next := b.next
	for i, u := range unions {
		l := u[0].layer
		if i >= own || len(u) > 1 {
			if l, err = b.unite(w, u, next); err != nil {
				release()
				return nil, 0, err
			}
			next++
		}
		if !b.forgotten(l, n) {
			n.layers = append(n.layers, l)
		}
	}
	// The emptiest of the highest index takes what is added next.
	slices.SortStableFunc(n.layers, func(a, b *layer) int {
		return cmp.Or(cmp.Compare(b.gen, a.gen), cmp.Compare(b.index, a.index), cmp.Compare(a.added.Load(), b.added.Load()))
	})
	return n, next, nil
}

// forgotten reports whether a window in the state of v has forgotten a layer.
func (b *Bloom) forgotten(l *layer, v *view) bool {
	return b.step != 0 && l.gen <= v.current-int64(b.config.Generations)
}

// unite makes a new layer of the bits of others.
func (b *Bloom) unite(w *Work, u union, serial uint64) (*layer, error) {
	like := *u[0].shape
	for _, from := range u {
		like.capacity = max(like.capacity, from.capacity)
	}
	c := layerConfig{serial, u[0].gen, shapes.get(like)}
	l, err := c.make()
	if err != nil {
		return nil, err
	}
	words := l.words
	for _, from := range u {
		theirs := from.words
		for i := range words {
			if bits := atomic.LoadUint64(&theirs[i]); bits != 0 { // zeros take no memory
				words[i] |= bits
			}
			if i%stepUnits == 0 {
				if err := w.Step(stepUnits); err != nil {
					return nil, err
				}
			}
		}
		runtime.KeepAlive(from.layer)
	}
	keys := u.keys()
	if len(u) > 1 {
		// Some may be in several.
		if e := c.params.Cardinality(ones(words)); e.Known() {
			keys = min(keys, uint64(math.Round(e.Value)))
		}
	}
	l.added.Store(keys)
	l.loaded = true
	runtime.KeepAlive(l)
	return l, nil
}

func ones(words []uint64) (n uint64) {
	for _, w := range words {
		n += uint64(bits.OnesCount64(w))
	}
	return n
}
