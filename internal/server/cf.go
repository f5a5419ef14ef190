package server

import "seen/internal/store"

const (
	cuckooNotCreated = "ERR Could not create filter: "
)

// cuckoo returns the cuckoo filter that the command names, or writes an error.
func (c *call) cuckoo() (*store.Cuckoo, bool) {
	return valueOf[*store.Cuckoo](c, c.args[1], noFilter)
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

// existingCuckoo is cuckoo for the commands that do not tell apart what is not
// there and what is something else.
func (c *call) existingCuckoo(absent string) (*store.Cuckoo, bool) {
	v := c.store().Get(c.args[1])
	if f, ok := v.(*store.Cuckoo); ok {
		return f, true
	}
	c.afterValue(v)
	c.out.Error(absent)
	return nil, false
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

// cuckooOptions say how a cuckoo filter is made.
type cuckooOptions struct {
	capacity      int64
	bucketSize    int64
	maxIterations int64
	expansion     int64 // 0: the filter does not grow
	layout        store.Layout
	noCreate      bool // do not make a filter
}

func cuckooDefaults(s filterDefaults) cuckooOptions {
	return cuckooOptions{
		capacity:      s.cfInitialSize,
		bucketSize:    s.cfBucketSize,
		maxIterations: s.cfMaxIterations,
		expansion:     s.cfExpansionFactor,
	}
}
