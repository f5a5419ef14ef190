package bloom

import (
	"math"
	"math/bits"
	"runtime"

	"seen/internal/kernel"
	"seen/sizing"
)

// layerStats adds up the statistics of growing filters, each a series of layers, which
// are asked one after another.
func layerStats(name string, filters ...[]*layer) Stats {
	t := Stats{Type: name}
	var variance, right, rightAtCapacity float64
	for _, layers := range filters {
		of := make([]Stats, len(layers))
		for i, l := range layers {
			s := l.Stats()
			of[i] = s
			t.Layers++
			t.Bits += s.Bits
			t.Probes = s.Probes
			t.Bytes += s.Bytes
			t.Capacity += s.Capacity
			t.Added += s.Added
			t.Ones += s.Ones
			right += math.Log1p(-s.ErrorRate)
			rightAtCapacity += math.Log1p(-s.ErrorRateAtCapacity)
		}
		e := sizing.Layered(reached(layers, of))
		t.Cardinality.Value += e.Value
		variance += e.StdErr * e.StdErr
	}
	if t.Bits > 0 {
		t.Fill = float64(t.Ones) / float64(t.Bits)
	}
	t.Cardinality.StdErr = math.Sqrt(variance)
	// An absent key must be right in every layer.
	t.ErrorRate = math.Abs(math.Expm1(right))
	t.ErrorRateAtCapacity = math.Abs(math.Expm1(rightAtCapacity))
	return t
}

// reached returns what is known of the keys that reached each of layers, which are in
// ascending order of their indexes.
func reached(layers []*layer, of []Stats) []sizing.Layer {
	known := make([]sizing.Layer, len(layers))
	rates := make([]lineRates, len(layers))
	for i, l := range layers {
		k := &known[i]
		*k = sizing.Layer{Index: l.index, Keys: of[i].Cardinality, Fill: of[i].Fill, Probes: l.params.Lanes}
		if l.index < layers[len(layers)-1].index {
			rates[i] = l.rateNow()
			k.Rate = rates[i].mean
		}
		for j, older := range layers[:i] {
			if older.index < l.index {
				k.Uneven += rates[j].unevenness(&older.Filter, &l.Filter)
			}
		}
	}
	return known
}

// lineRates are the probabilities that a filter, with its present bits, says yes to an
// absent key: their mean, which [sizing.Params.ErrorRate] expects over all filters with so
// many keys, their variance between lines, and the variance between the bits of a line.
type lineRates struct{ mean, between, within float64 }

// rateNow computes the probabilities. It reads the whole array.
//
// An absent key finds L given lanes of a line set with the product of their fill ratios.
// The mean over all sets of L lanes is the elementary symmetric polynomial of degree L of
// the eight ratios, over the number of sets. Lines are equally likely, and regions
// independent.
func (f *Filter) rateNow() lineRates {
	words := f.all()
	region := int(f.params.RegionLines()) * kernel.LineWords
	// Several lines are for rates at which the variance does not matter.
	r := f.ratesOfLines(words[:region], f.params.Lines == 1)
	for words = words[region:]; len(words) >= region; words = words[region:] {
		r.mean *= f.ratesOfLines(words[:region], false).mean
	}
	runtime.KeepAlive(f)
	return r
}

// ratesOfLines computes the probabilities in lines: their mean and, on request, the
// variances, which take twice the time.
func (f *Filter) ratesOfLines(words []uint64, variances bool) (r lineRates) {
	lanes, ways := f.params.Lanes, float64(f.layout.LaneSets())
	lines := float64(len(words) / kernel.LineWords)
	squares := 0.0
	for ; len(words) >= kernel.LineWords; words = words[kernel.LineWords:] {
		// sets[d] is the polynomial of degree d of the lanes so far.
		var sets [kernel.LineWords + 1]float64
		var fill [kernel.LineWords]float64
		sets[0] = 1
		for i, w := range words[:kernel.LineWords] {
			fill[i] = float64(bits.OnesCount64(w)) / 64
			for d := lanes; d > 0; d-- {
				sets[d] += sets[d-1] * fill[i]
			}
		}
		rate := sets[lanes] / ways
		r.mean += rate
		if !variances {
			continue
		}
		squares += rate * rate
		for _, ratio := range fill {
			// The polynomial of degree L-1 of the other lanes, by division.
			others := 1.0
			for d := 1; d < lanes; d++ {
				others = sets[d] - ratio*others
			}
			set := others / (ways * float64(lanes) / kernel.LineWords) // the chance of a key with a bit that is set
			r.within += set * set * ratio * (1 - ratio) / kernel.LineWords
		}
	}
	r.mean /= lines
	r.within /= lines
	r.between = max(0, squares/lines-r.mean*r.mean)
	return r
}

// unevenness returns the relative variance, over the bits of a later array, of the share
// of its keys that older, which has the probabilities r, let through. A key has the same
// bits in the lanes of each array.
func (r *lineRates) unevenness(older, later *Filter) float64 {
	both := 1.0 // that a lane of the later array is one in the older as well
	if older.params.Lanes != later.params.Lanes {
		both = float64(older.params.Lanes) / kernel.LineWords
	}
	v := r.between + both*both*r.within
	// A line of the later array has the keys of one of the older, or of two, in uniform
	// proportion: of the variance of a mean of two, a third less is left.
	if ratio := float64(later.params.RegionLines()) / float64(older.params.RegionLines()); ratio != 1 {
		v *= 1 - min(1, 1/ratio)/3
	}
	return v / ((1 - r.mean) * (1 - r.mean))
}
