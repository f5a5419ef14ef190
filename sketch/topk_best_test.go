package sketch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"seen/bloom"
)

// plainBest is [best] as RedisBloom has it: an array of k places in which the children of
// place i are 2i+1 and 2i+2.
type plainBest []entry

func (p plainBest) down(at int) {
	moved, first := p[at], true
	for {
		child := 2*at + 1
		if child+1 < len(p) && p[child].count > p[child+1].count {
			child++
		}
		if child >= len(p) || first && p[child].count > moved.count || !first && p[child].count >= moved.count {
			break
		}
		p[at], at, first = p[child], child, false
	}
	p[at] = moved
}

func (p plainBest) list() (list []TopKEntry) {
	for _, e := range p {
		if e.kept {
			list = append(list, TopKEntry{[]byte(e.key), e.count})
		}
	}
	slices.SortStableFunc(list, func(a, b TopKEntry) int { return int(b.Count) - int(a.Count) })
	return list
}

// The order of keys with equal counts, and the key that leaves, are those of a plain array,
// also when keys lose counts, as in RedisBloom.
func TestTopKOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 40).Draw(t, "k")
		plain := make(plainBest, k)
		b := best{k: k, place: map[string]int{}}
		least := rapid.Uint32Range(0, 1).Draw(t, "least count")
		for i := range rapid.IntRange(1, 200).Draw(t, "calls") {
			key, count := fmt.Sprint("key", rapid.IntRange(0, 2*k).Draw(t, "key")), rapid.Uint32Range(least, 6).Draw(t, "count")
			if at := slices.IndexFunc(plain, func(e entry) bool { return e.kept && e.key == key }); at >= 0 {
				plain[at].count = count
				plain.down(at)
				b.raise(b.place[key], count)
			} else if count >= plain[0].count {
				want := plain[0].key
				plain[0] = entry{key, count, true}
				plain.down(0)
				if expelled, _ := b.take(key, count); string(expelled) != want {
					t.Fatalf("%q leaves instead of %q", expelled, want)
				}
			}
			if got, want := fmt.Sprint(b.list()), fmt.Sprint(plain.list()); got != want {
				t.Fatalf("after %d calls the list is\n%s\ninstead of\n%s", i+1, got, want)
			}
			if least > 0 && len(b.slots) != b.kept {
				t.Fatalf("%d keys take %d slots", b.kept, len(b.slots))
			}
		}
	})
}

// The example that RedisBloom's own tests have.
func TestTopKTies(t *testing.T) {
	for _, redis := range []bool{false, true} {
		s := newTopK(t, TopKConfig{K: 2, Width: 50, Depth: 5, RedisBloom: redis})
		add := func(words string) (expelled []string) {
			for _, word := range strings.Fields(words) {
				e, _ := s.Add([]byte(word))
				expelled = append(expelled, string(e))
			}
			return expelled
		}
		add("foo bar baz 42 foo bar baz foo baz 42 foo baz foo bar baz foo baz")
		listed := func() (text string) {
			for _, e := range s.List() {
				text += fmt.Sprintf("%s %d ", e.Key, e.Count)
			}
			return text
		}
		if got := listed(); got != "foo 6 baz 6 " {
			t.Error(got)
		}
		if got := add("bar bar bar bar bar"); !slices.Equal(got, []string{"", "", "foo", "", ""}) {
			t.Errorf("%q are expelled", got)
		}
		if got := listed(); got != "bar 8 baz 6 " {
			t.Error(got)
		}
	}
}

// A sketch with the counters of RedisBloom does not depend on a hash that is asked for, and
// is not added to one with others.
func TestCountersOfRedisBloom(t *testing.T) {
	ours := must(NewCountMin32(CountMin32Config{Width: 50, Depth: 3}))
	theirs := must(NewCountMin32(CountMin32Config{Width: 50, Depth: 3, RedisBloom: true, Hash: bloom.Hash{Seed: 4}}))
	for i := range 1000 {
		theirs.Add(fmt.Append(nil, i%100), 1)
	}
	for i := range 100 {
		if n := theirs.Count(fmt.Append(nil, i)); n < 10 {
			t.Fatalf("key %d counts %d", i, n)
		}
	}
	if _, err := ours.Sum([]*CountMin32{theirs}, nil, nil); err == nil || !strings.Contains(err.Error(), "RedisBloom") {
		t.Errorf("%v", err)
	}
	if sum := must(theirs.Sum([]*CountMin32{theirs, theirs}, nil, nil)); sum.Count([]byte("7")) != 2*theirs.Count([]byte("7")) {
		t.Errorf("twice %d is %d", theirs.Count([]byte("7")), sum.Count([]byte("7")))
	}
	if theirs.AddHash(1, 1) != 0 || theirs.CountHash(1) != 0 || theirs.Total() != 1000 {
		t.Error("a hash counts")
	}
	again := must(NewCountMin32(CountMin32Config{Width: 1, Depth: 1}))
	if err := again.UnmarshalBinary(must(theirs.MarshalBinary())); err != nil || !again.Equal(theirs) || !must(again.Clone()).Equal(theirs) {
		t.Errorf("through bytes: %v", err)
	}
}
