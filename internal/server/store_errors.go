package server

import (
	"errors"

	"seen/internal/store"
)

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
