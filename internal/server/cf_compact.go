package server

import (
	"errors"

	"seen/internal/server/args"
	"seen/internal/store"
)

const noCuckoo = "Cuckoo filter was not found"

var cfCompactCommand = command{
	name: "cf.compact", arity: -1, flags: freeWriter | flagHeavy, handle: cfCompact, since: "1.0.0", complexity: "O(n), n items",
	summary:   "Moves the items of a cuckoo filter into as few sub-filters as possible.",
	arguments: args.Of("key"),
}

func cfCompact(c *call) {
	if len(c.args) != 2 {
		c.wrongArity()
		return
	}
	for {
		f, ok := c.existingCuckoo(noCuckoo)
		if !ok {
			return
		}
		at, err := f.Compact()
		if !errors.Is(err, store.ErrGone) {
			c.confirm(at, err)
			return
		}
		c.after(at)
	}
}
