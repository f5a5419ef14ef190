package server

import (
	"errors"

	"seen/internal/store"
)

// scratch is memory that a connection uses again for each command.
type scratch struct {
	bools []bool
	keys  [][]byte
}

// maxScratch is the number of keys up to which a connection keeps the memory for
// them when a command has ended.
const maxScratch = 4096

// answers returns n answers to be filled in. They are valid until the next call.
func (c *call) answers(n int) []bool {
	if n > maxScratch {
		return make([]bool, n)
	}
	if cap(c.scratch.bools) < n {
		c.scratch.bools = make([]bool, min(2*n, maxScratch))
	}
	return c.scratch.bools[:n]
}

// runKeys returns the keys of all commands of a run. They are valid until the next
// call.
func (c *call) runKeys(batch []parsed) [][]byte {
	keys := c.scratch.keys[:0]
	for _, p := range batch {
		keys = append(keys, p.args[2:]...)
	}
	if cap(keys) <= maxScratch {
		c.scratch.keys = keys
	}
	return keys
}

// filterSettings returns the settings as they are now.
func (c *call) filterSettings() filterSettings { return *c.server.filters.Load() }

const wrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"

const outOfMemory = "OOM command not allowed when used memory > 'maxmemory'."

// refusesAll reports whether err concerns the server and not the command: no write
// like it would be taken now.
func refusesAll(err error) bool {
	for _, all := range []error{store.ErrMemory, store.ErrDiskFull, store.ErrFailed, store.ErrClosed} {
		if errors.Is(err, all) {
			return true
		}
	}
	return false
}

// storeError is the text of an error of the store that no command has words for.
func storeError(err error) string {
	switch {
	case errors.Is(err, store.ErrMemory):
		return outOfMemory
	case errors.Is(err, store.ErrDiskFull), errors.Is(err, store.ErrFailed):
		// The word by which clients know a server that cannot write to its disk.
		return "MISCONF " + err.Error()
	}
	return "ERR " + err.Error()
}
