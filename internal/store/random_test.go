package store

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// TestRandomOperations makes random changes to values of all kinds under few names,
// with checkpoints, orderly ends and crashes at random points, and compares all
// answers with a model after each.
func TestRandomOperations(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		mem := vfs.NewCrashableMem()
		o := Options{FS: mem, CheckpointBytes: 2 << 10} // some by themselves
		s, err := Open("/data", o)
		if err != nil {
			r.Fatal(err)
		}
		defer func() { s.Close() }()
		m := model{}
		name := func(label string) string { return fmt.Sprint(rapid.IntRange(0, 5).Draw(r, label)) }
		// some draws a name that has a value of the wanted kind, "" if there is none.
		some := func(label string, wanted func(v modelValue) bool) string {
			var all []string
			for i := range 6 {
				if v := m[fmt.Sprint(i)]; v != nil && wanted(v) {
					all = append(all, fmt.Sprint(i))
				}
			}
			if len(all) == 0 {
				return ""
			}
			return rapid.SampledFrom(all).Draw(r, label)
		}
		kind := func(k Value) func(v modelValue) bool {
			return func(v modelValue) bool {
				for n, other := range m {
					if other == v {
						return fmt.Sprintf("%T", s.Get([]byte(n))) == fmt.Sprintf("%T", k)
					}
				}
				return false
			}
		}
		anyOf := func(modelValue) bool { return true }
		filter := func(v modelValue) bool { _, ok := v.(*modelBloom); return ok }
		do := func(change func(*Store, model) (LSN, error)) {
			at, err := change(s, m)
			if err == nil {
				err = s.Wait(t.Context(), at)
			}
			if err != nil {
				r.Fatal(err)
			}
		}
		keys := func() (from, to int) {
			from = rapid.IntRange(0, len(universe)-1).Draw(r, "from")
			return from, rapid.IntRange(from, min(from+60, len(universe))).Draw(r, "to")
		}
		on := func(n string, change func(*Store, model) (LSN, error)) {
			if n != "" {
				do(change)
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"": func(r *rapid.T) {
				if err := m.check(s); err != nil {
					r.Fatal(err)
				}
			},
			"create": func(*rapid.T) {
				n := name("name")
				if m[n] != nil {
					return
				}
				do(rapid.SampledFrom([]func(*Store, model) (LSN, error){
					create(n, BloomConfig{ErrorRate: rare, Capacity: 20, Expansion: 2}),
					create(n, BloomConfig{ErrorRate: rare, Capacity: 15000, Expansion: 1}),
					create(n, BloomConfig{ErrorRate: rare, Capacity: 50, Expansion: 3, Layout: LayoutRedisBloom}),
					createCuckoo(n, CuckooConfig{Capacity: 20, Expansion: 2}),
					createCountMin(n, CountMinConfig{Width: 30, Depth: 3}),
					createTopK(n, TopKConfig{K: 7}),
					createCountMin(n, CountMinConfig{Width: 30, Depth: 3, Layout: LayoutRedisBloom}),
					createTopK(n, TopKConfig{K: 7, Layout: LayoutRedisBloom}),
				}).Draw(r, "kind"))
			},
			"add": func(*rapid.T) {
				from, to := keys()
				n := some("filter", filter)
				on(n, add(n, from, to))
			},
			"clear": func(*rapid.T) {
				if n := some("filter", filter); n != "" {
					do(clearAll(n))
				}
			},
			"cuckoo": func(*rapid.T) {
				from, to := keys()
				n := some("cuckoo", kind(&Cuckoo{}))
				on(n, changeCuckoo(n, addNewCuckoo(from, to)))
			},
			"uncuckoo": func(*rapid.T) {
				if n := some("cuckoo", kind(&Cuckoo{})); n != "" {
					do(changeCuckoo(n, func(c *Cuckoo, counts map[string]int) (LSN, error) {
						for _, k := range universe {
							if counts[string(k)] > 0 && rapid.Bool().Draw(r, "remove") {
								if ok, _, err := c.Remove(k); !ok || err != nil {
									return 0, fmt.Errorf("%q: %v, %w", k, ok, err)
								}
								counts[string(k)]--
							}
						}
						return c.LSN(), nil
					}))
				}
			},
			"count": func(*rapid.T) {
				from, to := keys()
				n := some("count-min", kind(&CountMin{}))
				on(n, count(n, from, to))
			},
			"rank": func(*rapid.T) {
				from, to := keys()
				n := some("top-k", kind(&TopK{}))
				on(n, rank(n, from, to))
			},
			"remove": func(*rapid.T) {
				n := some("name", anyOf)
				on(n, remove(n))
			},
			"rename": func(*rapid.T) {
				n, to := some("name", anyOf), name("to")
				if n != to {
					on(n, rename(n, to))
				}
			},
			"checkpoint": func(r *rapid.T) {
				if err := s.Checkpoint(t.Context()); err != nil {
					r.Fatal(err)
				}
			},
			"reopen": func(r *rapid.T) {
				if rapid.Bool().Draw(r, "crash") {
					mem = mem.CrashClone(vfs.CrashCloneCfg{})
				}
				if err := s.Close(); err != nil {
					r.Fatal(err)
				}
				o.FS = mem
				if s, err = Open("/data", o); err != nil {
					r.Fatal(err)
				}
			},
		})
	})
}
