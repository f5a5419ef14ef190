package bloom

import "iter"

// Bytes returns the memory of the layers.
func (s *Scalable) Bytes() uint64 { return s.bytes() }

// Release returns the memory of the filter to the system at once, rather than when
// the filter is collected. The filter must not be used any more.
func (s *Scalable) Release() {
	for _, l := range s.layers {
		l.Release()
	}
}

// Capacity returns the number of distinct keys that the layers are made for.
func (s *Scalable) Capacity() uint64 {
	n := uint64(0)
	for _, l := range s.layers {
		n += l.capacity
	}
	return n
}

// Config returns what the filter was made with, as changed since.
func (s *Scalable) Config() ScalableConfig { return s.config }

// Config returns what the set was made with, as changed since.
func (a *Adaptive) Config() AdaptiveConfig { return a.config }

// Capacity returns the number of distinct keys that the filter is made for, or 0
// as long as the set is exact.
func (a *Adaptive) Capacity() uint64 {
	if a.filter == nil {
		return 0
	}
	return a.filter.Capacity()
}

// Bytes returns the memory of the set or of the filter that it has become.
func (a *Adaptive) Bytes() uint64 {
	switch {
	case a.filter != nil:
		return a.filter.bytes()
	case a.mapped != nil:
		return uint64(a.mapped.count()) * 8
	}
	return a.set.bytes()
}

// Release returns the memory of the filter, if the set has become one, to the
// system at once. The set must not be used any more.
func (a *Adaptive) Release() {
	if a.filter != nil {
		a.filter.Release()
	}
	a.set, a.mapped = nil, nil
}

// Hashes returns the hashes of all keys, some at a time, as long as the set is
// exact, and nothing after that. The slices are valid until the next one, and the
// set must not be changed meanwhile.
func (a *Adaptive) Hashes() iter.Seq[[]uint64] {
	if a.filter != nil {
		return func(func([]uint64) bool) {}
	}
	a.load()
	return a.set.batches(false)
}

// Config returns what the window was made with, as far as its file tells where it
// was read from one.
func (w *Window) Config() WindowConfig { return w.config }

// Release returns the memory of all generations to the system at once. The window
// must not be used any more.
func (w *Window) Release() {
	for _, g := range w.gens {
		g.set.Release()
	}
	if w.spare != nil {
		w.spare.Release()
	}
}
