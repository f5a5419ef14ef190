package server

import (
	"seen/internal/server/args"
	"seen/internal/store"
)

const cuckooNotCreated = "ERR Could not create filter: "

// cuckoo returns the cuckoo filter of the command's key, or writes an error.
func (c *call) cuckoo() (*store.Cuckoo, bool) {
	return valueOf[*store.Cuckoo](c, c.args[1], noFilter, wrongType)
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

type cuckooOptions struct {
	store.CuckooConfig
	noCreate bool // do not create a filter
}

func cuckooDefaults(s filterDefaults) cuckooOptions {
	return cuckooOptions{CuckooConfig: store.CuckooConfig{
		Capacity: uint64(s.cfInitialSize), BucketSize: int(s.cfBucketSize), MaxIterations: int(s.cfMaxIterations),
		Expansion: int(s.cfExpansionFactor), MaxFilters: int(s.cfMaxExpansions),
	}}
}

// setCapacity sets the capacity if two buckets of it are allowed.
func (o *cuckooOptions) setCapacity(n int64) bool {
	o.Capacity = uint64(n)
	return args.Within(n, 2*int64(o.BucketSize), maxCapacity)
}
