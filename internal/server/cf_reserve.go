package server

import (
	"errors"

	"seen/internal/resp"
	"seen/internal/store"
)

var cfReserveCommand = command{
	name: "cf.reserve", arity: -3, flags: writer | flagHeavy, handle: cfReserve, since: "1.0.0", complexity: "O(1)",
	summary:   "Makes an empty cuckoo filter.",
	arguments: arguments("key capacity [BUCKETSIZE bucketsize] [MAXITERATIONS maxiterations] [EXPANSION expansion] [LAYOUT seen|redisbloom]"),
}

func cfReserve(c *call) {
	o, problem := parseCuckooReserve(c.args, c.filterSettings())
	if problem != "" {
		c.out.Error(problem)
		return
	}
	for !c.taken(c.args[1], isCuckoo, itemExists) {
		_, at, err := c.store().CreateCuckoo(c.args[1], c.cuckooConfig(o))
		c.after(at)
		switch {
		case err == nil:
			c.out.OK()
			return
		case !errors.Is(err, store.ErrExists):
			c.out.Error(c.cuckooCreation(err))
			return
		}
	}
}

// parseCuckooReserve reads
//
//	CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] [LAYOUT seen|redisbloom]
//
// The options count wherever they stand, even as the key, and pairs that mean
// nothing are skipped. An option without a value is one that cannot be parsed.
// LAYOUT, which is ours, is only looked for behind the capacity.
func parseCuckooReserve(args [][]byte, s filterSettings) (o cuckooOptions, problem string) {
	o = cuckooDefaults(s)
	if len(args) < 3 || len(args)%2 == 0 {
		return o, wrongArity(args)
	}
	var ok bool
	if o.capacity, ok = resp.ParseInt(args[2]); !ok {
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
		at := findWord(args, 1, option.word)
		if at < 0 {
			continue
		}
		if at+1 == len(args) {
			return o, "Couldn't parse " + option.word
		}
		if *option.value, ok = resp.ParseInt(args[at+1]); !ok {
			return o, "Couldn't parse " + option.word
		}
		if !within(*option.value, option.lowest, option.highest) {
			return o, option.word + ": value must be in the range " + option.limits
		}
	}
	if !within(o.capacity, 2*o.bucketSize, maxCapacity) {
		return o, "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"
	}
	if at := findWord(args, 3, "LAYOUT"); at > 0 {
		if at+1 == len(args) {
			return o, badLayout
		}
		o.layout, problem = parseLayout(args[at+1])
	}
	return o, problem
}
