package store

import "math"

// A window is a Bloom filter whose layers belong to generations, numbered by
// absolute time as those of bloom.Window are: generation n takes the keys of the
// n-th step of span/(G-1), and is dropped when G-1 more have begun.

// noTime is the generation of a window that was never added to; a filter that is no
// window has one generation, 0.
const noTime = math.MinInt64

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// generation returns the present generation. Time does not run backwards: the
// newest that an addition has seen is taken until the clock is past it.
func (b *Bloom) generation(v *view) int64 {
	if b.step == 0 {
		return 0
	}
	return max(v.current, floorDiv(b.store.opts.Now().UnixNano(), b.step))
}

// oldest returns the oldest generation that is remembered now.
func (b *Bloom) oldest(v *view) int64 {
	if b.step == 0 {
		return 0
	}
	return b.generation(v) - int64(b.config.Generations) + 1
}

// with returns the view with another layer, the newest, and without the
// generations that are forgotten when that of the layer has begun.
func (b *Bloom) with(v *view, l *layer) *view {
	n := &view{layers: make([]*layer, 1, len(v.layers)+1), current: l.gen}
	n.layers[0] = l
	for _, former := range v.layers {
		if b.step == 0 || former.gen > l.gen-int64(b.config.Generations) {
			n.layers = append(n.layers, former)
		}
	}
	return n
}

// bytes returns the memory of the layers.
func (v *view) bytes() (n uint64) {
	for _, l := range v.layers {
		n += l.bytes()
	}
	return n
}
