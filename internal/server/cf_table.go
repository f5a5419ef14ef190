package server

var cfCommands = family([]string{"cuckoo"}, []command{
	{
		name: "cf.reserve", arity: -3, flags: writer | flagHeavy, handle: cfReserve, since: "1.0.0", complexity: "O(1)",
		summary:   "Makes an empty cuckoo filter.",
		arguments: arguments("key capacity [BUCKETSIZE bucketsize] [MAXITERATIONS maxiterations] [EXPANSION expansion] [LAYOUT seen|redisbloom]"),
	},
	{
		name: "cf.add", arity: 3, flags: writer, handle: cfAdd, since: "1.0.0", complexity: "O(f + i), f sub-filters and i iterations",
		summary:   "Adds a copy of an item to a cuckoo filter, and makes the filter if it is missing.",
		arguments: arguments("key item"),
	},
	{
		name: "cf.addnx", arity: 3, flags: writer, handle: cfAddNX, since: "1.0.0", complexity: "O(f + i), f sub-filters and i iterations",
		summary:   "Adds an item to a cuckoo filter unless it is there.",
		arguments: arguments("key item"),
	},
	{
		name: "cf.insert", arity: -4, flags: writer, handle: cfInsert, since: "1.0.0", complexity: "O(n * (f + i)), n items, f sub-filters and i iterations",
		summary:   "Adds items to a cuckoo filter, and says how the filter is made if it is missing.",
		arguments: arguments("key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]"),
	},
	{
		name: "cf.insertnx", arity: -4, flags: writer, handle: cfInsertNX, since: "1.0.0", complexity: "O(n * (f + i)), n items, f sub-filters and i iterations",
		summary:   "Adds those items to a cuckoo filter that are not there.",
		arguments: arguments("key [CAPACITY capacity] [NOCREATE] ITEMS item [item ...]"),
	},
	{
		name: "cf.exists", arity: 3, flags: reader, handle: cfExists, since: "1.0.0", complexity: "O(f), f sub-filters",
		summary:   "Tells whether an item is in a cuckoo filter.",
		arguments: arguments("key item"),
	},
	{
		name: "cf.mexists", arity: -3, flags: reader, handle: cfMExists, since: "1.0.0", complexity: "O(n * f), n items and f sub-filters",
		summary:   "Tells which items are in a cuckoo filter.",
		arguments: arguments("key item [item ...]"),
	},
	{
		name: "cf.count", arity: 3, flags: reader, handle: cfCount, since: "1.0.0", complexity: "O(f), f sub-filters",
		summary:   "Counts the copies of an item in a cuckoo filter.",
		arguments: arguments("key item"),
	},
	{
		name: "cf.del", arity: 3, flags: freeWriter | flagFast, handle: cfDel, since: "1.0.0", complexity: "O(f), f sub-filters",
		summary:   "Deletes one copy of an item from a cuckoo filter.",
		arguments: arguments("key item"),
	},
	{
		name: "cf.compact", arity: -1, flags: freeWriter | flagHeavy, handle: cfCompact, since: "1.0.0", complexity: "O(n), n items",
		summary:   "Moves the items of a cuckoo filter into as few sub-filters as possible.",
		arguments: arguments("key"),
	},
	{
		name: "cf.info", arity: 2, flags: reader, handle: cfInfo, since: "1.0.0", complexity: "O(1)",
		summary:   "Describes a cuckoo filter.",
		arguments: arguments("key"),
	},
	{
		name: "cf.debug", arity: 2, flags: reader, handle: cfDebug, since: "1.0.0", complexity: "O(1)",
		summary:   "Describes a cuckoo filter on one line.",
		arguments: arguments("key"),
	},
	{
		name: "cf.scandump", arity: 3, flags: reader | flagHeavy, handle: cfScanDump, since: "1.0.0", complexity: "O(n), n bytes of the chunk",
		summary:   "Gives the next chunk of a cuckoo filter.",
		arguments: arguments("key iterator"),
	},
	{
		name: "cf.loadchunk", arity: 4, flags: writer | flagHeavy, handle: cfLoadChunk, since: "1.0.0", complexity: "O(n), n bytes of the chunk",
		summary:   "Takes a chunk of a cuckoo filter that CF.SCANDUMP has given.",
		arguments: arguments("key iterator data"),
	},
})
