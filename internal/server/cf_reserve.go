package server

import (
	"seen/internal/resp"
	"seen/internal/server/args"
	"seen/internal/store"
)

var cfReserveCommand = command{
	name: "cf.reserve", arity: -3, flags: writer | flagHeavy, handle: cfReserve, since: "1.0.0", complexity: "O(1)",
	summary: "Creates an empty cuckoo filter.",
	syntax:  "key capacity [BUCKETSIZE bucketsize] [MAXITERATIONS maxiterations] [EXPANSION expansion] [LAYOUT seen|redisbloom]",
}

func cfReserve(c *call) {
	o, problem := parseCuckooReserve(c.args, c.filterDefaults())
	if c.failed(problem) {
		return
	}
	create[*store.Cuckoo](c, itemExists, func() (store.LSN, error) {
		_, at, err := c.store().CreateCuckoo(c.args[1], o.CuckooConfig)
		return at, err
	}, notMade(cuckooNotCreated)...)
}

// parseCuckooReserve reads
//
//	CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] [LAYOUT seen|redisbloom]
//
// As in RedisBloom, the options count in any position, even as the key, and unknown
// pairs are skipped. An option without a value cannot be parsed. LAYOUT is our own option
// and counts only after the capacity.
func parseCuckooReserve(words [][]byte, s filterDefaults) (o cuckooOptions, problem string) {
	o = cuckooDefaults(s)
	if len(words)%2 == 0 {
		return o, args.WrongArity(words)
	}
	capacity, ok := resp.ParseInt(words[2])
	if !ok {
		return o, "Bad capacity"
	}
	for _, option := range []struct {
		word, limits    string
		value           *int
		lowest, highest int64
	}{
		{"MAXITERATIONS", "[1, 65535]", &o.MaxIterations, 1, maxIterations},
		{"BUCKETSIZE", "[1, 255]", &o.BucketSize, 1, maxBucketSize},
		{"EXPANSION", "[0, 32768]", &o.Expansion, 0, maxExpansion},
	} {
		at := args.Find(words, 1, option.word)
		if at < 0 {
			continue
		}
		var n int64
		ok := at+1 < len(words)
		if ok {
			n, ok = resp.ParseInt(words[at+1])
		}
		if !ok {
			return o, "Couldn't parse " + option.word
		}
		if !args.Within(n, option.lowest, option.highest) {
			return o, option.word + ": value must be in the range " + option.limits
		}
		*option.value = int(n)
	}
	if !o.setCapacity(capacity) {
		return o, "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"
	}
	o.Layout, problem = parseLayoutOption(words, 3)
	return o, problem
}
