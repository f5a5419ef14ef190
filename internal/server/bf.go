package server

import (
	"time"

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

// config returns the options for the store.
func (o bloomOptions) config() store.BloomConfig {
	return store.BloomConfig{
		ErrorRate: o.errorRate,
		Capacity:  uint64(o.capacity),
		Expansion: uint32(o.expansion),
		Layout:    o.layout,
		Span:      o.span,
	}
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

// filterDefaults returns the current defaults of new filters.
func (c *call) filterDefaults() filterDefaults { return *c.server.filters.Load() }

// notMade are the texts for a filter that cannot be created.
func notMade(text string) []own { return []own{{errMachineMemory, noMemory}, {errAnyOther, text}} }

// bloomOptions are the options of a new Bloom filter.
type bloomOptions struct {
	errorRate float64
	capacity  int64
	expansion int64         // 0: the filter does not grow
	layout    store.Layout  // DefaultLayout: as set by CONFIG SET
	noCreate  bool          // do not create a filter
	span      time.Duration // 0: it never forgets
}

func bloomDefaults(s filterDefaults) bloomOptions {
	return bloomOptions{errorRate: s.bfErrorRate, capacity: s.bfInitialSize, expansion: s.bfExpansionFactor}
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
	o.errorRate = cappedErrorRate(rate)
	if o.capacity, ok = resp.ParseInt(words[3]); !ok {
		return "ERR bad capacity"
	}
	if !args.Within(o.capacity, 1, maxCapacity) {
		return capacityOutOfRange
	}
	return ""
}

func parseLayout(arg []byte) (store.Layout, string) {
	switch {
	case args.Is(arg, "SEEN"):
		return store.LayoutSeen, ""
	case args.Is(arg, "REDISBLOOM"):
		return store.LayoutRedisBloom, ""
	}
	return store.DefaultLayout, badLayout
}
