package server

import (
	"seen/internal/resp"
	"seen/internal/store"
)

// cuckooOptions say how a cuckoo filter is made.
type cuckooOptions struct {
	capacity      int64
	bucketSize    int64
	maxIterations int64
	expansion     int64 // 0: the filter does not grow
	layout        store.Layout
	noCreate      bool // do not make a filter
}

func cuckooDefaults(s filterSettings) cuckooOptions {
	return cuckooOptions{
		capacity:      s.cfInitialSize,
		bucketSize:    s.cfBucketSize,
		maxIterations: s.cfMaxIterations,
		expansion:     s.cfExpansionFactor,
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

// parseCuckooInsert reads
//
//	CF.INSERT|CF.INSERTNX key [CAPACITY n] [NOCREATE] ITEMS key [key ...]
//
// and returns the index of the first key to add. Options are told apart by their
// first letters.
func parseCuckooInsert(args [][]byte, s filterSettings) (o cuckooOptions, keysAt int, problem string) {
	o = cuckooDefaults(s)
	if len(args) < 4 {
		return o, 0, wrongArity(args)
	}
	for at := 2; at < len(args); at++ {
		switch letter(args[at], 0) {
		case 'I':
			if at+1 == len(args) {
				return o, 0, wrongArity(args)
			}
			return o, at + 1, ""
		case 'N':
			o.noCreate = true
		case 'C':
			if at++; at == len(args) {
				return o, 0, wrongArity(args)
			}
			var ok bool
			if o.capacity, ok = resp.ParseInt(args[at]); !ok {
				return o, 0, "Bad capacity"
			}
			if !within(o.capacity, 2*o.bucketSize, maxCapacity) {
				return o, 0, "Capacity must be in the range [cf-bucket-size * 2, 1073741824]"
			}
		default:
			return o, 0, "Unknown argument received"
		}
	}
	return o, 0, wrongArity(args)
}
