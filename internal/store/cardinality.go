package store

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"

	"seen/sizing"
)

// UnionCardinality estimates how many different keys the filters have together. They must
// be of LayoutSeen, have equal parameters and not have grown. Otherwise the error is
// ErrUnlike: in grown filters a key may be in different layers, so that their common keys
// are unknown. It reads all bits, those of a filter that is given twice once.
func (s *Store) UnionCardinality(w *Work, filters ...Filter) (sizing.Estimate, LSN, error) {
	layers, at, err := oneLayerEach(filters)
	if err != nil {
		return sizing.Estimate{}, 0, err
	}
	ones, err := onesOfUnion(w, layers)
	if err != nil {
		return sizing.Estimate{}, 0, err
	}
	return layers[0].params.Cardinality(ones), at, nil
}

// maxIntersection is the largest number of filters whose intersection is estimated:
// for n of them 2^n unions are counted, and the errors of all add up.
const maxIntersection = 6

// IntersectionCardinality estimates how many keys are in all of the filters, under
// the conditions of UnionCardinality; there may be one to six different ones. The
// standard error is known for two.
func (s *Store) IntersectionCardinality(w *Work, filters ...Filter) (sizing.Estimate, LSN, error) {
	layers, at, err := oneLayerEach(filters)
	if err != nil {
		return sizing.Estimate{}, 0, err
	}
	if len(layers) > maxIntersection {
		return sizing.Estimate{}, 0, fmt.Errorf("the intersection of %d filters; give at most %d", len(layers), maxIntersection)
	}
	ones, err := onesOfUnions(w, layers)
	if err != nil {
		return sizing.Estimate{}, 0, err
	}
	p := layers[0].params
	switch len(layers) {
	case 1:
		return p.Cardinality(ones[1]), at, nil
	case 2:
		return p.Intersection(ones[1], ones[2], ones[3]), at, nil
	}
	// Inclusion and exclusion: the sum of the cardinalities of the unions of all subsets,
	// those of even size subtracted.
	sum, least := 0.0, math.Inf(1)
	for set := 1; set < len(ones); set++ {
		n, of := p.Cardinality(ones[set]).Value, bits.OnesCount(uint(set))
		if of == 1 {
			least = min(least, n)
		}
		if of%2 == 0 {
			n = -n
		}
		sum += n
	}
	return sizing.Estimate{Value: max(0, min(sum, least)), StdErr: math.NaN()}, at, nil
}

// Overlap is what two filters have, and have in common, estimated from their bits.
type Overlap struct{ A, B, Union, Intersection, Jaccard sizing.Estimate }

// Overlap estimates what two different filters have in common, under the conditions of
// UnionCardinality. It reads all bits of both.
func (s *Store) Overlap(w *Work, a, b Filter) (o Overlap, err error) {
	layers, _, err := oneLayerEach([]Filter{a, b})
	if err != nil {
		return o, err
	}
	if len(layers) == 1 {
		layers = append(layers, layers[0])
	}
	ones, err := onesOfUnions(w, layers)
	if err != nil {
		return o, err
	}
	p := layers[0].params
	return Overlap{
		A: p.Cardinality(ones[1]), B: p.Cardinality(ones[2]), Union: p.Union(ones[3]),
		Intersection: p.Intersection(ones[1], ones[2], ones[3]), Jaccard: p.Jaccard(ones[1], ones[2], ones[3]),
	}, nil
}

// oneLayerEach returns the only layer of each different filter, and the position that
// answers about them depend on.
func oneLayerEach(filters []Filter) (layers []*layer, at LSN, err error) {
	known := map[*layer]bool{}
	for i, f := range filters {
		b, ok := f.(*Bloom)
		if !ok {
			return nil, 0, fmt.Errorf("%w: filter %d has the layout redisbloom", ErrUnlike, i+1)
		}
		v := b.view.Load()
		if len(v.layers) != 1 {
			return nil, 0, fmt.Errorf("%w: filter %d has %d layers; reserve filters that are to be compared large enough", ErrUnlike, i+1, len(v.layers))
		}
		l := v.layers[0]
		if i > 0 && (l.params != layers[0].params || b.step != 0) {
			return nil, 0, fmt.Errorf("%w: filter %d has %d bits and %d probes, the first %d and %d", ErrUnlike, i+1, l.params.M, l.params.K, layers[0].params.M, layers[0].params.K)
		}
		if !known[l] {
			known[l] = true
			layers = append(layers, l)
		}
		at = max(at, b.LSN())
	}
	if len(layers) == 0 {
		return nil, 0, fmt.Errorf("%w: no filter is given", ErrNotFound)
	}
	return layers, at, nil
}

// onesOfUnion counts the ones of the OR of layers, while others add to them.
func onesOfUnion(w *Work, layers []*layer) (n uint64, err error) {
	words := wordsOf(layers)
	step := max(stepUnits/len(words), 512)
	for from := 0; from < len(words[0]); from += step {
		to := min(from+step, len(words[0]))
		if err := w.Rest((to - from) * len(words)); err != nil {
			return 0, err
		}
		for i := from; i < to; i++ {
			or := uint64(0)
			for _, of := range words {
				or |= atomic.LoadUint64(&of[i])
			}
			n += uint64(bits.OnesCount64(or))
		}
	}
	runtime.KeepAlive(layers)
	return n, nil
}

// onesOfUnions counts the ones of the ORs of all sets of a few layers, in one pass. A
// set is the number with a bit for each of its layers.
func onesOfUnions(w *Work, layers []*layer) (ones []uint64, err error) {
	words := wordsOf(layers)
	ones, or := make([]uint64, 1<<len(layers)), make([]uint64, 1<<len(layers))
	const step = stepUnits / 16 // one word costs more here
	for from := 0; from < len(words[0]); from += step {
		to := min(from+step, len(words[0]))
		if err := w.Rest((to - from) * len(ones)); err != nil {
			return nil, err
		}
		for i := from; i < to; i++ {
			for set := 1; set < len(or); set++ {
				if last := set & (set - 1); last == 0 {
					or[set] = atomic.LoadUint64(&words[bits.TrailingZeros(uint(set))][i])
				} else {
					or[set] = or[last] | or[set&-set]
				}
				ones[set] += uint64(bits.OnesCount64(or[set]))
			}
		}
	}
	runtime.KeepAlive(layers)
	return ones, nil
}

func wordsOf(layers []*layer) [][]uint64 {
	words := make([][]uint64, len(layers))
	for i, l := range layers {
		words[i] = l.words
	}
	return words
}
