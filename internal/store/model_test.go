package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// universe are the keys that tests add and ask about.
var universe = testKeys("key", 300)

// rare is an error rate at which no test will ever see an error: answers are those
// of a map.
const rare = 1e-10

// model is what a store should hold.
type model map[string]modelValue

// modelValue is what one value should hold.
type modelValue interface {
	clone() modelValue
	// check says in what v differs.
	check(v Value) error
}

func (m model) clone() model {
	c := model{}
	for name, v := range m {
		c[name] = v.clone()
	}
	return c
}

// check says in what a store differs from the model.
func (m model) check(s *Store) error {
	var names []string
	for name := range s.Names() {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := slices.Sorted(maps.Keys(m)); !slices.Equal(names, want) {
		return fmt.Errorf("names %q, want %q", names, want)
	}
	for name, want := range m {
		v := s.Get([]byte(name))
		if v == nil {
			return fmt.Errorf("%q is not found", name)
		}
		if err := want.check(v); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	return nil
}

// modelBloom is a filter that does not forget.
type modelBloom struct {
	keys    map[string]bool
	added   uint64
	united  bool // the number of keys is an estimate
	expires time.Time
}

func newModelBloom() *modelBloom { return &modelBloom{keys: map[string]bool{}} }

func (m *modelBloom) clone() modelValue {
	c := *m
	c.keys = maps.Clone(m.keys)
	return &c
}

// add returns which of the keys are new.
func (m *modelBloom) add(keys [][]byte) []bool {
	added := make([]bool, len(keys))
	for i, k := range keys {
		if added[i] = !m.keys[string(k)]; added[i] {
			m.keys[string(k)] = true
			m.added++
		}
	}
	return added
}

func (m *modelBloom) check(v Value) error {
	f, ok := v.(Filter)
	if !ok {
		return fmt.Errorf("a %T", v)
	}
	if got := f.Info().Added; got != m.added && !m.united {
		return fmt.Errorf("%d keys added, want %d", got, m.added)
	}
	if !v.Expires().Equal(m.expires) {
		return fmt.Errorf("expires %v, want %v", v.Expires(), m.expires)
	}
	found := make([]bool, len(universe))
	f.Has(found, universe)
	for i, k := range universe {
		if found[i] != m.keys[string(k)] {
			return fmt.Errorf("key %q: %v, want %v", k, found[i], m.keys[string(k)])
		}
	}
	return nil
}

// modelWhole is a value of which every answer is known, wrong ones included: what is
// repeated after a crash must come to the very same.
type modelWhole struct {
	seen   string         // what observe returned
	counts map[string]int // of a cuckoo filter: copies that are there
}

func (m *modelWhole) clone() modelValue { return &modelWhole{m.seen, maps.Clone(m.counts)} }

func (m *modelWhole) check(v Value) error {
	if got := observe(v); got != m.seen {
		return fmt.Errorf("a %T answers %s, want %s", v, got, m.seen)
	}
	if c, ok := v.(*Cuckoo); ok {
		total := 0
		for k, want := range m.counts {
			total += want
			if n, _ := c.Count([]byte(k)); n < uint64(want) {
				return fmt.Errorf("key %q is there %d times, want %d", k, n, want)
			}
		}
		if got := c.Info().Added; got != uint64(total) {
			return fmt.Errorf("%d copies, want %d", got, total)
		}
	}
	return nil
}

// observe asks a value everything that it can be asked.
func observe(v Value) string {
	var b strings.Builder
	switch v := v.(type) {
	case *Cuckoo:
		i := v.Info()
		i.Bytes = 0 // with tables that are made ahead
		fmt.Fprintf(&b, "%+v", i)
		for _, k := range universe {
			n, _ := v.Count(k)
			fmt.Fprintf(&b, " %d", n)
		}
	case *CountMin:
		counts := make([]uint32, len(universe))
		v.Count(counts, universe)
		fmt.Fprint(&b, v.Width(), v.Depth(), v.Total(), counts)
	case *Foreign:
		found := make([]bool, len(universe))
		v.Has(found, universe)
		fmt.Fprintf(&b, "%s %+v %v", v.Format(), v.info, found)
	case *TopK:
		counts, found := make([]uint32, len(universe)), make([]bool, len(universe))
		v.Count(counts, universe)
		v.Has(found, universe)
		list, _ := v.List()
		c := v.Config()
		fmt.Fprintf(&b, "{K:%d Width:%d Depth:%d Decay:%v} %v %v %v", c.K, c.Width, c.Depth, c.Decay, counts, found, list)
	}
	return b.String()
}
