package server

import (
	"fmt"
	"testing"

	"seen/internal/filtertest"
	"seen/internal/resp"
)

// These tests are about weaknesses of RedisBloom that must not be here. Where the
// compatible layout cannot do better, a test shows that it does not; otherwise the measure
// would prove nothing.

// must sends a command that must reply OK.
func (c *client) must(args ...string) {
	c.t.Helper()
	if v := c.do(args...); v.Text != "OK" {
		c.t.Fatalf("%q: %v", args, v)
	}
}

// addMany adds the keys with numbers in [from, to) to a filter.
func (c *client) addMany(name string, from, to int) {
	c.t.Helper()
	const batch = 1000
	for ; from < to; from += batch {
		args := []string{"BF.MADD", name}
		for i := from; i < min(to, from+batch); i++ {
			args = append(args, fmt.Sprintf("key:%d", i))
		}
		if v := c.do(args...); v.Kind != resp.Array || len(v.Elems) != len(args)-2 {
			c.t.Fatalf("BF.MADD of %d keys: %v", len(args)-2, v)
		}
	}
}

// errorsAmong counts the false positives among as many keys that were never added.
func (c *client) errorsAmong(name string, trials int) (wrong int) {
	c.t.Helper()
	const batch = 10_000
	for from := 0; from < trials; from += batch {
		args := []string{"BF.MEXISTS", name}
		for i := from; i < min(trials, from+batch); i++ {
			args = append(args, fmt.Sprintf("never:%d", i))
		}
		wrong += ones(c.do(args...))
	}
	return wrong
}

// ones counts the true members of an array of integers or booleans.
func ones(v resp.Value) (n int) {
	for _, e := range v.Elems {
		n += int(e.Int)
	}
	return n
}

// With a public hash, anybody can compute keys that one added key makes present. With a
// secret, these keys behave like all others.
func TestCollidingKeysDoNotRaiseTheErrorRate(t *testing.T) {
	keys := collidingKeys(12)
	s := start(t)
	c := s.dial(t)
	for _, layout := range []string{"seen", "redisbloom"} {
		c.must("BF.RESERVE", layout, "0.000001", "10000", "LAYOUT", layout)
		c.do("BF.ADD", layout, string(keys[0]))
		args := []string{"BF.MEXISTS", layout}
		for _, key := range keys[1:] {
			args = append(args, string(key))
		}
		present := ones(c.do(args...))
		_, most := filtertest.Limits(len(keys)-1, 1e-6, 0, 2)
		switch {
		case layout == "seen" && present > most:
			t.Errorf("%d of %d colliding keys are present after one of them was added; at most %d may be", present, len(keys)-1, most)
		case layout == "redisbloom" && present != len(keys)-1:
			t.Errorf("only %d of %d keys collide under the public hash, which they were made for", present, len(keys)-1)
		}
	}
}

// Keys with the same buckets and fingerprint fill a cuckoo filter of any size.
func TestCollidingKeysDoNotFillACuckooFilter(t *testing.T) {
	keys := collidingKeys(12)
	s := start(t)
	c := s.dial(t)
	c.must("CF.RESERVE", "cf", "100000", "EXPANSION", "0")
	for i, key := range keys {
		if v := c.do("CF.ADD", "cf", string(key)); v.Int != 1 {
			t.Fatalf("key %d of %d: %v", i, len(keys), v)
		}
	}
	if v := c.do("CF.COUNT", "cf", string(keys[0])); v.Int != 1 {
		t.Errorf("a key that was added once is counted %v times", v)
	}
}

// Keys with the same cells in a sketch are counted together.
func TestCollidingKeysAreNotCountedForEachOther(t *testing.T) {
	keys := collidingKeys(4)
	s := start(t)
	c := s.dial(t)
	c.must("CMS.INITBYPROB", "cms", "0.001", "0.001")
	c.do("CMS.INCRBY", "cms", string(keys[0]), "1000000")
	for _, key := range keys[1:] {
		if v := c.do("CMS.QUERY", "cms", string(key)); v.Elems[0].Int != 0 {
			t.Fatalf("a key that was never counted: %v", v)
		}
	}
}

// Double hashing on a few hundred bits, and rates that do not fall fast enough, give small
// and grown filters many times the requested error rate.
func TestSmallAndGrownFiltersKeepTheirErrorRate(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics")
	}
	s := start(t)
	c := s.dial(t)
	for i, f := range []struct {
		errorRate string
		p         float64
		capacity  string
		growth    []string
		keys      int
		trials    int
		theirs    float64 // at least so much in the other layout
	}{
		{"0.0001", 1e-4, "10", []string{"EXPANSION", "1"}, 1000, 100_000, 0.02},
		{"0.0001", 1e-4, "1", []string{"EXPANSION", "1"}, 100, 100_000, 0.1},
		{"0.000001", 1e-6, "64", []string{"NONSCALING"}, 64, 200_000, 5e-5},
	} {
		for _, layout := range []string{"seen", "redisbloom"} {
			name := fmt.Sprint(layout, i)
			c.must(append([]string{"BF.RESERVE", name, f.errorRate, f.capacity, "LAYOUT", layout}, f.growth...)...)
			c.addMany(name, 0, f.keys)
			wrong := c.errorsAmong(name, f.trials)
			_, most := filtertest.Limits(f.trials, f.p, 0, 6)
			switch {
			case layout == "seen" && wrong > most:
				t.Errorf("%+v: %d of %d keys are wrongly present, at most %d may be", f, wrong, f.trials, most)
			case layout == "redisbloom" && float64(wrong) < f.theirs*float64(f.trials):
				t.Errorf("%+v: only %d of %d keys are wrongly present in the layout that is known for it", f, wrong, f.trials)
			}
		}
	}
}

// In RedisBloom, the default filter needs 46 bits for a key when it has a million, and one
// that grows in equal steps stops for good after 1,061 steps.
func TestGrowth(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	const keys = 200_000
	c.addMany("default", 0, keys)
	size := c.do("BF.INFO", "default", "SIZE").Elems[0].Int
	if bits := 8 * float64(size) / keys; bits > 32 {
		t.Errorf("the default filter takes %.1f bits a key", bits)
	}
	c.must("BF.RESERVE", "steps", "0.0001", "1", "EXPANSION", "1")
	c.addMany("steps", 0, 1200)
	if v := c.do("BF.CARD", "steps"); v.Int < 1190 {
		t.Errorf("BF.CARD after 1200 keys: %v", v)
	}
}

// In RedisBloom, a cuckoo filter with the largest number of parts refuses every key, even
// if the parts are empty.
func TestCuckooFilterUsesAllItsRoom(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	settings := initialFilterDefaults()
	settings.cfMaxExpansions = 2
	s.filters.Store(&settings)
	c.must("CF.RESERVE", "cf", "64")
	added := 0
	var last resp.Value
	for i := range 1000 {
		if last = c.do("CF.ADD", "cf", fmt.Sprint(i)); last.Kind != resp.Error {
			added++
		}
	}
	if added < 115 {
		t.Errorf("two parts of 64 places take %d keys", added)
	}
	if last.Text != "Maximum expansions reached" {
		t.Errorf("a filter that has no room: %v", last)
	}
	c.do("CF.DEL", "cf", "0")
	if v := c.do("CF.ADD", "cf", "0"); v.Int != 1 {
		t.Errorf("a filter that has room again: %v", v)
	}
}

// Commands that change nothing are not logged.
func TestAdditionsThatChangeNothingAreNotLogged(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	c.do("BF.MADD", "bf", "a", "b")
	c.do("CF.ADD", "cf", "a")
	before := s.store.Last()
	c.do("BF.ADD", "bf", "a")
	c.do("BF.MADD", "bf", "a", "b")
	c.do("BF.INSERT", "bf", "ITEMS", "b")
	c.do("CF.ADDNX", "cf", "a")
	c.do("CF.INSERTNX", "cf", "ITEMS", "a")
	if after := s.store.Last(); after != before {
		t.Errorf("adding what is there writes to the log: from %d to %d", before, after)
	}
}

// Impossible filters, and filters that no machine can hold, are refused at once.
func TestAbsurdSizes(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	for _, command := range [][]string{
		{"BF.RESERVE", "k", "1e-300", "1073741824"},
		{"BF.RESERVE", "k", "1e-300", "1073741824", "LAYOUT", "redisbloom"},
		{"CMS.INITBYDIM", "k", "9223372036854775807", "1"},
		{"CMS.INITBYDIM", "k", "1", "9223372036854775807"},
		{"CMS.INITBYPROB", "k", "1e-18", "0.001"},
		{"TOPK.RESERVE", "k", "4294967295", "4294967295", "4294967295", "0.9"},
	} {
		if v := c.do(command...); v.Kind != resp.Error {
			t.Errorf("%q: %v", command, v)
		}
		if s.store.Len() != 0 {
			t.Fatalf("%q has made something", command)
		}
	}
}
