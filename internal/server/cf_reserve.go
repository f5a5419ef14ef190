package server

import (
	"seen/internal/resp"
	"seen/internal/server/args"
	"seen/internal/store"
)

var cfReserveCommand = command{
	name: "cf.reserve", arity: -3, flags: writer | flagHeavy, handle: cfReserve, since: "1.0.0", complexity: "O(1)",
	summary:   "Creates an empty cuckoo filter.",
	arguments: args.Of("key capacity [BUCKETSIZE bucketsize] [MAXITERATIONS maxiterations] [EXPANSION expansion] [LAYOUT seen|redisbloom]"),
}

func cfReserve(c *call) {
	o, problem := parseCuckooReserve(c.args, c.filterDefaults())
	if problem != "" {
		c.out.Error(problem)
		return
	}
	create[*store.Cuckoo](c, itemExists, func() (store.LSN, error) {
		_, at, err := c.store().CreateCuckoo(c.args[1], c.cuckooConfig(o))
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
	if len(words) < 3 || len(words)%2 == 0 {
		return o, args.WrongArity(words)
	}
	var ok bool
	if o.capacity, ok = resp.ParseInt(words[2]); !ok {
		return o, "Bad capacity"
	}
	for _, option := range []struct {
		word, limits    string
		value           *int64
		lowest, highest int64
	}{
		{"MAXITERATIONS", "[1, 65535]", &o.maxIterations, 1, maxIterations},
		{"BUCKETSIZE", "[1, 255]", &o.bucketSize, 1, maxBucketSize},
		{"EXPANSION", "[0, 32768]", &o.expansion, 0, maxExpansion},
	} {
		at := args.Find(words, 1, option.word)
		if at < 0 {
			continue
		}
		if at+1 == len(words) {
			return o, "Couldn't parse " + option.word
		}
		if *option.value, ok = resp.ParseInt(words[at+1]); !ok {
			return o, "Couldn't parse " + option.word
		}
		if !args.Within(*option.value, option.lowest, option.highest) {
			return o, option.word + ": value must be in the range " + option.limits
		}
	}
	if !args.Within(o.capacity, 2*o.bucketSize, maxCapacity) {
		return o, "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"
	}
	if at := args.Find(words, 3, "LAYOUT"); at > 0 {
		if at+1 == len(words) {
			return o, badLayout
		}
		o.layout, problem = parseLayout(words[at+1])
	}
	return o, problem
}
