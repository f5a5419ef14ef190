package server

import (
	"seen/internal/resp"
	"seen/internal/server/args"
	"seen/internal/store"
)

var bfReserveCommand = command{
	name: "bf.reserve", arity: -4, flags: writer | flagHeavy, handle: bfReserve, since: "1.0.0", complexity: "O(1)",
	summary:   "Creates an empty Bloom filter.",
	arguments: args.Of("key error_rate capacity [EXPANSION expansion] [NONSCALING] [LAYOUT seen|redisbloom]"),
}

func bfReserve(c *call) {
	o, problem := parseBloomReserve(c.args, c.filterDefaults())
	c.createBloom(o, problem)
}

func (c *call) createBloom(o bloomOptions, problem string) {
	if problem != "" {
		c.out.Error(problem)
		return
	}
	create[store.Filter](c, itemExists, func() (store.LSN, error) {
		_, at, err := c.store().CreateBloom(c.args[1], o.config())
		return at, err
	}, notMade(notCreated)...)
}

// parseBloomReserve reads
//
//	BF.RESERVE key error_rate capacity [EXPANSION n] [NONSCALING] [LAYOUT seen|redisbloom]
//
// As in RedisBloom, EXPANSION and NONSCALING count in any position, even as the key, and
// unknown words are skipped. LAYOUT is our own option and counts only after the capacity.
func parseBloomReserve(words [][]byte, s filterDefaults) (o bloomOptions, problem string) {
	count := len(words)
	if args.Find(words, 4, "LAYOUT") > 0 {
		count -= 2
	}
	if len(words) < 4 || count > 7 {
		return o, args.WrongArity(words)
	}
	o = bloomDefaults(s)
	if problem = o.rateAndCapacity(words); problem != "" {
		return o, problem
	}
	nonScaling := args.Find(words, 1, "NONSCALING") > 0
	at := args.Find(words, 1, "EXPANSION")
	if at == len(words)-1 {
		return o, "ERR no expansion"
	}
	if at > 0 {
		var ok bool
		if o.expansion, ok = resp.ParseInt(words[at+1]); !ok {
			return o, "ERR bad expansion"
		}
		if nonScaling && o.expansion != 0 {
			return o, "Nonscaling filters cannot expand"
		}
		if !args.Within(o.expansion, 0, maxExpansion) {
			return o, "ERR expansion must be in the range [0, 32768]"
		}
	}
	if nonScaling {
		o.expansion = 0
	}
	if at := args.Find(words, 4, "LAYOUT"); at > 0 {
		if at == len(words)-1 {
			return o, badLayout
		}
		if o.layout, problem = parseLayout(words[at+1]); problem != "" {
			return o, problem
		}
	}
	return o, ""
}
