package interop_test

import (
	"fmt"

	"seen/interop"
)

// A filter moves through the chunks of BF.SCANDUMP and BF.LOADCHUNK.
func ExampleRedisBloom() {
	f, err := interop.NewRedisBloom(interop.RedisBloomConfig{Capacity: 100, ErrorRate: 0.01, Expansion: 2})
	if err != nil {
		panic(err)
	}
	if _, err := f.Add([]byte("https://example.org/")); err != nil {
		panic(err)
	}

	iterator, header := f.ScanDump(nil, 0)
	g, err := interop.NewRedisBloomFromHeader(header, nil)
	if err != nil {
		panic(err)
	}
	for {
		next, chunk := f.ScanDump(nil, iterator)
		if next == 0 {
			break
		}
		if err := g.LoadChunk(next, chunk); err != nil {
			panic(err)
		}
		iterator = next
	}
	fmt.Println(g.Has([]byte("https://example.org/")), g.Has([]byte("https://example.net/")))
	// Output: true false
}
