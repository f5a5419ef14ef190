package server

import (
	"math"

	"seen/internal/resp"
	"seen/internal/server/args"
	"seen/internal/store"
)

const (
	topKExists     = "TopK: key already exists"
	topKNoMemory   = "ERR Insufficient memory to create topk data structure"
	topKNotCreated = "ERR could not create the top-k: "
)

var topkReserveCommand = command{
	name: "topk.reserve", arity: -3, flags: writer | flagHeavy, handle: topkReserve, since: "2.0.0", complexity: "O(k + w * d), d rows of w counters",
	summary:   "Creates an empty top-k.",
	arguments: args.Of("key k [width depth decay]"),
}

func topkReserve(c *call) {
	if len(c.args) != 3 && len(c.args) != 6 {
		c.wrongArity()
		return
	}
	if taken[store.Value](c, topKExists) {
		return
	}
	o, problem := parseTopKReserve(c.args)
	if problem != "" {
		c.out.Error(problem)
		return
	}
	create[store.Value](c, topKExists, func() (store.LSN, error) {
		_, at, err := c.store().CreateTopK(c.args[1], store.TopKConfig{K: int(o.k), Width: int(o.width), Depth: int(o.depth), Decay: o.decay})
		return at, err
	}, own{errMachineMemory, topKNoMemory}, own{errAnyOther, topKNotCreated})
}

// topKOptions are the options of a new top-k.
type topKOptions struct {
	k, width, depth int64
	decay           float64
}

// parseTopKReserve reads
//
//	TOPK.RESERVE key k [width depth decay]
func parseTopKReserve(words [][]byte) (o topKOptions, problem string) {
	if len(words) != 3 && len(words) != 6 {
		return o, args.WrongArity(words)
	}
	o = topKOptions{width: 8, depth: 7, decay: 0.9}
	var ok bool
	if o.k, ok = args.Int(words[2], 1, math.MaxUint32); !ok {
		return o, "TopK: invalid k"
	}
	if len(words) == 3 {
		return o, ""
	}
	if o.width, ok = args.Int(words[3], 1, math.MaxUint32); !ok {
		return o, "TopK: invalid width"
	}
	if o.depth, ok = args.Int(words[4], 1, math.MaxUint32); !ok {
		return o, "TopK: invalid depth"
	}
	if o.decay, ok = resp.ParseFloat(words[5]); !ok || !(o.decay > 0 && o.decay <= 1) {
		return o, "TopK: invalid decay value. must be '<= 1' & '> 0'"
	}
	return o, ""
}
