package server

import (
	"fmt"

	"seen/internal/store"
)

var cfInfoCommand = command{
	name: "cf.info", arity: 2, flags: reader, handle: shows((*call).cuckoo, cfInfo), since: "1.0.0", complexity: "O(1)",
	summary: "Describes a cuckoo filter.",
	syntax:  "key",
}

var cfDebugCommand = command{
	name: "cf.debug", arity: 2, flags: reader, handle: shows((*call).cuckoo, cfDebug), since: "1.0.0", complexity: "O(1)",
	summary: "Describes a cuckoo filter on one line.",
	syntax:  "key",
}

func cfInfo(c *call, f *store.Cuckoo) {
	info := f.Info()
	c.integers(8, []integer{
		{"Size", info.Size},
		{"Number of buckets", info.Buckets},
		{"Number of filters", uint64(info.Filters)},
		{"Number of items inserted", info.Added},
		{"Number of items deleted", info.Removed},
		{"Bucket size", uint64(info.BucketSize)},
		{"Expansion rate", uint64(info.Expansion)},
		{"Max iterations", uint64(info.MaxIterations)},
	})
}

func cfDebug(c *call, f *store.Cuckoo) {
	info := f.Info()
	c.out.BulkString(fmt.Sprintf("bktsize:%d buckets:%d items:%d deletes:%d filters:%d max_iterations:%d expansion:%d",
		info.BucketSize, info.Buckets, info.Added, info.Removed, info.Filters, info.MaxIterations, info.Expansion))
}
