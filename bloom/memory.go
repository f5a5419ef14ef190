package bloom

import "iter"

// Bytes returns the memory of the layers.
func (s *Scalable) Bytes() uint64 { return s.bytes() }

// Release returns the memory of the filter to the system at once, rather than when
// the filter is collected. The filter must not be used afterwards.
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

// Config returns the configuration of the filter, with changes since it was made.
func (s *Scalable) Config() ScalableConfig { return s.config }

// Config returns the configuration of the set, with changes since it was made.
func (a *Adaptive) Config() AdaptiveConfig { return a.config }

// Capacity returns the number of distinct keys that the filter is made for, or 0 while the
// set is exact.
func (a *Adaptive) Capacity() uint64 {
	if a.filter == nil {
		return 0
	}
	return a.filter.Capacity()
}

// Bytes returns the memory of the set or of the filter.
func (a *Adaptive) Bytes() uint64 {
	switch {
	case a.filter != nil:
		return a.filter.bytes()
	case a.mapped != nil:
		return uint64(a.mapped.count()) * 8
	}
	return a.set.bytes()
}

// Release returns the memory of the filter, if the set has become one, to the system at
// once. The set must not be used afterwards.
func (a *Adaptive) Release() {
	if a.filter != nil {
		a.filter.Release()
	}
	a.set, a.mapped = nil, nil
}

// Hashes returns the hashes of all keys, some at a time, while the set is exact, and
// nothing afterwards. Each slice is valid until the next one. The set must not change
// meanwhile.
func (a *Adaptive) Hashes() iter.Seq[[]uint64] {
	if a.filter != nil {
		return func(func([]uint64) bool) {}
	}
	a.load()
	return a.set.batches(false)
}

// Config returns the configuration of the window. Files contain all of it except Clock and
// the secret of SipHash.
func (w *Window) Config() WindowConfig { return w.config }

// Release returns the memory of all generations to the system at once. The window must not
// be used afterwards.
func (w *Window) Release() {
	for _, g := range w.gens {
		g.set.Release()
	}
	if w.spare != nil {
		w.spare.Release()
	}
}
