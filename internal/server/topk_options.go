package server

import (
	"math"

	"seen/internal/resp"
)

// topKOptions say how a top-k is made.
type topKOptions struct {
	k, width, depth int64
	decay           float64
}

// maxIncrement is the largest increment of TOPK.INCRBY.
const maxIncrement = 100_000

const badIncrement = "TopK: increment must be an integer greater or equal to 0 and smaller or equal to 100,000"

// parseTopKReserve reads
//
//	TOPK.RESERVE key k [width depth decay]
func parseTopKReserve(args [][]byte) (o topKOptions, problem string) {
	if len(args) != 3 && len(args) != 6 {
		return o, wrongArity(args)
	}
	o = topKOptions{width: 8, depth: 7, decay: 0.9}
	var ok bool
	if o.k, ok = resp.ParseInt(args[2]); !ok || !within(o.k, 1, math.MaxUint32) {
		return o, "TopK: invalid k"
	}
	if len(args) == 3 {
		return o, ""
	}
	if o.width, ok = resp.ParseInt(args[3]); !ok || !within(o.width, 1, math.MaxUint32) {
		return o, "TopK: invalid width"
	}
	if o.depth, ok = resp.ParseInt(args[4]); !ok || !within(o.depth, 1, math.MaxUint32) {
		return o, "TopK: invalid depth"
	}
	if o.decay, ok = resp.ParseFloat(args[5]); !ok || !(o.decay > 0 && o.decay <= 1) {
		return o, "TopK: invalid decay value. must be '<= 1' & '> 0'"
	}
	return o, ""
}

// parseIncrement reads an increment of TOPK.INCRBY.
func parseIncrement(arg []byte) (n uint32, problem string) {
	increment, ok := resp.ParseInt(arg)
	if !ok || !within(increment, 0, maxIncrement) {
		return 0, badIncrement
	}
	return uint32(increment), ""
}
