package server

import (
	"errors"

	"seen/internal/resp"
	"seen/internal/store"
)

var bfReserveCommand = command{
	name: "bf.reserve", arity: -4, flags: writer | flagHeavy, handle: bfReserve, since: "1.0.0", complexity: "O(1)",
	summary:   "Makes an empty Bloom filter.",
	arguments: arguments("key error_rate capacity [EXPANSION expansion] [NONSCALING] [LAYOUT seen|redisbloom]"),
}

func bfReserve(c *call) {
	o, problem := parseBloomReserve(c.args, c.filterSettings())
	c.createBloom(o, problem)
}

func (c *call) createBloom(o bloomOptions, problem string) {
	if problem != "" {
		c.out.Error(problem)
		return
	}
	for !c.taken(c.args[1], isBloom, itemExists) {
		_, at, err := c.store().CreateBloom(c.args[1], o.config())
		c.after(at)
		switch {
		case err == nil:
			c.out.OK()
			return
		case !errors.Is(err, store.ErrExists):
			c.out.Error(c.bloomCreation(err))
			return
		}
	}
}

// parseBloomReserve reads
//
//	BF.RESERVE key error_rate capacity [EXPANSION n] [NONSCALING] [LAYOUT seen|redisbloom]
//
// EXPANSION and NONSCALING count wherever they stand, even as the key, and words
// that mean nothing are skipped: clients rely on the one, and the other cannot be
// told from it. LAYOUT, which is ours, is only looked for behind the capacity.
func parseBloomReserve(args [][]byte, s filterSettings) (o bloomOptions, problem string) {
	words := len(args)
	if findWord(args, 4, "LAYOUT") > 0 {
		words -= 2
	}
	if len(args) < 4 || words > 7 {
		return o, wrongArity(args)
	}
	o = bloomDefaults(s)
	if problem = o.rateAndCapacity(args); problem != "" {
		return o, problem
	}
	nonScaling := findWord(args, 1, "NONSCALING") > 0
	at := findWord(args, 1, "EXPANSION")
	if at == len(args)-1 {
		return o, "ERR no expansion"
	}
	if at > 0 {
		var ok bool
		if o.expansion, ok = resp.ParseInt(args[at+1]); !ok {
			return o, "ERR bad expansion"
		}
		if nonScaling && o.expansion != 0 {
			return o, "Nonscaling filters cannot expand"
		}
		if !within(o.expansion, 0, maxExpansion) {
			return o, "ERR expansion must be in the range [0, 32768]"
		}
	}
	if nonScaling {
		o.expansion = 0
	}
	if at := findWord(args, 4, "LAYOUT"); at > 0 {
		if at == len(args)-1 {
			return o, badLayout
		}
		if o.layout, problem = parseLayout(args[at+1]); problem != "" {
			return o, problem
		}
	}
	return o, ""
}
