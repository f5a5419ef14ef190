package server

import "seen/internal/store"

var bfClearCommand = command{
	name: "bf.clear", arity: 2, flags: freeWriter | flagHeavy, handle: bfClear, since: "1.0.0", complexity: "O(m), m bits",
	summary: "Removes all items from a Bloom filter.",
	syntax:  "key",
}

func bfClear(c *call) { alter(c, c.bloom, store.Filter.Clear) }
