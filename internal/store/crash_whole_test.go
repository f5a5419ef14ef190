package store

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"seen/interop"
)

// createCuckoo returns a step that makes a cuckoo filter.
func createCuckoo(name string, c CuckooConfig) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (LSN, error) {
		v, at, err := s.CreateCuckoo([]byte(name), c)
		if err == nil {
			m[name] = &modelWhole{seen: observe(v), counts: map[string]int{}}
		}
		return at, err
	}
}

// changeCuckoo returns a step that changes a cuckoo filter.
func changeCuckoo(name string, change func(c *Cuckoo, counts map[string]int) (LSN, error)) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (LSN, error) {
		c := s.Get([]byte(name)).(*Cuckoo)
		w := m[name].(*modelWhole)
		at, err := change(c, w.counts)
		w.seen = observe(c)
		return at, err
	}
}

func addCuckoo(from, to int) func(c *Cuckoo, counts map[string]int) (LSN, error) {
	return func(c *Cuckoo, counts map[string]int) (LSN, error) {
		var failed error
		at, err := c.Add(universe[from:to], func(i int, err error) {
			if err != nil {
				failed = err
			}
			counts[string(universe[from+i])]++
		})
		if err == nil {
			err = failed
		}
		return at, err
	}
}

func addNewCuckoo(from, to int) func(c *Cuckoo, counts map[string]int) (LSN, error) {
	return func(c *Cuckoo, counts map[string]int) (LSN, error) {
		return c.AddNew(universe[from:to], func(i int, added bool, err error) {
			if added {
				counts[string(universe[from+i])]++
			}
		})
	}
}

func removeCuckoo(from, to int) func(c *Cuckoo, counts map[string]int) (LSN, error) {
	return func(c *Cuckoo, counts map[string]int) (last LSN, err error) {
		for _, k := range universe[from:to] {
			ok, at, err := c.Remove(k)
			if err != nil || !ok {
				return 0, fmt.Errorf("%q: %v, %v", k, ok, err)
			}
			counts[string(k)]--
			last = at
		}
		return last, nil
	}
}

func compactCuckoo(c *Cuckoo, _ map[string]int) (LSN, error) { return c.Compact() }

func createCountMin(name string, c CountMinConfig) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (LSN, error) {
		v, at, err := s.CreateCountMin([]byte(name), c)
		if err == nil {
			m[name] = &modelWhole{seen: observe(v)}
		}
		return at, err
	}
}

// count returns a step that adds keys with growing numbers to a count-min sketch.
func count(name string, from, to int) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (LSN, error) {
		c := s.Get([]byte(name)).(*CountMin)
		var by []uint64
		for i := from; i < to; i++ {
			by = append(by, uint64(i*i))
		}
		at, err := c.Increment(make([]uint32, to-from), universe[from:to], by)
		m[name] = &modelWhole{seen: observe(c)}
		return at, err
	}
}

func mergeCountMin(dest string, weights []int64, sources ...string) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (LSN, error) {
		c := s.Get([]byte(dest)).(*CountMin)
		var from []*CountMin
		for _, name := range sources {
			from = append(from, s.Get([]byte(name)).(*CountMin))
		}
		at, err := s.MergeCountMin(nil, c, from, weights)
		m[dest] = &modelWhole{seen: observe(c)}
		return at, err
	}
}

func createTopK(name string, c TopKConfig) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (LSN, error) {
		v, at, err := s.CreateTopK([]byte(name), c)
		if err == nil {
			m[name] = &modelWhole{seen: observe(v)}
		}
		return at, err
	}
}

// createForeign returns a step that restores a filter of another system, made for a
// number of keys.
func createForeign(name string, capacity uint64) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (LSN, error) {
		at, err := s.Restore([]byte(name), foreignPayload(capacity), time.Time{}, false, 0)
		if err == nil {
			m[name] = &modelWhole{seen: observe(s.Get([]byte(name)))}
		}
		return at, err
	}
}

// foreignPayload holds a filter with the keys of the universe whose number is even.
func foreignPayload(capacity uint64) []byte {
	spec := interop.Spec{Name: "redisbloom", Params: map[string]string{"form": "chunks"}}
	f, err := interop.Create(spec, capacity, 0.01)
	if err != nil {
		panic(err)
	}
	for i := 0; i < len(universe); i += 2 {
		if _, err := f.(interop.Adder).Add(universe[i]); err != nil {
			panic(err)
		}
	}
	var b bytes.Buffer
	if _, err := f.WriteTo(&b); err != nil {
		panic(err)
	}
	return AppendForeign(nil, interop.Spec{Name: "redisbloom"}, b.Bytes())
}

// rank returns a step that adds keys to a top-k sketch, later ones more often.
func rank(name string, from, to int) func(*Store, model) (LSN, error) {
	return func(s *Store, m model) (LSN, error) {
		v := s.Get([]byte(name)).(*TopK)
		var by []uint32
		for i := from; i < to; i++ {
			by = append(by, uint32(1+i%17))
		}
		at, err := v.Add(universe[from:to], by, func(int, []byte, bool) {})
		m[name] = &modelWhole{seen: observe(v)}
		return at, err
	}
}

// sketchLife is a scenario for the sketches.
func sketchLife(t *testing.T, j *journey) {
	j.step(t, createCountMin("c", CountMinConfig{Width: 20, Depth: 3}))
	j.step(t, createCountMin("large", CountMinConfig{Width: 6000, Depth: 3}))
	j.step(t, createTopK("t", TopKConfig{K: 10}))
	j.step(t, createCountMin("c redis", CountMinConfig{Width: 20, Depth: 3, Layout: LayoutRedisBloom}))
	j.step(t, count("c redis", 0, 30))
	j.step(t, createTopK("t redis", TopKConfig{K: 10, Layout: LayoutRedisBloom}))
	j.step(t, rank("t redis", 0, 60))
	j.step(t, count("c", 0, 50))
	j.step(t, rank("t", 0, 100))
	j.save(t)
	j.step(t, count("c", 0, 100))
	j.step(t, count("large", 0, 100))
	j.step(t, rank("t", 0, 100))
	j.save(t)
	j.step(t, createCountMin("sum", CountMinConfig{Width: 6000, Depth: 3}))
	j.step(t, createTopK("wide", TopKConfig{K: 10, Width: 3000, Depth: 3, Decay: 0.8}))
	j.step(t, rank("wide", 0, 200))
	j.step(t, mergeCountMin("sum", []int64{3, 1}, "large", "sum"))
	j.exec(t, together(count("large", 50, 60), mergeCountMin("sum", nil, "large", "sum"), rank("t", 3, 9)))
	j.reopen(t)
	j.step(t, rank("t", 50, 130))
	j.step(t, rename("sum", "s"))
	j.step(t, count("s", 0, 5))
	j.save(t)
	j.step(t, mergeCountMin("s", []int64{2}, "s"))
	j.step(t, rename("t", "u"))
	j.step(t, rank("u", 50, 130))
	j.step(t, remove("s", "wide"))
	j.save(t)
	j.step(t, rank("u", 0, 30))
}

// cuckooLife is a scenario with what happens to values whose changes are not
// idempotent.
func cuckooLife(t *testing.T, j *journey) {
	j.step(t, createCuckoo("c", CuckooConfig{Capacity: 16, Expansion: 2}))
	j.step(t, changeCuckoo("c", addCuckoo(0, 40))) // grows
	j.save(t)
	j.step(t, changeCuckoo("c", addCuckoo(30, 60)))
	j.exec(t, changeCuckoo("c", removeCuckoo(20, 35)))
	j.exec(t, together(changeCuckoo("c", removeCuckoo(0, 2)), changeCuckoo("c", addNewCuckoo(0, 80))))
	j.step(t, createCuckoo("large", CuckooConfig{Capacity: 65536}))
	j.step(t, changeCuckoo("large", addCuckoo(0, 200)))
	j.save(t)
	j.exec(t, changeCuckoo("large", removeCuckoo(0, 50)))
	j.reopen(t)
	j.step(t, changeCuckoo("c", compactCuckoo))
	j.exec(t, changeCuckoo("c", removeCuckoo(30, 60)))
	j.step(t, rename("large", "l"))
	j.step(t, changeCuckoo("l", addCuckoo(100, 120)))
	j.save(t)
	j.exec(t, func(s *Store, m model) (last LSN, err error) {
		for it := int64(0); ; {
			next, data, _, err := s.Get([]byte("c")).(*Cuckoo).Dump(it)
			if err != nil || next == 0 {
				w := m["c"].clone().(*modelWhole)
				w.seen = observe(s.Get([]byte("d")))
				m["d"] = w
				return last, err
			}
			if last, err = s.LoadCuckoo([]byte("d"), next, data, 32); err != nil {
				return 0, err
			}
			it = next
		}
	})
	j.step(t, changeCuckoo("d", addCuckoo(0, 100)))
	j.save(t)
	j.step(t, remove("d", "c"))
}
