package server

import (
	"math"

	"seen/internal/resp"
	"seen/internal/server/args"
	"seen/internal/store"
)

const (
	topKExists   = "TopK: key already exists"
	topKNoMemory = "ERR Insufficient memory to create topk data structure"
)

var topkReserveCommand = command{
	name: "topk.reserve", arity: -3, flags: writer | flagHeavy, handle: topkReserve, since: "2.0.0", complexity: "O(k + w * d), d rows of w counters",
	summary: "Creates an empty top-k.",
	syntax:  "key topk [width depth decay] [LAYOUT seen|redisbloom]",
}

func topkReserve(c *call) {
	end := 3
	if len(c.args) == 6 || len(c.args) == 8 {
		end = 6
	}
	layout, ok := c.layoutAt(end)
	if !ok || taken[store.Value](c, topKExists) {
		return
	}
	o, problem := parseTopKReserve(c.args[:end])
	o.Layout = layout
	if c.failed(problem) {
		return
	}
	create[store.Value](c, topKExists, func() (store.LSN, error) {
		_, at, err := c.store().CreateTopK(c.args[1], o)
		return at, err
	}, own{errAnyOther, topKNoMemory}) // too many buckets for any machine
}

// parseTopKReserve reads
//
//	TOPK.RESERVE key topk [width depth decay]
//
// without what follows.
func parseTopKReserve(words [][]byte) (o store.TopKConfig, problem string) {
	o = store.TopKConfig{Width: 8, Depth: 7, Decay: 0.9}
	for i, value := range []struct {
		name string
		to   *int
	}{{"k", &o.K}, {"width", &o.Width}, {"depth", &o.Depth}} {
		if i+2 == len(words) {
			return o, ""
		}
		n, ok := args.Int(words[i+2], 1, min(math.MaxUint32, math.MaxInt))
		if !ok {
			return o, "TopK: invalid " + value.name
		}
		*value.to = int(n)
	}
	var ok bool
	if o.Decay, ok = resp.ParseFloat(words[5]); !ok || !(o.Decay > 0 && o.Decay <= 1) {
		return o, "TopK: invalid decay value. must be '<= 1' & '> 0'"
	}
	return o, ""
}
