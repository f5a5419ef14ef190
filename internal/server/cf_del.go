package server

import (
	"errors"

	"seen/internal/store"
)

const notFound = "Not found"

var cfDelCommand = command{
	name: "cf.del", arity: 3, flags: freeWriter | flagFast, handle: cfDel, since: "1.0.0", complexity: "O(f), f sub-filters",
	summary: "Deletes one copy of an item from a cuckoo filter.",
	syntax:  "key item",
}

func cfDel(c *call) {
	for {
		f, ok := c.existingCuckoo(notFound)
		if !ok {
			return
		}
		removed, at, err := f.Remove(c.args[2])
		c.after(at)
		switch {
		case err == nil:
			c.out.Bool(removed)
			return
		case !errors.Is(err, store.ErrGone):
			c.out.Error(c.storeError(err))
			return
		}
	}
}
