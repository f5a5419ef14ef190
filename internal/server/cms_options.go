package server

import (
	"math"

	"seen/internal/resp"
)

const (
	noCountMin      = "CMS: key does not exist"
	badWidth        = "CMS: invalid width"
	badDepth        = "CMS: invalid depth"
	badCountMinInit = "CMS: invalid init arguments"
)

// maxDepth is the largest number of rows. Each halves the probability that an
// estimate is too high by much, so that sixty are as good as infinitely many.
const maxDepth = 1024

// parseCountMinByDim reads
//
//	CMS.INITBYDIM key width depth
func parseCountMinByDim(args [][]byte) (width, depth int64, problem string) {
	if len(args) != 4 {
		return 0, 0, wrongArity(args)
	}
	var ok bool
	if width, ok = resp.ParseInt(args[2]); !ok || width < 1 {
		return 0, 0, badWidth
	}
	if depth, ok = resp.ParseInt(args[3]); !ok || !within(depth, 1, maxDepth) {
		return 0, 0, badDepth
	}
	if width > math.MaxInt64/depth {
		return 0, 0, badCountMinInit
	}
	return width, depth, ""
}

// parseCountMinByProb reads
//
//	CMS.INITBYPROB key error probability
//
// where error bounds the overestimation as a part of all counts, and probability
// is that of exceeding it. The depth comes from logarithms of single precision,
// as clients that compute it themselves expect.
func parseCountMinByProb(args [][]byte) (width, depth int64, problem string) {
	if len(args) != 4 {
		return 0, 0, wrongArity(args)
	}
	over, ok := resp.ParseFloat(args[2])
	if !ok || !(over > 0 && over < 1) {
		return 0, 0, "CMS: invalid overestimation value"
	}
	probability, ok := resp.ParseFloat(args[3])
	if !ok || !(probability > 0 && probability < 1) {
		return 0, 0, "CMS: invalid prob value"
	}
	w, d := math.Ceil(2/over), math.Ceil(float64(log10(probability)/log10(0.5)))
	if d < 1 || !(w*d < math.MaxInt64) { // also when d is infinite
		return 0, 0, badCountMinInit
	}
	return int64(w), int64(d), ""
}

// log10 is the logarithm of single precision.
func log10(x float64) float32 {
	return float32(math.Log10(float64(float32(x))))
}

// parseCounts reads the pairs of
//
//	CMS.INCRBY key item increment [item increment ...]
//
// into items and increments.
func parseCounts(args [][]byte) (items [][]byte, increments []uint64, problem string) {
	pairs := args[2:]
	items, increments = make([][]byte, 0, len(pairs)/2), make([]uint64, 0, len(pairs)/2)
	for ; len(pairs) > 1; pairs = pairs[2:] {
		n, ok := resp.ParseInt(pairs[1])
		if !ok {
			return nil, nil, "CMS: Cannot parse number"
		}
		if n < 0 {
			return nil, nil, "CMS: Number cannot be negative"
		}
		items, increments = append(items, pairs[0]), append(increments, uint64(n))
	}
	return items, increments, ""
}

// countMinMerge is what CMS.MERGE is to add up.
type countMinMerge struct {
	sources [][]byte
	weights [][]byte // not yet read, one for each source; nil: all are 1
}

// parseCountMinMerge reads the shape of
//
//	CMS.MERGE destination numkeys source [source ...] [WEIGHTS weight [weight ...]]
//
// The weights are left to weight, since what is wrong with the keys before them is
// to be said first.
func parseCountMinMerge(args [][]byte) (m countMinMerge, problem string) {
	if len(args) < 4 {
		return m, wrongArity(args)
	}
	n, ok := resp.ParseInt(args[2])
	if !ok {
		return m, "CMS: invalid numkeys"
	}
	if n < 1 {
		return m, "CMS: Number of keys must be positive"
	}
	at := findWord(args, 1, "WEIGHTS")
	if at < 0 {
		if n != int64(len(args)-3) {
			return m, "CMS: wrong number of keys"
		}
		return countMinMerge{sources: args[3:]}, ""
	}
	if n > int64(len(args)) || int64(at) != 3+n || int64(len(args)) != 4+2*n {
		return m, "CMS: wrong number of keys/weights"
	}
	return countMinMerge{sources: args[3:at], weights: args[at+1:]}, ""
}

// weight returns the weight of source i.
func (m countMinMerge) weight(i int) (weight int64, problem string) {
	if m.weights == nil {
		return 1, ""
	}
	weight, ok := resp.ParseInt(m.weights[i])
	if !ok {
		return 0, "CMS: invalid weight value"
	}
	return weight, ""
}
