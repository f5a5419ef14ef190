package bloom

import (
	"slices"

	"seen/internal/bridge"
	"seen/internal/keyhash"
	"seen/sizing"
)

// An Array is one array of bits or counters of a filter, as its file describes it.
type Array struct {
	// Params is the layout of the array, Capacity what it was sized for, and Added the
	// number of keys that were new to it.
	Params   sizing.Params
	Capacity uint64
	Added    uint64
	// Layer numbers the layers of a filter that grows and the levels of a cascade, from 0.
	Layer int
	// Generation numbers the generations of a [Window]. Those from From on and before To
	// have its keys: nanoseconds of Unix time, or calls of Add. Live says that the window
	// still asks it.
	Generation, From, To int64
	Live                 bool
}

// A Description says what a filter consists of.
type Description struct {
	// Arrays are the arrays of bits or counters, in the order of the file: the first or
	// oldest comes first. A filter that holds fingerprints has none.
	Arrays []Array
	// Overlap says that a key may be in several arrays and is then counted in each: in
	// the generations of a Window that refreshes keys, and in layers of equal number, which
	// come from a union.
	Overlap bool
}

// Describe says what a filter consists of. It does not read the arrays, so that it is fast
// however large a mapped filter is.
func Describe(v View) Description {
	var d Description
	switch f := v.(type) {
	case interface{ describe() Array }:
		d.Arrays = []Array{f.describe()}
	case *Shared:
		f.still(func(inner *Filter) { d.Arrays = []Array{inner.describe()} })
	case *Cascade:
		for i, l := range f.levels {
			a := l.describe()
			a.Layer = i
			d.Arrays = append(d.Arrays, a)
		}
	case *Scalable:
		d.addLayers(f.layers)
	case *Adaptive:
		if f.filter != nil {
			d.addLayers(f.filter.layers)
		}
	case *Window:
		now := f.now()
		for _, g := range slices.Backward(f.gens) {
			first := len(d.Arrays)
			d.addLayers(g.set.layers)
			for j := range d.Arrays[first:] {
				a := &d.Arrays[first+j]
				a.Generation, a.From, a.To = g.number, f.edge(g.number), f.edge(g.number+1)
				a.Live = f.live(g.number, now)
			}
		}
		d.Overlap = d.Overlap || !f.config.NoRefresh && len(d.Arrays) > 1
	}
	return d
}

func (a *array) describe() Array {
	return Array{Params: a.params, Capacity: a.capacity, Added: a.added}
}

// addLayers adds the layers of one growing filter.
func (d *Description) addLayers(layers []*layer) {
	for i, l := range layers {
		a := l.array.describe()
		a.Layer = l.index
		d.Arrays = append(d.Arrays, a)
		d.Overlap = d.Overlap || i > 0 && layers[i-1].index == l.index
	}
}

func init() { bridge.OnlyArray = onlyArray }

// onlyArray is [bridge.OnlyArray].
func onlyArray(v View) View {
	one := func(layers []*layer, hash keyhash.Hash, keyID uint64) View {
		if len(layers) != 1 {
			return nil
		}
		return asFilter(layers[0].array, hash, keyID)
	}
	switch f := v.(type) {
	case *Filter, *Classic, *Partitioned, *Counting:
		return v
	case *Cascade:
		return asClassic(f.levels[len(f.levels)-1].array, f.hash, f.keyID)
	case *Scalable:
		return one(f.layers, f.hash, f.keyID)
	case *Adaptive:
		if f.filter != nil {
			return one(f.filter.layers, f.hash, f.keyID)
		}
	case *Window:
		if len(f.gens) == 1 {
			return one(f.gens[0].set.layers, f.hash, f.keyID)
		}
	}
	return nil
}
