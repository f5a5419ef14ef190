package server

import "seen/internal/store"

var bfExistsCommand = command{
	name: "bf.exists", arity: 3, flags: reader, handle: bfExists, runs: bloomQuestions, since: "1.0.0",
	complexity: "O(k * l), k probes in each of l layers",
	summary:    "Checks whether an item was added to a Bloom filter.",
	syntax:     "key item",
}

var bfMExistsCommand = command{
	name: "bf.mexists", arity: -3, flags: reader, handle: bfExists, runs: bloomQuestions, since: "1.0.0",
	complexity: "O(n * k * l), n items and k probes in each of l layers",
	summary:    "Checks which items were added to a Bloom filter.",
	syntax:     "key item [item ...]",
}

func bfExists(c *call) {
	if found, ok := c.hasInBloom(c.args[1], c.args[2:]); ok {
		c.answer(c.command, found)
	}
}

var bloomQuestions = &runs{handle: hasRun}

// hasRun runs several BF.EXISTS and BF.MEXISTS on one filter.
func hasRun(c *call, batch []parsed) {
	found, ok := c.hasInBloom(batch[0].args[1], c.runKeys(batch))
	if !ok { // the error is written, and the client is gone
		c.ending = true
		return
	}
	for _, p := range batch {
		keys := len(p.args) - 2
		c.answer(p.command, found[:keys])
		found = found[keys:]
	}
}

// hasInBloom looks keys up in the filter called name. A missing filter and a value of
// another type have no keys. If the command was stopped, it writes the error and reports
// false.
func (c *call) hasInBloom(name []byte, keys [][]byte) (found []bool, ok bool) {
	found = c.answers(len(keys))
	v := c.store().Get(name)
	if f, ok := v.(store.Filter); ok {
		return found, c.ask(len(keys), f.Layers, func(from, to int) store.LSN { return f.Has(found[from:to], keys[from:to]) })
	}
	clear(found)
	c.afterValue(v)
	return found, true
}
