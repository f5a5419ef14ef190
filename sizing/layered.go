package sizing

import (
	"cmp"
	"math"
	"slices"
)

// Layer is what is known of one array of a filter that grew.
type Layer struct {
	// Index orders the layers as they came: a layer takes no more keys once one of a
	// greater index is there.
	Index int
	// Keys estimates the distinct keys that reached the layer, as [Params.Cardinality]
	// does.
	Keys Estimate
	// Rate is the probability that the layer, with the bits that it has, takes an absent
	// key for seen. It does not matter for a layer without a later one.
	Rate float64
	// Uneven is the relative variance, over the bits of the layer, of the share of their
	// keys that older layers let through; 0 where the bits of a key in one layer tell
	// nothing about those in another. Fill is the fill ratio and Probes the number of bits
	// of a key, which matter only then.
	Uneven, Fill float64
	Probes       int
}

// SameBits returns what l adds to Uneven of a later layer in which keys have the same bits
// as in l, among all bits: a bit that l has lets through all of its keys but the share
// Rate/Fill of which l has the others as well, and a bit that it has not lets through all.
func (l Layer) SameBits() float64 {
	if l.Fill == 0 || l.Rate >= 1 {
		return 0
	}
	return l.Rate * l.Rate / l.Fill * (1 - l.Fill) / ((1 - l.Rate) * (1 - l.Rate))
}

// corrected returns l with the keys and the rate that follow from Uneven, v.
//
// Keys that were let through prefer bits that older layers did not have. An expected share
// of zeros e^-x becomes e^-x (1 + v x²/2), so that the number of keys that ones tell is to
// be multiplied by 1 + v x/2. And each of the bits of an absent key that was let through is
// set more often by a share of v x (1-f)/f, where f is the fill ratio. Both are of first
// order in v.
func (l Layer) corrected() Layer {
	if l.Uneven > 0 && l.Fill > 0 && l.Fill < 1 {
		x := -math.Log1p(-l.Fill)
		l.Keys.Value *= 1 + l.Uneven*x/2
		l.Rate = min(1, l.Rate*(1+float64(l.Probes)*l.Uneven*x*(1-l.Fill)/l.Fill))
	}
	return l
}

// Layered estimates the number of distinct keys that were added to a filter of layers, in
// which a key is recorded in the newest unless one of them has it. The ones of a layer say
// how many keys reached it. Those that an older layer took for seen by mistake were
// added too, and set no bits: of the keys added in the time of a layer, a share F did not
// reach it, where 1-F is the product of 1-Rate over the older ones. So where n keys did,
// n/(1-F) were added, with the variance n F/(1-F)² of a negative binomial distribution
// (Feller, "An Introduction to Probability Theory and Its Applications" I, chapter VI.8),
// to which that of n itself comes.
//
// After a union there are several layers of one index, each filled behind its own older
// ones; the mean of their rates is taken for each. A key that both filters had is counted
// for both, unless their layers became one.
//
// The value is +Inf if a layer is full.
func Layered(layers []Layer) Estimate {
	order := slices.Clone(layers)
	slices.SortStableFunc(order, func(a, b Layer) int { return cmp.Compare(a.Index, b.Index) })
	var sum Estimate
	var variance float64
	reach := 1.0 // the share of keys that all older layers let through
	for len(order) > 0 {
		same := 1
		for same < len(order) && order[same].Index == order[0].Index {
			same++
		}
		through := 0.0
		for _, l := range order[:same] {
			l = l.corrected()
			if math.IsInf(l.Keys.Value, 1) || reach == 0 {
				return full
			}
			sum.Value += l.Keys.Value / reach
			variance += (l.Keys.StdErr*l.Keys.StdErr + l.Keys.Value*(1-reach)) / (reach * reach)
			through += (1 - l.Rate) / float64(same)
		}
		reach *= max(0, through)
		order = order[same:]
	}
	sum.StdErr = math.Sqrt(variance)
	return sum
}
