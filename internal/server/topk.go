package server

import "seen/internal/store"

const noTopK = "TopK: key does not exist"

// topK returns the top-k of the key, or writes an error.
func (c *call) topK() (*store.TopK, bool) {
	return valueOf[*store.TopK](c, c.args[1], noTopK, wrongType)
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
