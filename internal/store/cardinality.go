package store

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"

	"seen/sizing"
)

// UnionCardinality estimates how many different keys the filters have together.
// They must be of LayoutSeen, of equal parameters, and not have grown, or it is
// ErrUnlike: a key may lie in another layer of the other filter, so that what two
// have in common cannot be told. It reads all bits.
func (s *Store) UnionCardinality(filters ...Filter) (sizing.Estimate, LSN, error) {
	layers, at, err := oneLayerEach(filters)
	if err != nil {
		return sizing.Estimate{}, 0, err
	}
	return layers[0].params.Cardinality(onesOfUnion(layers)), at, nil
}

// maxIntersection is the largest number of filters whose intersection is estimated:
// for n of them 2^n unions are counted, and the errors of all add up.
const maxIntersection = 6

// IntersectionCardinality estimates how many keys are in all of the filters, under
// the conditions of UnionCardinality; there may be two to six. The standard error is
// known for two.
func (s *Store) IntersectionCardinality(filters ...Filter) (sizing.Estimate, LSN, error) {
	if len(filters) < 2 || len(filters) > maxIntersection {
		return sizing.Estimate{}, 0, fmt.Errorf("store: the intersection of %d filters; give 2 to %d", len(filters), maxIntersection)
	}
	layers, at, err := oneLayerEach(filters)
	if err != nil {
		return sizing.Estimate{}, 0, err
	}
	p := layers[0].params
	if len(layers) == 2 {
		a, b := onesOfUnion(layers[:1]), onesOfUnion(layers[1:])
		return p.Intersection(a, b, onesOfUnion(layers)), at, nil
	}
	// Inclusion and exclusion: the sum over all subsets of the cardinality of their
	// unions, those of even size taken off.
	sum, least := 0.0, math.Inf(1)
	for set := 1; set < 1<<len(layers); set++ {
		var chosen []*layer
		for i, l := range layers {
			if set>>i&1 == 1 {
				chosen = append(chosen, l)
			}
		}
		n := p.Cardinality(onesOfUnion(chosen)).Value
		if len(chosen) == 1 {
			least = min(least, n)
		}
		if len(chosen)%2 == 0 {
			n = -n
		}
		sum += n
	}
	return sizing.Estimate{Value: max(0, min(sum, least)), StdErr: math.NaN()}, at, nil
}

// Overlap is what two filters have in common, estimated.
type Overlap struct{ Union, Intersection, Jaccard sizing.Estimate }

// Overlap estimates what two filters have in common, under the conditions of
// UnionCardinality. It reads all bits of both.
func (s *Store) Overlap(a, b Filter) (o Overlap, err error) {
	layers, _, err := oneLayerEach([]Filter{a, b})
	if err != nil {
		return o, err
	}
	p := layers[0].params
	onesA, onesB, onesUnion := onesOfUnion(layers[:1]), onesOfUnion(layers[1:]), onesOfUnion(layers)
	return Overlap{p.Union(onesUnion), p.Intersection(onesA, onesB, onesUnion), p.Jaccard(onesA, onesB, onesUnion)}, nil
}

// oneLayerEach returns the only layer of each filter, and the position that answers
// about them depend on.
func oneLayerEach(filters []Filter) (layers []*layer, at LSN, err error) {
	for i, f := range filters {
		b, ok := f.(*Bloom)
		if !ok {
			return nil, 0, fmt.Errorf("store: %w: filter %d has the layout redisbloom", ErrUnlike, i+1)
		}
		v := b.view.Load()
		if len(v.layers) != 1 {
			return nil, 0, fmt.Errorf("store: %w: filter %d has %d layers; reserve filters that are to be compared large enough", ErrUnlike, i+1, len(v.layers))
		}
		l := v.layers[0]
		if i > 0 && (l.params != layers[0].params || b.step != 0) {
			return nil, 0, fmt.Errorf("store: %w: filter %d has %d bits and %d probes, the first %d and %d", ErrUnlike, i+1, l.params.M, l.params.K, layers[0].params.M, layers[0].params.K)
		}
		layers = append(layers, l)
		at = max(at, b.LSN())
	}
	if len(layers) == 0 {
		return nil, 0, fmt.Errorf("%w: no filter is given", ErrNotFound)
	}
	return layers, at, nil
}

// onesOfUnion counts the ones of the OR of layers, while others add to them.
func onesOfUnion(layers []*layer) (n uint64) {
	words := make([][]uint64, len(layers))
	for i, l := range layers {
		words[i] = l.mem.Words()
	}
	for i := range words[0] {
		w := uint64(0)
		for _, of := range words {
			w |= atomic.LoadUint64(&of[i])
		}
		n += uint64(bits.OnesCount64(w))
	}
	runtime.KeepAlive(layers)
	return n
}
