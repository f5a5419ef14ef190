package server

import (
	"math"
	"time"

	"seen/internal/resp"
	"seen/internal/server/args"
)

const badSpan = "ERR bad span: want seconds, or a duration such as 90m or 24h, of at least 1ms"

var bfWindowCommand = command{
	name: "bf.window", arity: 5, flags: writer | flagHeavy, handle: bfWindow, since: "1.0.0", complexity: "O(1)",
	summary: "Creates an empty Bloom filter that forgets items some time after they were added.",
	syntax:  "key error_rate capacity span",
}

func bfWindow(c *call) {
	o, problem := parseBloomWindow(c.args, c.filterDefaults())
	c.createBloom(o, problem)
}

// parseBloomWindow reads
//
//	BF.WINDOW key error_rate capacity span
func parseBloomWindow(words [][]byte, s filterDefaults) (o bloomOptions, problem string) {
	o = bloomDefaults(s)
	if problem = o.rateAndCapacity(words); problem != "" {
		return o, problem
	}
	var ok bool
	if o.Span, ok = parseSpan(words[4]); !ok {
		return o, badSpan
	}
	return o, ""
}

// parseSpan reads a time span: whole seconds or a Go duration.
func parseSpan(b []byte) (time.Duration, bool) {
	if seconds, ok := resp.ParseInt(b); ok {
		if !args.Within(seconds, 1, math.MaxInt64/int64(time.Second)) {
			return 0, false
		}
		return time.Duration(seconds) * time.Second, true
	}
	d, err := time.ParseDuration(string(b))
	return d, err == nil && d >= time.Millisecond
}
