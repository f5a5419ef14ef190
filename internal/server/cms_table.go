package server

var cmsCommands = family([]string{"cms"}, []command{
	{
		name: "cms.initbydim", arity: 4, flags: writer | flagHeavy, handle: cmsInitByDim, since: "2.0.0", complexity: "O(w * d), d rows of w counters",
		summary:   "Makes an empty count-min sketch of a given size.",
		arguments: arguments("key width depth"),
	},
	{
		name: "cms.initbyprob", arity: 4, flags: writer | flagHeavy, handle: cmsInitByProb, since: "2.0.0", complexity: "O(w * d), d rows of w counters",
		summary:   "Makes an empty count-min sketch of a given accuracy.",
		arguments: arguments("key error probability"),
	},
	{
		name: "cms.incrby", arity: -4, flags: writer, handle: cmsIncrBy, since: "2.0.0", complexity: "O(n * d), n items and d rows",
		summary:   "Counts items in a count-min sketch.",
		arguments: arguments("key item increment [item increment ...]"),
	},
	{
		name: "cms.query", arity: -3, flags: slowReader, handle: cmsQuery, since: "2.0.0", complexity: "O(n * d), n items and d rows",
		summary:   "Estimates how often items were counted in a count-min sketch.",
		arguments: arguments("key item [item ...]"),
	},
	{
		name: "cms.merge", arity: -4, flags: writer | flagHeavy, handle: cmsMerge, keys: mergedKeys, since: "2.0.0", complexity: "O(n * w * d), n sketches of d rows of w counters",
		summary:   "Makes a count-min sketch the weighted sum of others.",
		arguments: arguments("destination numkeys source [source ...] [WEIGHTS weight [weight ...]]"),
	},
	{
		name: "cms.info", arity: 2, flags: slowReader, handle: cmsInfo, since: "2.0.0", complexity: "O(1)",
		summary:   "Describes a count-min sketch.",
		arguments: arguments("key"),
	},
})

// mergedKeys tells the keys of CMS.MERGE, as far as its words make sense.
func mergedKeys(args [][]byte, key func(at int, a access)) {
	key(1, reads|writes)
	if m, problem := parseCountMinMerge(args); problem == "" {
		for i := range m.sources {
			key(3+i, reads)
		}
	}
}
