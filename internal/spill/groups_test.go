package spill

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// occurrences is a model: the positions of each key, in ascending order.
type occurrences map[[2]uint64][]uint64

// fill adds n occurrences of random keys to g and returns the model. Keys share hashes, or
// second hashes, and differ in the other one.
func fill(t *rapid.T, g *Groups, n int) occurrences {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
	keys := rapid.SampledFrom([]int{1, 10, 1000, 100_000}).Draw(t, "keys")
	all := occurrences{}
	var began uint64
	inTable := map[[2]uint64]uint64{}
	kept := map[[2]uint64]uint64{}
	generation := 0
	for position := range uint64(n) {
		k := rng.IntN(keys)
		key := [2]uint64{uint64(k/2) * 0x9e3779b97f4a7c15, uint64(k % 2 * 5)}
		count, before, err := g.Add(key[0], key[1]|1<<40, position)
		if err != nil {
			t.Fatal(err)
		}
		if g.Generation() > generation {
			if generation == 0 {
				began = position
			}
			generation++
			clear(inTable)
			clear(kept)
		}
		inTable[key]++
		if inTable[key] == 1 {
			kept[key] = position
		}
		if count != inTable[key] || before != kept[key] {
			t.Fatalf("Add says %d, %d; want %d, %d", count, before, inTable[key], kept[key])
		}
		if g.config.Last {
			kept[key] = position
		}
		all[key] = append(all[key], position)
	}
	if g.Generation() > 0 && g.Began() != began {
		t.Fatalf("the second generation began at %d, want %d", g.Began(), began)
	}
	return all
}

// Whatever the memory, Merge sees each key with all its occurrences.
func TestGroupsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := GroupsConfig{
			Memory: rapid.SampledFrom([]uint64{1, 4096, 64 << 10, 1 << 20}).Draw(t, "memory"),
			Last:   rapid.Bool().Draw(t, "last"),
			Folder: lazyFolder(t, 0),
		}
		if rapid.IntRange(0, 4).Draw(t, "unlimited") == 0 {
			c.Folder = nil
		}
		g := NewGroups(c)
		defer g.Close()
		all := fill(t, g, rapid.IntRange(0, 20_000).Draw(t, "n"))
		byPosition := map[uint64][]uint64{} // the kept position of a key, to its occurrences
		for _, positions := range all {
			kept := positions[0]
			if c.Last {
				kept = positions[len(positions)-1]
			}
			byPosition[kept] = positions
		}
		var total, again uint64
		n := uint64(0)
		err := g.Merge(Visitor{
			Record: func(before uint64, r Record) error {
				n += r.Count
				if r.Logged || r.Count == 0 {
					return fmt.Errorf("an unexpected record: %v", r)
				}
				return nil
			},
			Key: func(count, position uint64) error {
				want, is := byPosition[position]
				if !is || uint64(len(want)) != count {
					return fmt.Errorf("a key has %d occurrences and position %d; want %d, %v", count, position, len(want), is)
				}
				delete(byPosition, position)
				total += count
				return nil
			},
			Again: func(count uint64, r Record) error { again += r.Count; return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(byPosition) > 0 || total != n || again != n {
			t.Fatalf("%d keys were not visited; occurrences: %d of keys, %d of records, %d again", len(byPosition), total, n, again)
		}
	})
}

// With a log, the n-th occurrence of each key is known at once or at the end.
func TestGroupsLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nth := rapid.Uint64Range(1, 4).Draw(t, "nth")
		g := NewGroups(GroupsConfig{Memory: rapid.SampledFrom([]uint64{1, 64 << 10}).Draw(t, "memory"), Log: nth, Folder: lazyFolder(t, 0)})
		defer g.Close()
		all := fill(t, g, rapid.IntRange(0, 10_000).Draw(t, "n"))
		found := map[uint64]bool{}
		err := g.Merge(Visitor{Record: func(before uint64, r Record) error {
			if r.Logged && before+1 == nth {
				found[r.Position] = true
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		for key, positions := range all {
			if g.Generation() == 0 || uint64(len(positions)) < nth || positions[nth-1] < g.Began() {
				continue
			}
			if !found[positions[nth-1]] {
				t.Fatalf("occurrence %d of %v, at %d, was not found", nth, key, positions[nth-1])
			}
			delete(found, positions[nth-1])
		}
		if len(found) > 0 {
			t.Fatalf("%d occurrences were found that are not number %d", len(found), nth)
		}
	})
}

// The table stays within the memory that it was given, and makes use of it.
func TestGroupsMemory(t *testing.T) {
	const memory = 4 << 20
	g := NewGroups(GroupsConfig{Memory: memory, Folder: lazyFolder(t, 0)})
	defer g.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	var most uint64
	for position := uint64(0); g.Generation() == 0; position++ {
		if _, _, err := g.Add(rng.Uint64(), rng.Uint64(), position); err != nil {
			t.Fatal(err)
		}
		most = max(most, g.Bytes())
	}
	if most > memory || g.Began() < memory/slotBytes*2/5 {
		t.Errorf("%d bytes and %d keys in %d bytes", most, g.Began(), memory)
	}
}

// A count has more than 32 bits.
func TestGroupSlot(t *testing.T) {
	s := groupSlot{low: 7 << 32}
	for _, count := range []uint64{1, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1<<48 - 1} {
		s.set(MaxPosition, count)
		if s.count() != count || s.at() != MaxPosition || s.second() != 7 {
			t.Errorf("%d, %d, %d", s.count(), s.at(), s.second())
		}
	}
}

func TestGroupsErrors(t *testing.T) {
	run := func(room uint64) (uint64, error) {
		f, open := testFolder(t, room)
		g := NewGroups(GroupsConfig{Memory: 4096, Folder: open})
		defer g.Close()
		rng := rand.New(rand.NewPCG(1, 2))
		for position := range uint64(5000) {
			if _, _, err := g.Add(rng.Uint64(), rng.Uint64(), position); err != nil {
				return f.Written(), err
			}
		}
		return f.Written(), g.Merge(Visitor{})
	}
	written, err := run(0)
	if err != nil {
		t.Fatal(err)
	}
	for room := range steps(int64(written), 17) {
		if _, err := run(uint64(room) + 1); !isLimit(err) && room+1 < int64(written) {
			t.Errorf("a limit of %d bytes: %v", room+1, err)
		}
	}
}
