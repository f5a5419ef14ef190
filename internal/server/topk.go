package server

import "seen/internal/store"

const (
	noTopK = "TopK: key does not exist"
)

// topK returns the top-k of the key, or writes an error.
func (c *call) topK() (*store.TopK, bool) {
	v := c.store().Get(c.args[1])
	t, ok := v.(*store.TopK)
	if !ok {
		c.notThere(v, noTopK)
	}
	return t, ok
}

var topkCommands = family([]string{"topk"}, []command{
	topkReserveCommand,
	topkAddCommand,
	topkIncrByCommand,
	topkQueryCommand,
	topkCountCommand,
	topkListCommand,
	topkInfoCommand,
})
