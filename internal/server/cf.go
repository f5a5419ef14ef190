package server

import "seen/internal/store"

const (
	cuckooNotCreated = "ERR Could not create filter: "
)

// cuckoo returns the cuckoo filter of the command's key, or writes an error.
func (c *call) cuckoo() (*store.Cuckoo, bool) {
	return valueOf[*store.Cuckoo](c, c.args[1], noFilter, wrongType)
}

func (c *call) cuckooConfig(o cuckooOptions) store.CuckooConfig {
	return store.CuckooConfig{
		Capacity:      uint64(o.capacity),
		BucketSize:    int(o.bucketSize),
		MaxIterations: int(o.maxIterations),
		Expansion:     int(o.expansion),
		MaxFilters:    int(c.filterDefaults().cfMaxExpansions),
		Layout:        o.layout,
	}
}

// existingCuckoo is cuckoo for commands with one error for a missing key and a wrong type.
func (c *call) existingCuckoo(absent string) (*store.Cuckoo, bool) {
	return valueOf[*store.Cuckoo](c, c.args[1], absent, absent)
}

var cfCommands = family([]string{"cuckoo"}, []command{
	cfReserveCommand,
	cfAddCommand,
	cfAddNXCommand,
	cfInsertCommand,
	cfInsertNXCommand,
	cfExistsCommand,
	cfMExistsCommand,
	cfCountCommand,
	cfDelCommand,
	cfCompactCommand,
	cfInfoCommand,
	cfDebugCommand,
	cfScanDumpCommand,
	cfLoadChunkCommand,
})

// cuckooOptions are the options of a new cuckoo filter.
type cuckooOptions struct {
	capacity      int64
	bucketSize    int64
	maxIterations int64
	expansion     int64 // 0: the filter does not grow
	layout        store.Layout
	noCreate      bool // do not create a filter
}

func cuckooDefaults(s filterDefaults) cuckooOptions {
	return cuckooOptions{
		capacity:      s.cfInitialSize,
		bucketSize:    s.cfBucketSize,
		maxIterations: s.cfMaxIterations,
		expansion:     s.cfExpansionFactor,
	}
}
