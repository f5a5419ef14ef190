package bloom

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestCuckooMoves has one goroutine move a fingerprint to and fro between its two
// buckets, or replace its copy in one by a copy in the other, as fast as it can, and
// others look for it: it is there all the time. (Filters whose keys move so often would
// be full of others'; TestCuckooReadersMissNothing has those.)
func TestCuckooMoves(t *testing.T) {
	const h = 255*7 + 3
	changes := map[string]func(c *cuckooTable, from, to uint64){
		"move": func(c *cuckooTable, from, to uint64) { c.move(from, c, to) },
		"replace": func(c *cuckooTable, from, to uint64) {
			c.put(to, fingerprint(h))
			c.remove(from)
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			f, err := NewCuckoo(CuckooConfig{Capacity: 1 << 10})
			if err != nil {
				t.Fatal(err)
			}
			c := f.all()[0]
			first, second := c.pair(h)
			if first == second {
				t.Fatal("the key has one bucket")
			}
			c.put(first*c.bucketSize, fingerprint(h))
			var stop atomic.Bool
			var asked atomic.Int64
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					for !stop.Load() {
						if !f.HasHash(h) {
							t.Error("false negative")
							return
						}
						if n := f.CountHash(h); name == "move" && n != 1 {
							t.Errorf("counted %d", n)
							return
						}
						asked.Add(1)
					}
				})
			}
			// At least so many on both sides, whatever the machine is busy with.
			for n := 0; (n < 300_000 || asked.Load() < 20_000) && !t.Failed(); n++ {
				change(c, first*c.bucketSize, second*c.bucketSize)
				change(c, second*c.bucketSize, first*c.bucketSize)
			}
			stop.Store(true)
			wg.Wait()
		})
	}
}
