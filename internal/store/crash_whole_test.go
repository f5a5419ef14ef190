package store

import (
	"fmt"
	"testing"
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

// wholeLife is a scenario with what happens to values whose changes are not
// idempotent.
func wholeLife(t *testing.T, j *journey) {
	j.step(t, createCuckoo("c", CuckooConfig{Capacity: 16, Expansion: 2}))
	j.step(t, changeCuckoo("c", addCuckoo(0, 40))) // grows
	j.save(t)
	j.step(t, changeCuckoo("c", addCuckoo(30, 60)))
	j.step(t, changeCuckoo("c", removeCuckoo(20, 35)))
	j.exec(t, together(changeCuckoo("c", removeCuckoo(0, 2)), changeCuckoo("c", addNewCuckoo(0, 80))))
	j.step(t, createCuckoo("large", CuckooConfig{Capacity: 100000}))
	j.step(t, changeCuckoo("large", addCuckoo(0, 200)))
	j.save(t)
	j.step(t, changeCuckoo("large", removeCuckoo(0, 50)))
	j.reopen(t)
	j.step(t, changeCuckoo("c", compactCuckoo))
	j.step(t, changeCuckoo("c", removeCuckoo(30, 60)))
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
