package server

import "seen/internal/store"

const noCuckoo = "Cuckoo filter was not found"

var cfCompactCommand = command{
	name: "cf.compact", arity: -1, flags: freeWriter | flagHeavy, handle: cfCompact, since: "1.0.0", complexity: "O(n), n items",
	summary: "Moves the items of a cuckoo filter into as few sub-filters as possible.",
	syntax:  "key",
}

func cfCompact(c *call) {
	if len(c.args) != 2 {
		c.wrongArity()
		return
	}
	alter(c, func() (*store.Cuckoo, bool) { return c.existingCuckoo(noCuckoo) }, (*store.Cuckoo).Compact)
}
