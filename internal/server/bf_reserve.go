package server

import (
	"seen/internal/resp"
	"seen/internal/server/args"
	"seen/internal/store"
)

var bfReserveCommand = command{
	name: "bf.reserve", arity: -4, flags: writer | flagHeavy, handle: bfReserve, since: "1.0.0", complexity: "O(1)",
	summary: "Creates an empty Bloom filter.",
	syntax:  "key error_rate capacity [EXPANSION expansion] [NONSCALING] [LAYOUT seen|redisbloom]",
}

func bfReserve(c *call) {
	o, problem := parseBloomReserve(c.args, c.filterDefaults())
	c.createBloom(o, problem)
}

func (c *call) createBloom(o bloomOptions, problem string) {
	if c.failed(problem) {
		return
	}
	create[store.Filter](c, itemExists, func() (store.LSN, error) {
		_, at, err := c.store().CreateBloom(c.args[1], o.BloomConfig)
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
	if count > 7 {
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
		n, ok := resp.ParseInt(words[at+1])
		switch {
		case !ok:
			return o, "ERR bad expansion"
		case nonScaling && n != 0:
			return o, "Nonscaling filters cannot expand"
		case !args.Within(n, 0, maxExpansion):
			return o, "ERR expansion must be in the range [0, 32768]"
		}
		o.Expansion = uint32(n)
	}
	if nonScaling {
		o.Expansion = 0
	}
	o.Layout, problem = parseLayoutOption(words, 4)
	return o, problem
}
