package server

import "seen/internal/store"

var bfMergeCommand = command{
	name: "bf.merge", arity: -3, flags: writer | flagHeavy, first: 1, last: -1, step: 1, keys: firstIsChanged, handle: bfMerge, since: "1.0.0",
	complexity: "O(n * m), n filters of m bits",
	summary:    "Merges other Bloom filters into a Bloom filter.",
	syntax:     "destination source [source ...]",
}

func bfMerge(c *call) {
	at, err := c.store().MergeBloom(c.work, c.args[1], c.args[2:]...)
	c.confirm(at, err, own{store.ErrNotFound, noFilter}, own{store.ErrWrongType, wrongType}, own{store.ErrStopped, ""},
		own{errMachineMemory, noMemory}, own{errAnyOther, "ERR filters cannot be merged: "})
}
