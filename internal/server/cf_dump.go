package server

import (
	"errors"

	"seen/internal/resp"
	"seen/internal/server/args"
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
	summary:   "Gives the next chunk of a cuckoo filter.",
	arguments: args.Of("key iterator"),
}

var cfLoadChunkCommand = command{
	name: "cf.loadchunk", arity: 4, flags: writer | flagHeavy, handle: cfLoadChunk, since: "1.0.0", complexity: "O(n), n bytes of the chunk",
	summary:   "Takes a chunk of a cuckoo filter that CF.SCANDUMP has given.",
	arguments: args.Of("key iterator data"),
}

func cfScanDump(c *call) {
	iterator, ok := resp.ParseInt(c.args[2])
	if !ok || iterator < 0 {
		c.out.Error(badPosition)
		return
	}
	f, ok := c.cuckoo(noFilter)
	if !ok {
		return
	}
	next, data, at, err := f.Dump(iterator)
	c.after(at)
	if err != nil {
		c.out.Error(storeError(err))
		return
	}
	c.out.Array(2)
	c.out.Int(next)
	if len(data) == 0 {
		c.out.Null()
	} else {
		c.out.Bulk(data)
	}
}

func cfLoadChunk(c *call) {
	iterator, ok := resp.ParseInt(c.args[2])
	if !ok || iterator == 0 {
		c.out.Error(badPosition)
		return
	}
	at, err := c.store().LoadCuckoo(c.args[1], iterator, c.args[3], int(c.filterSettings().cfMaxExpansions))
	c.after(at)
	switch {
	case err == nil:
		c.out.OK()
	case errors.Is(err, store.ErrExists):
		c.out.Error(itemExists)
	case errors.Is(err, store.ErrNotFound):
		c.out.Error(noFilter)
	case errors.Is(err, store.ErrWrongType):
		c.out.Error(wrongType)
	case refusesAll(err) && !(errors.Is(err, store.ErrMemory) && c.store().MaxMemory() == 0):
		c.out.Error(storeError(err))
	case iterator == 1 && len(c.args[3]) != cuckooHeader:
		c.out.Error(badCuckooHeader)
	case iterator == 1:
		c.out.Error(cuckooNotLoaded)
	default:
		c.out.Error(chunkNotLoaded)
	}
}
