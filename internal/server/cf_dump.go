package server

import (
	"seen/internal/resp"
	"seen/internal/store"
)

const (
	badPosition     = "Invalid position"
	badCuckooHeader = "Invalid header"
	cuckooNotLoaded = "Couldn't create filter!"
	chunkNotLoaded  = "Couldn't load chunk!"
)

// cuckooHeader is the length of the first chunk of a dump.
const cuckooHeader = 38

var cfScanDumpCommand = command{
	name: "cf.scandump", arity: 3, flags: reader | flagHeavy, handle: cfScanDump, since: "1.0.0", complexity: "O(n), n bytes of the chunk",
	summary: "Returns the next chunk of a cuckoo filter.",
	syntax:  "key iterator",
}

var cfLoadChunkCommand = command{
	name: "cf.loadchunk", arity: 4, flags: writer | flagHeavy, handle: cfLoadChunk, since: "1.0.0", complexity: "O(n), n bytes of the chunk",
	summary: "Loads a chunk of a cuckoo filter that CF.SCANDUMP returned.",
	syntax:  "key iterator data",
}

func cfScanDump(c *call) {
	iterator, ok := resp.ParseInt(c.args[2])
	if !ok || iterator < 0 {
		c.out.Error(badPosition)
		return
	}
	if f, ok := c.cuckoo(); ok {
		c.sendChunk(f, iterator, func(data []byte) {
			if len(data) == 0 {
				c.out.Null()
			} else {
				c.out.Bulk(data)
			}
		})
	}
}

func cfLoadChunk(c *call) {
	iterator, ok := resp.ParseInt(c.args[2])
	if !ok || iterator == 0 {
		c.out.Error(badPosition)
		return
	}
	other := chunkNotLoaded
	switch {
	case iterator == 1 && len(c.args[3]) != cuckooHeader:
		other = badCuckooHeader
	case iterator == 1:
		other = cuckooNotLoaded
	}
	at, err := c.store().LoadCuckoo(c.args[1], iterator, c.args[3], int(c.filterDefaults().cfMaxExpansions))
	c.confirm(at, err, own{store.ErrExists, itemExists}, own{store.ErrNotFound, noFilter}, own{store.ErrWrongType, wrongType}, own{errAnyOther, other})
}
