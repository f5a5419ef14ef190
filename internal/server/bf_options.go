package server

import (
	"math"
	"time"

	"seen/internal/resp"
	"seen/internal/store"
)

// bloomOptions say how a filter is made.
type bloomOptions struct {
	errorRate float64
	capacity  int64
	expansion int64         // 0: the filter does not grow
	layout    store.Layout  // DefaultLayout: what the setting says
	noCreate  bool          // do not make a filter
	span      time.Duration // 0: it never forgets
}

const (
	errorRateOutOfRange = "ERR error rate must be in the range (0.000000, 1.000000)"
	capacityOutOfRange  = "ERR capacity must be in the range [1, 1073741824]"
	badLayout           = "ERR bad layout: want seen or redisbloom"
	badSpan             = "ERR bad span: want seconds, or a duration such as 90m or 24h, of at least 1ms"
)

func bloomDefaults(s filterSettings) bloomOptions {
	return bloomOptions{errorRate: s.bfErrorRate, capacity: s.bfInitialSize, expansion: s.bfExpansionFactor}
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

// rateAndCapacity reads the words 2 and 3.
func (o *bloomOptions) rateAndCapacity(args [][]byte) (problem string) {
	rate, ok := resp.ParseFloat(args[2])
	if !ok {
		return "ERR bad error rate"
	}
	if !(rate > 0 && rate < 1) {
		return errorRateOutOfRange
	}
	o.errorRate = cappedErrorRate(rate)
	if o.capacity, ok = resp.ParseInt(args[3]); !ok {
		return "ERR bad capacity"
	}
	if !within(o.capacity, 1, maxCapacity) {
		return capacityOutOfRange
	}
	return ""
}

func parseLayout(arg []byte) (store.Layout, string) {
	switch {
	case isWord(arg, "SEEN"):
		return store.LayoutSeen, ""
	case isWord(arg, "REDISBLOOM"):
		return store.LayoutRedisBloom, ""
	}
	return store.DefaultLayout, badLayout
}

// parseBloomInsert reads
//
//	BF.INSERT key [CAPACITY n] [ERROR r] [EXPANSION n] [NOCREATE] [NONSCALING] [LAYOUT seen|redisbloom] ITEMS key [key ...]
//
// and returns the index of the first key to add. Options are told apart by
// letters, as clients may rely on: the first, for E the second too, for N the
// third. LAYOUT, which is ours, has to be written out.
func parseBloomInsert(args [][]byte, s filterSettings) (o bloomOptions, keysAt int, problem string) {
	o = bloomDefaults(s)
	if len(args) < 4 {
		return o, 0, wrongArity(args)
	}
	nonScaling := false
	for at := 2; at < len(args); at++ {
		word := args[at]
		switch letter(word, 0) {
		case 'I':
			if at+1 == len(args) {
				return o, 0, wrongArity(args)
			}
			if nonScaling { // wins over EXPANSION, wherever they stand
				o.expansion = 0
			}
			return o, at + 1, ""
		case 'N':
			if letter(word, 2) == 'C' {
				o.noCreate = true
			} else {
				nonScaling = true
			}
			continue
		case 'E', 'C':
		default:
			if !isWord(word, "LAYOUT") {
				return o, 0, "Unknown argument received"
			}
		}
		if at++; at == len(args) {
			return o, 0, wrongArity(args)
		}
		if problem = o.insertValue(word, args[at]); problem != "" {
			return o, 0, problem
		}
	}
	return o, 0, wrongArity(args)
}

// insertValue reads the value of an option of BF.INSERT.
func (o *bloomOptions) insertValue(word, value []byte) (problem string) {
	switch {
	case letter(word, 0) == 'L':
		o.layout, problem = parseLayout(value)
		return problem
	case letter(word, 0) == 'C':
		n, ok := resp.ParseInt(value)
		if !ok || !within(n, 1, maxCapacity) {
			return "Bad capacity"
		}
		o.capacity = n
	case letter(word, 1) == 'R':
		rate, ok := resp.ParseFloat(value)
		if !ok || !(rate > 0 && rate < 1) {
			return "Bad error rate"
		}
		o.errorRate = cappedErrorRate(rate)
	default:
		n, ok := resp.ParseInt(value)
		if !ok || !within(n, 0, maxExpansion) {
			return "Bad expansion"
		}
		o.expansion = n
	}
	return ""
}

// parseBloomWindow reads
//
//	BF.WINDOW key error_rate capacity span
func parseBloomWindow(args [][]byte, s filterSettings) (o bloomOptions, problem string) {
	o = bloomDefaults(s)
	if len(args) != 5 {
		return o, wrongArity(args)
	}
	if problem = o.rateAndCapacity(args); problem != "" {
		return o, problem
	}
	var ok bool
	if o.span, ok = parseSpan(args[4]); !ok {
		return o, badSpan
	}
	return o, ""
}

// parseSpan reads a length of time: whole seconds, or a duration as Go writes it.
func parseSpan(b []byte) (time.Duration, bool) {
	if seconds, ok := resp.ParseInt(b); ok {
		if !within(seconds, 1, math.MaxInt64/int64(time.Second)) {
			return 0, false
		}
		return time.Duration(seconds) * time.Second, true
	}
	d, err := time.ParseDuration(string(b))
	return d, err == nil && d >= time.Millisecond
}
