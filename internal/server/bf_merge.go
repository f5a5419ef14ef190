package server

import (
	"errors"

	"seen/internal/server/args"
	"seen/internal/store"
)

// The commands on several filters, and on all keys of one: what the other server
// does not have.

func bfMerge(c *call) {
	at, err := c.store().MergeBloom(c.work, c.args[1], c.args[2:]...)
	c.after(at)
	switch {
	case err == nil:
		c.out.OK()
	case errors.Is(err, store.ErrNotFound):
		c.out.Error(noFilter)
	case errors.Is(err, store.ErrWrongType):
		c.out.Error(wrongType)
	case errors.Is(err, store.ErrMemory) && c.store().MaxMemory() == 0:
		c.out.Error(noMemory)
	case refusesAll(err), errors.Is(err, store.ErrStopped):
		c.out.Error(storeError(err))
	default:
		c.out.Error("ERR filters cannot be merged: " + err.Error())
	}
}

var bfMergeCommand = command{
	name: "bf.merge", arity: -3, flags: writer | flagHeavy, first: 1, last: -1, step: 1, keys: firstIsChanged, handle: bfMerge, since: "1.0.0",
	complexity: "O(n * m), n filters of m bits",
	summary:    "Makes a Bloom filter the union of itself and others.",
	arguments:  args.Of("destination source [source ...]"),
}
