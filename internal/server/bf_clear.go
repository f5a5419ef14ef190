package server

import (
	"errors"

	"seen/internal/server/args"
	"seen/internal/store"
)

var bfClearCommand = command{
	name: "bf.clear", arity: 2, flags: freeWriter | flagHeavy, handle: bfClear, since: "1.0.0", complexity: "O(m), m bits",
	summary:   "Removes all items from a Bloom filter.",
	arguments: args.Of("key"),
}

func bfClear(c *call) {
	for {
		f, ok := c.bloom()
		if !ok {
			return
		}
		at, err := f.Clear()
		if !errors.Is(err, store.ErrGone) {
			c.confirm(at, err)
			return
		}
		c.after(at)
	}
}
