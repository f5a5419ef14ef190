package server

import (
	"fmt"
	"strconv"

	"seen/internal/server/args"
	"seen/internal/store"
)

const badInfoField = "Invalid information value"

var bfInfoCommand = command{
	name: "bf.info", arity: -2, flags: reader, handle: bfInfo, since: "1.0.0", complexity: "O(l), l layers",
	summary: "Describes a Bloom filter.",
	syntax:  "key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION]",
}

// bloomInfoFields are the fields of BF.INFO and the words that select them.
var bloomInfoFields = []struct {
	word, name string
	value      func(store.FilterInfo) uint64
}{
	{"CAPACITY", "Capacity", func(i store.FilterInfo) uint64 { return i.Capacity }},
	{"SIZE", "Size", bloomSize},
	{"FILTERS", "Number of filters", func(i store.FilterInfo) uint64 { return uint64(len(i.Layers)) }},
	{"ITEMS", "Number of items inserted", func(i store.FilterInfo) uint64 { return i.Added }},
	{"EXPANSION", "Expansion rate", func(i store.FilterInfo) uint64 { return uint64(i.Expansion) }},
}

// bloomSize is the size of a filter as RedisBloom computes it.
func bloomSize(i store.FilterInfo) uint64 {
	size := uint64(32 + 64*len(i.Layers))
	for _, l := range i.Layers {
		size += l.Bytes
	}
	return size
}

func bfInfo(c *call) {
	if len(c.args) > 3 {
		c.wrongArity()
		return
	}
	f, ok := c.bloom()
	if !ok {
		return
	}
	c.after(f.LSN())
	info := f.Info()
	value := func(at int) {
		if n := bloomInfoFields[at].value(info); n == 0 && bloomInfoFields[at].word == "EXPANSION" {
			c.out.Null()
		} else {
			c.out.Int(int64(n))
		}
	}
	if len(c.args) == 2 {
		c.out.Map(len(bloomInfoFields))
		for at, field := range bloomInfoFields {
			c.out.Simple(field.name)
			value(at)
		}
		return
	}
	for at, field := range bloomInfoFields {
		if !args.Is(c.args[2], field.word) {
			continue
		}
		if c.out.Proto == 3 {
			c.out.Map(1)
			c.out.Simple(field.name)
		} else {
			c.out.Array(1)
		}
		value(at)
		return
	}
	c.out.Error(badInfoField)
}

var bfDebugCommand = command{
	name: "bf.debug", arity: 2, flags: reader, handle: shows((*call).bloom, bfDebug), since: "1.0.0", complexity: "O(l), l layers",
	summary: "Describes the layers of a Bloom filter.",
	syntax:  "key",
}

func bfDebug(c *call, f store.Filter) {
	info := f.Info()
	c.out.Array(1 + len(info.Layers))
	c.out.BulkString(fmt.Sprintf("size:%d", info.Added))
	for _, l := range info.Layers {
		c.out.BulkString(fmt.Sprintf("bytes:%d bits:%d hashes:%d hashwidth:64 capacity:%d size:%d ratio:%s",
			l.Bytes, l.Bits, l.Probes, l.Capacity, l.Added, strconv.FormatFloat(l.ErrorRate, 'g', 6, 64)))
	}
}
