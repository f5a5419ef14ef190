package server

var topkCommands = family([]string{"topk"}, []command{
	{
		name: "topk.reserve", arity: -3, flags: writer | flagHeavy, handle: topkReserve, since: "2.0.0", complexity: "O(k + w * d), d rows of w counters",
		summary:   "Makes an empty top-k.",
		arguments: arguments("key k [width depth decay]"),
	},
	{
		name: "topk.add", arity: -3, flags: writer, handle: topkAdd, since: "2.0.0", complexity: "O(n * (k + d)), n items and d rows",
		summary:   "Counts items in a top-k.",
		arguments: arguments("key item [item ...]"),
	},
	{
		name: "topk.incrby", arity: -4, flags: writer, handle: topkIncrBy, since: "2.0.0", complexity: "O(n * (k + d * i)), n items, d rows and the increment i",
		summary:   "Counts items in a top-k several times each.",
		arguments: arguments("key item increment [item increment ...]"),
	},
	{
		name: "topk.query", arity: -3, flags: slowReader, handle: topkQuery, since: "2.0.0", complexity: "O(n), n items",
		summary:   "Tells which items are among the most frequent.",
		arguments: arguments("key item [item ...]"),
	},
	{
		name: "topk.count", arity: -3, flags: slowReader, handle: topkCount, since: "2.0.0", complexity: "O(n * d), n items and d rows",
		summary:   "Estimates how often items were counted in a top-k.",
		arguments: arguments("key item [item ...]"),
	},
	{
		name: "topk.list", arity: -2, flags: slowReader | flagHeavy, handle: topkList, since: "2.0.0", complexity: "O(k log k)",
		summary:   "Lists the most frequent items.",
		arguments: arguments("key [WITHCOUNT]"),
	},
	{
		name: "topk.info", arity: 2, flags: slowReader, handle: topkInfo, since: "2.0.0", complexity: "O(1)",
		summary:   "Describes a top-k.",
		arguments: arguments("key"),
	},
})
