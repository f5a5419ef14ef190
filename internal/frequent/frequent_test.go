package frequent

import (
	"encoding/binary"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// truth counts exactly.
var seed = maphash.MakeSeed()

type truth map[string]uint64

func add(c *Counter, t truth, key string) {
	c.Add(maphash.String(seed, key), func() []byte { return []byte(key) })
	t[key]++
}

// Every count is within its bounds, and no key that is missing in the list may be more
// frequent than the last of it, beyond the error.
func check(t interface{ Fatalf(string, ...any) }, c *Counter, is truth, n int) {
	top := c.Top(n)
	if want := min(n, len(is)); c.Error() == 0 && len(top) != want {
		t.Fatalf("%d entries, want %d", len(top), want)
	}
	listed := map[string]bool{}
	last := ^uint64(0)
	for _, e := range top {
		key := string(e.Key)
		if listed[key] || e.Count > is[key] || e.AtMost < is[key] || e.AtMost-e.Count != c.Error() || e.Count > last {
			t.Fatalf("%q was added %d times, listed with %d to %d behind %d", key, is[key], e.Count, e.AtMost, last)
		}
		listed[key], last = true, e.Count
	}
	if len(top) < n {
		last = 0
	}
	for key, count := range is {
		if !listed[key] && count > last+c.Error() {
			t.Fatalf("%q was added %d times and is not listed; the last of %d has %d and the error is %d", key, count, len(top), last, c.Error())
		}
	}
	if keys, known := c.Keys(); known != (c.Error() == 0) || known && keys != uint64(len(is)) {
		t.Fatalf("%d keys (%v), want %d", keys, known, len(is))
	}
}

func TestCounter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1500).Draw(t, "n")
		keys := rapid.IntRange(1, 20_000).Draw(t, "keys")
		skew := rapid.Float64Range(1.01, 3).Draw(t, "skew")
		start := rapid.Uint64().Draw(t, "seed")
		bytes := rapid.SampledFrom([]uint64{LeastBytes, 4 * LeastBytes, 1 << 30}).Draw(t, "bytes")
		rnd := rand.New(rand.NewPCG(start, 0))
		zipf := rand.NewZipf(rnd, skew, 1, uint64(keys))
		c, is := New(n, bytes), truth{}
		var key [8]byte
		for i := range 60_000 {
			v := zipf.Uint64()
			if i%3 == 0 {
				v = rnd.Uint64N(uint64(keys)) // rare ones between
			}
			binary.BigEndian.PutUint64(key[:], v)
			add(c, is, string(key[:]))
		}
		check(t, c, is, n)
	})
}

// The memory has its limit, and the error is about as small as the theory says.
func TestCounterMemory(t *testing.T) {
	c, is := New(10, LeastBytes), truth{}
	const additions = 1 << 20
	var key [8]byte
	for i := range uint64(additions) {
		binary.BigEndian.PutUint64(key[:], i)
		add(c, is, string(key[:]))
		if i%4 == 0 {
			add(c, is, "often")
		}
	}
	if len(c.slots)*slotBytes*2 > LeastBytes || len(c.keys) > 2*c.keep {
		t.Errorf("%d slots, %d keys", len(c.slots), len(c.keys))
	}
	if most := uint64(3 * additions * 5 / 4 / (len(c.slots) * 3 / 8)); c.Error() > most {
		t.Errorf("the error is %d, more than %d", c.Error(), most)
	}
	check(t, c, is, 10)
	if first := c.Top(1); string(first[0].Key) != "often" {
		t.Errorf("the first is %q", first[0].Key)
	}
}

// Keys in the memory of the caller are copied.
func TestCounterCopies(t *testing.T) {
	c := New(1, LeastBytes)
	key := []byte("a")
	c.Add(1, func() []byte { return key })
	key[0] = 'b'
	if top := c.Top(1); !slices.Equal(top[0].Key, []byte("a")) {
		t.Errorf("the key is %q", top[0].Key)
	}
}
