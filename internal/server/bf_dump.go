package server

import (
	"seen/internal/resp"
	"seen/internal/store"
)

const (
	notANumber  = "Second argument must be numeric"
	badChunk    = "ERR received bad data"
	noLink      = "ERR invalid offset - no link found"
	chunkTooBig = "ERR invalid chunk - Too big for current filter"
)

var bfScanDumpCommand = command{
	name: "bf.scandump", arity: 3, flags: reader | flagHeavy, handle: bfScanDump, since: "1.0.0", complexity: "O(n), n bytes of the chunk",
	summary: "Returns the next chunk of a Bloom filter.",
	syntax:  "key iterator",
}

var bfLoadChunkCommand = command{
	name: "bf.loadchunk", arity: 4, flags: writer | flagHeavy, handle: bfLoadChunk, since: "1.0.0", complexity: "O(n), n bytes of the chunk",
	summary: "Loads a chunk of a Bloom filter that BF.SCANDUMP returned.",
	syntax:  "key iterator data",
}

func bfScanDump(c *call) {
	iterator, ok := resp.ParseInt(c.args[2])
	if !ok {
		c.out.Error(notANumber)
		return
	}
	if f, ok := c.bloom(); ok {
		c.sendChunk(f, iterator, c.out.Bulk)
	}
}

// sendChunk replies with the chunk at iterator, which write writes.
func (c *call) sendChunk(f interface {
	Dump(iterator int64) (next int64, data []byte, at store.LSN, err error)
}, iterator int64, write func(data []byte)) {
	next, data, at, err := f.Dump(iterator)
	c.after(at)
	if err != nil {
		c.out.Error(c.storeError(err))
		return
	}
	c.out.Array(2)
	c.out.Int(next)
	write(data)
}

func bfLoadChunk(c *call) {
	iterator, ok := resp.ParseInt(c.args[2])
	if !ok {
		c.out.Error("ERR " + notANumber)
		return
	}
	at, err := c.store().LoadBloom(c.args[1], iterator, c.args[3])
	c.confirm(at, err, own{store.ErrNotFound, noFilter}, own{store.ErrWrongType, wrongType}, own{store.ErrReadOnly, ""},
		own{store.ErrOffset, noLink}, own{store.ErrChunk, chunkTooBig}, own{errAnyOther, badChunk})
}
