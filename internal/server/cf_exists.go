package server

import "seen/internal/store"

var cfExistsCommand = command{
	name: "cf.exists", arity: 3, flags: reader, handle: cfExists, since: "1.0.0", complexity: "O(f), f sub-filters",
	summary: "Checks whether an item is in a cuckoo filter.",
	syntax:  "key item",
}

var cfMExistsCommand = command{
	name: "cf.mexists", arity: -3, flags: reader, handle: cfExists, since: "1.0.0", complexity: "O(n * f), n items and f sub-filters",
	summary: "Checks which items are in a cuckoo filter.",
	syntax:  "key item [item ...]",
}

var cfCountCommand = command{
	name: "cf.count", arity: 3, flags: reader, handle: cfCount, since: "1.0.0", complexity: "O(f), f sub-filters",
	summary: "Counts the copies of an item in a cuckoo filter.",
	syntax:  "key item",
}

func cfExists(c *call) {
	keys := c.args[2:]
	found := c.answers(len(keys))
	v := c.store().Get(c.args[1])
	if f, ok := v.(*store.Cuckoo); !ok { // a missing filter and a value of another type have no keys
		clear(found)
		c.afterValue(v)
	} else if !c.ask(len(keys), f.Layers, func(from, to int) store.LSN { return f.Has(found[from:to], keys[from:to]) }) {
		return
	}
	c.answer(c.command, found)
}

func cfCount(c *call) {
	v := c.store().Get(c.args[1])
	if f, ok := v.(*store.Cuckoo); ok {
		n, at := f.Count(c.args[2])
		c.after(at)
		c.out.Int(int64(n))
		return
	}
	c.afterValue(v)
	c.out.Int(0)
}
