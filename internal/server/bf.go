package server

import (
	"strings"

	"seen/internal/resp"
	"seen/internal/server/args"
	"seen/internal/store"
)

const (
	noFilter   = "ERR not found"
	itemExists = "ERR item exists"
	noMemory   = "ERR Insufficient memory to create filter"
	notCreated = "ERR could not create filter: "
)

// bloom returns the Bloom filter of the command's key, or writes an error.
func (c *call) bloom() (store.Filter, bool) {
	return valueOf[store.Filter](c, c.args[1], noFilter, wrongType)
}

const (
	errorRateOutOfRange = "ERR error rate must be in the range (0.000000, 1.000000)"
	capacityOutOfRange  = "ERR capacity must be in the range [1, 1073741824]"
	badLayout           = "ERR bad layout: want seen or redisbloom"
)

var bfCommands = family([]string{"bloom"}, []command{
	bfReserveCommand,
	bfAddCommand,
	bfMAddCommand,
	bfInsertCommand,
	bfExistsCommand,
	bfMExistsCommand,
	bfInfoCommand,
	bfCardCommand,
	bfDebugCommand,
	bfScanDumpCommand,
	bfLoadChunkCommand,
	bfMergeCommand,
	bfUnionCardCommand,
	bfInterCardCommand,
	bfWindowCommand,
	bfClearCommand,
})

func (c *call) filterDefaults() filterDefaults { return *c.server.filters.Load() }

// notMade are the texts for a filter that cannot be created.
func notMade(text string) []own { return []own{{errMachineMemory, noMemory}, {errAnyOther, text}} }

type bloomOptions struct {
	store.BloomConfig
	noCreate bool // do not create a filter
}

func bloomDefaults(s filterDefaults) bloomOptions {
	return bloomOptions{BloomConfig: store.BloomConfig{
		ErrorRate: s.bfErrorRate, Capacity: uint64(s.bfInitialSize), Expansion: uint32(s.bfExpansionFactor),
	}}
}

// rateAndCapacity reads words 2 and 3.
func (o *bloomOptions) rateAndCapacity(words [][]byte) (problem string) {
	rate, ok := resp.ParseFloat(words[2])
	if !ok {
		return "ERR bad error rate"
	}
	if !(rate > 0 && rate < 1) {
		return errorRateOutOfRange
	}
	o.ErrorRate = min(rate, maxErrorRate)
	n, ok := resp.ParseInt(words[3])
	if !ok {
		return "ERR bad capacity"
	}
	if !args.Within(n, 1, maxCapacity) {
		return capacityOutOfRange
	}
	o.Capacity = uint64(n)
	return ""
}

// parseLayoutOption reads LAYOUT, our own option, at position from or later.
func parseLayoutOption(words [][]byte, from int) (store.Layout, string) {
	switch at := args.Find(words, from, "LAYOUT"); at {
	case -1:
		return store.DefaultLayout, ""
	case len(words) - 1:
		return store.DefaultLayout, badLayout
	default:
		return parseLayout(words[at+1])
	}
}

// layoutAt reads LAYOUT, our own option, which may be all that follows the words before end.
// If the words are wrong it replies and returns false.
func (c *call) layoutAt(end int) (store.Layout, bool) {
	switch {
	case len(c.args) == end:
		return store.DefaultLayout, true
	case len(c.args) != end+2 || !args.Is(c.args[end], "LAYOUT"):
		c.wrongArity()
		return store.DefaultLayout, false
	}
	l, problem := parseLayout(c.args[end+1])
	return l, !c.failed(problem)
}

func parseLayout(arg []byte) (store.Layout, string) {
	l, err := store.ParseLayout(strings.ToLower(string(arg)))
	if err != nil {
		return store.DefaultLayout, badLayout
	}
	return l, ""
}
