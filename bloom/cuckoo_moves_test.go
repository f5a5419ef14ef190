package bloom

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestCuckooMoves has one goroutine move a fingerprint back and forth between its two
// buckets, or replace its copy in one by a copy in the other, as fast as it can, and
// others look for it: it is there all the time. (Filters whose keys move so often would
// be full of others'; TestCuckooReadersMissNothing has those.) The buckets are far
// larger than any filter's: looking through them takes so long that the fingerprint
// goes from the end of one to the beginning of the other meanwhile, time and again,
// also where the goroutines take turns on one core.
func TestCuckooMoves(t *testing.T) {
	const h = 255*7 + 2
	move := func(c *cuckooTable, from, to uint64) { c.move(from, c, to) }
	replace := func(c *cuckooTable, from, to uint64) {
		c.put(to, fingerprint(h))
		c.remove(from)
	}
	has := func(f *Cuckoo) bool { return f.HasHash(h) }
	count := func(f *Cuckoo) bool { return f.CountHash(h) == 1 }
	for _, c := range []struct {
		name       string
		bucketSize uint64
		change     func(c *cuckooTable, from, to uint64)
		ask        func(f *Cuckoo) bool
	}{
		{"move", 1 << 18, move, has},
		{"replace", 1 << 18, replace, has},
		{"count", 2, move, count}, // counting waits for a pause between moves
	} {
		t.Run(c.name, func(t *testing.T) {
			const buckets = 4
			table := asCuckooTable(buckets, c.bucketSize, make([]uint64, buckets*c.bucketSize/8), nil)
			f := new(Cuckoo)
			f.tables.Store(&[]*cuckooTable{table})
			first, second := table.pair(h)
			if first == second {
				t.Fatal("the key has one bucket")
			}
			a, b := first*table.bucketSize, second*table.bucketSize+table.bucketSize-1
			table.put(a, fingerprint(h))
			var stop atomic.Bool
			var asked, met atomic.Int64 // all questions, and those during which it moved
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					for !stop.Load() {
						before := table.changes(first, second)
						if !c.ask(f) {
							t.Error("it is not there, or not once")
							return
						}
						if table.changes(first, second)-before > 8 {
							met.Add(1)
						}
						asked.Add(1)
					}
				})
			}
			// On one core they meet only when one has to wait for the other.
			for met.Load() < 500 && asked.Load() < 3_000_000 && !t.Failed() {
				c.change(table, a, b)
				c.change(table, b, a)
			}
			stop.Store(true)
			wg.Wait()
		})
	}
}

// TestCuckooVersions has a fingerprint go from bucket to bucket between the steps of a
// reader, in every way: if the reader misses it, a version has changed.
func TestCuckooVersions(t *testing.T) {
	const h = 255*7 + 2
	changes := map[string]func(c *cuckooTable, from, to uint64){
		"move": func(c *cuckooTable, from, to uint64) { c.move(from, c, to) },
		"replace": func(c *cuckooTable, from, to uint64) {
			c.put(to, fingerprint(h))
			c.remove(from)
		},
	}
	for name, change := range changes {
		missed := 0
		for pattern := range 3 * 3 * 3 * 2 {
			table := asCuckooTable(4, 2, make([]uint64, 1), nil)
			first, second := table.pair(h)
			at, other := first*2, second*2+1
			if pattern%2 != 0 {
				at, other = other, at
			}
			table.put(at, fingerprint(h))
			rest := pattern / 2
			meanwhile := func() {
				for range rest % 3 {
					change(table, at, other)
					at, other = other, at
				}
				rest /= 3
			}
			before := table.changes(first, second)
			meanwhile()
			_, found := table.in(first, fingerprint(h))
			meanwhile()
			if _, ok := table.in(second, fingerprint(h)); ok {
				found = true
			}
			meanwhile()
			if !found {
				missed++
				if table.changes(first, second) == before {
					t.Errorf("%s, pattern %d: missed, and no version has changed", name, pattern)
				}
			}
			// A move counts when it begins, twice when the fingerprint has its new place, and
			// when it has left the old one; in the middle it is odd.
			if n := table.changes(first, second); name == "move" && n%4 != 0 || n%2 != 0 {
				t.Fatalf("%s, pattern %d: version %d", name, pattern, n)
			}
			if !table.has(h) || table.count(h) != 1 {
				t.Fatalf("%s, pattern %d: it is lost", name, pattern)
			}
		}
		if missed == 0 {
			t.Errorf("%s: no pattern makes a reader miss it, so that this tests nothing", name)
		}
	}
}

// TestCuckooPrepareFails prepares a key that makes others move, and then another for
// which there is no room: the way of the first is forgotten with its plan.
func TestCuckooPrepareFails(t *testing.T) {
	met := 0
	for seed := range uint64(200) {
		f, err := NewCuckoo(CuckooConfig{Capacity: 16, BucketSize: 1, MaxIterations: 2})
		if err != nil {
			t.Fatal(err)
		}
		var held []uint64
		h := seed
		next := func() uint64 { h = h*0x9e3779b97f4a7c15 + 0x632be59bd9b4e019; return h ^ h>>32 }
		for range 200 {
			key, other := next(), next()
			if f.PrepareHash(key) != nil {
				continue
			}
			moves := len(f.path) > 0
			if moves && f.PrepareHash(other) != nil {
				met++
			}
			if err := f.AddHash(key); err != nil {
				t.Fatal(err)
			}
			held = append(held, key)
			for _, k := range held {
				if f.CountHash(k) == 0 {
					t.Fatalf("seed %d: key %d of %d is lost", seed, k, len(held))
				}
			}
		}
	}
	if met == 0 {
		t.Error("never failed a key between the preparation and the addition of another that makes some move")
	}
}
