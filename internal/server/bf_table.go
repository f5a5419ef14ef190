package server

const (
	writer     = flagModule | flagWrite | flagDenyOOM
	freeWriter = flagModule | flagWrite // of what needs no more memory
	reader     = flagModule | flagReadonly | flagFast
	slowReader = flagModule | flagReadonly
)

var bfCommands = family([]string{"bloom"}, []command{
	{
		name: "bf.reserve", arity: -4, flags: writer | flagHeavy, handle: bfReserve, since: "1.0.0", complexity: "O(1)",
		summary:   "Makes an empty Bloom filter.",
		arguments: arguments("key error_rate capacity [EXPANSION expansion] [NONSCALING] [LAYOUT seen|redisbloom]"),
	},
	{
		name: "bf.add", arity: 3, flags: writer, handle: bfAdd, runs: bloomAdditions, since: "1.0.0",
		complexity: "O(k * l), k probes in each of l layers",
		summary:    "Adds an item to a Bloom filter, and makes the filter if it is missing.",
		arguments:  arguments("key item"),
	},
	{
		name: "bf.madd", arity: -3, flags: writer, handle: bfMAdd, runs: bloomAdditions, since: "1.0.0",
		complexity: "O(n * k * l), n items and k probes in each of l layers",
		summary:    "Adds items to a Bloom filter, and makes the filter if it is missing.",
		arguments:  arguments("key item [item ...]"),
	},
	{
		name: "bf.insert", arity: -4, flags: writer, handle: bfInsert, since: "1.0.0",
		complexity: "O(n * k * l), n items and k probes in each of l layers",
		summary:    "Adds items to a Bloom filter, and says how the filter is made if it is missing.",
		arguments:  arguments("key [CAPACITY capacity] [ERROR error_rate] [EXPANSION expansion] [NOCREATE] [NONSCALING] [LAYOUT seen|redisbloom] ITEMS item [item ...]"),
	},
	{
		name: "bf.exists", arity: 3, flags: reader, handle: bfExists, runs: bloomQuestions, since: "1.0.0",
		complexity: "O(k * l), k probes in each of l layers",
		summary:    "Tells whether an item was added to a Bloom filter.",
		arguments:  arguments("key item"),
	},
	{
		name: "bf.mexists", arity: -3, flags: reader, handle: bfMExists, runs: bloomQuestions, since: "1.0.0",
		complexity: "O(n * k * l), n items and k probes in each of l layers",
		summary:    "Tells which items were added to a Bloom filter.",
		arguments:  arguments("key item [item ...]"),
	},
	{
		name: "bf.info", arity: -2, flags: reader, handle: bfInfo, since: "1.0.0", complexity: "O(l), l layers",
		summary:   "Describes a Bloom filter.",
		arguments: arguments("key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]"),
	},
	{
		name: "bf.card", arity: 2, flags: reader, handle: bfCard, since: "2.4.4", complexity: "O(l), l layers",
		summary:   "Counts the items that were new to a Bloom filter.",
		arguments: arguments("key"),
	},
	{
		name: "bf.debug", arity: 2, flags: reader, handle: bfDebug, since: "1.0.0", complexity: "O(l), l layers",
		summary:   "Describes the layers of a Bloom filter.",
		arguments: arguments("key"),
	},
	{
		name: "bf.scandump", arity: 3, flags: reader | flagHeavy, handle: bfScanDump, since: "1.0.0", complexity: "O(n), n bytes of the chunk",
		summary:   "Gives the next chunk of a Bloom filter.",
		arguments: arguments("key iterator"),
	},
	{
		name: "bf.loadchunk", arity: 4, flags: writer | flagHeavy, handle: bfLoadChunk, since: "1.0.0", complexity: "O(n), n bytes of the chunk",
		summary:   "Takes a chunk of a Bloom filter that BF.SCANDUMP has given.",
		arguments: arguments("key iterator data"),
	},
	{
		name: "bf.merge", arity: -3, flags: writer | flagHeavy, first: 1, last: -1, step: 1, keys: firstIsChanged, handle: bfMerge, since: "1.0.0",
		complexity: "O(n * m), n filters of m bits",
		summary:    "Makes a Bloom filter the union of itself and others.",
		arguments:  arguments("destination source [source ...]"),
	},
	{
		name: "bf.unioncard", arity: -2, flags: slowReader | flagHeavy, first: 1, last: -1, step: 1, handle: bfUnionCard, since: "1.0.0",
		complexity: "O(n * m), n filters of m bits",
		summary:    "Estimates how many items are in any of several Bloom filters.",
		arguments:  arguments("key [key ...]"),
	},
	{
		name: "bf.intercard", arity: -2, flags: slowReader | flagHeavy, first: 1, last: -1, step: 1, handle: bfInterCard, since: "1.0.0",
		complexity: "O(2^n * m), n filters of m bits",
		summary:    "Estimates how many items are in all of several Bloom filters.",
		arguments:  arguments("key [key ...]"),
	},
	{
		name: "bf.window", arity: 5, flags: writer | flagHeavy, handle: bfWindow, since: "1.0.0", complexity: "O(1)",
		summary:   "Makes an empty Bloom filter that forgets items a time after they were added.",
		arguments: arguments("key error_rate capacity span"),
	},
	{
		name: "bf.clear", arity: 2, flags: freeWriter | flagHeavy, handle: bfClear, since: "1.0.0", complexity: "O(m), m bits",
		summary:   "Makes a Bloom filter forget all items.",
		arguments: arguments("key"),
	},
})

// family completes the commands of one family: each has one key, its first word,
// unless it says otherwise.
func family(categories []string, commands []command) []command {
	for i := range commands {
		cmd := &commands[i]
		cmd.group, cmd.categories = "module", categories
		if cmd.first == 0 {
			cmd.first, cmd.last, cmd.step = 1, 1, 1
		}
	}
	return commands
}

// firstIsChanged tells the keys of a command that changes the first with the help
// of the others.
func firstIsChanged(args [][]byte, key func(at int, a access)) {
	key(1, reads|writes)
	for at := 2; at < len(args); at++ {
		key(at, reads)
	}
}

// bloomAdditions and bloomQuestions answer what stands together in a pipeline with
// one call of the store.
var (
	bloomAdditions = &runs{handle: addRun}
	bloomQuestions = &runs{handle: hasRun}
)

// addRun answers BF.ADD and BF.MADD on one filter. They mean what they would one
// after another: where a key is not taken, the rest of its command is not tried,
// and the next command is.
func addRun(c *call, batch []parsed) {
	o := bloomDefaults(c.filterSettings())
	answers, problem := c.addToBloom(batch[0].args[1], c.runKeys(batch), o)
	for i, p := range batch {
		keys := len(p.args) - 2
		if len(answers) < keys {
			c.added(p, answers, problem)
			// One by one from here on: most of them will fail too.
			for _, p := range batch[i+1:] {
				answers, problem := c.addToBloom(p.args[1], p.args[2:], o)
				c.added(p, answers, problem)
			}
			return
		}
		c.added(p, answers[:keys], "")
		answers = answers[keys:]
	}
}

// added answers one command of a run.
func (c *call) added(p parsed, answers []bool, problem string) {
	switch {
	case p.command.arity < 0:
		c.addedAll(answers, problem)
	case problem != "":
		c.out.Error(problem)
	default:
		c.out.Bool(answers[0])
	}
}

// hasRun answers BF.EXISTS and BF.MEXISTS on one filter.
func hasRun(c *call, batch []parsed) {
	found, ok := c.hasInBloom(batch[0].args[1], c.runKeys(batch))
	if !ok { // and an answer is written: nobody waits for the others
		c.ending = true
		return
	}
	for _, p := range batch {
		keys := len(p.args) - 2
		if p.command.arity < 0 {
			c.bools(found[:keys])
		} else {
			c.out.Bool(found[0])
		}
		found = found[keys:]
	}
}
