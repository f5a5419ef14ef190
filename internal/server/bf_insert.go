package server

import "seen/internal/server/args"

var bfInsertCommand = command{
	name: "bf.insert", arity: -4, flags: writer, handle: bfInsert, since: "1.0.0",
	complexity: "O(n * k * l), n items and k probes in each of l layers",
	summary:    "Adds items to a Bloom filter. Creates the filter with the given options if it does not exist.",
	syntax:     "key [CAPACITY capacity] [ERROR error] [EXPANSION expansion] [NOCREATE] [NONSCALING] [LAYOUT seen|redisbloom] ITEMS item [item ...]",
}

func bfInsert(c *call) {
	o, keysAt, problem := parseBloomInsert(c.args, c.filterDefaults())
	if c.failed(problem) {
		return
	}
	c.addAll(c.args[keysAt:], o)
}

// parseBloomInsert reads
//
//	BF.INSERT key [CAPACITY n] [ERROR r] [EXPANSION n] [NOCREATE] [NONSCALING] [LAYOUT seen|redisbloom] ITEMS key [key ...]
//
// and returns the index of the first key to add. As in RedisBloom, the first letter
// decides which option a word is, for E also the second, for N the third. LAYOUT is our
// own option and must be complete.
func parseBloomInsert(words [][]byte, s filterDefaults) (o bloomOptions, keysAt int, problem string) {
	o = bloomDefaults(s)
	nonScaling := false
	for at := 2; at < len(words); at++ {
		word := words[at]
		switch args.Letter(word, 0) {
		case 'I':
			if at+1 == len(words) {
				return o, 0, args.WrongArity(words)
			}
			if nonScaling { // overrides EXPANSION in any order
				o.Expansion = 0
			}
			return o, at + 1, ""
		case 'N':
			if args.Letter(word, 2) == 'C' {
				o.noCreate = true
			} else {
				nonScaling = true
			}
			continue
		case 'E', 'C':
		default:
			if !args.Is(word, "LAYOUT") {
				return o, 0, "Unknown argument received"
			}
		}
		if at++; at == len(words) {
			return o, 0, args.WrongArity(words)
		}
		if problem = o.insertValue(word, words[at]); problem != "" {
			return o, 0, problem
		}
	}
	return o, 0, args.WrongArity(words)
}

func (o *bloomOptions) insertValue(word, value []byte) (problem string) {
	switch {
	case args.Letter(word, 0) == 'L':
		o.Layout, problem = parseLayout(value)
		return problem
	case args.Letter(word, 0) == 'C':
		n, ok := args.Int(value, 1, maxCapacity)
		if !ok {
			return "Bad capacity"
		}
		o.Capacity = uint64(n)
	case args.Letter(word, 1) == 'R':
		rate, ok := args.Fraction(value)
		if !ok {
			return "Bad error rate"
		}
		o.ErrorRate = min(rate, maxErrorRate)
	default:
		n, ok := args.Int(value, 0, maxExpansion)
		if !ok {
			return "Bad expansion"
		}
		o.Expansion = uint32(n)
	}
	return ""
}
