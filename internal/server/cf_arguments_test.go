package server

import (
	"testing"

	"seen/internal/store"
)

func cuckooOf(capacity uint64, bucketSize, maxIterations, expansion int, layout store.Layout) cuckooOptions {
	return cuckooOptions{CuckooConfig: store.CuckooConfig{
		Capacity: capacity, BucketSize: bucketSize, MaxIterations: maxIterations, Expansion: expansion, MaxFilters: 32, Layout: layout,
	}}
}

func TestParseCuckooReserve(t *testing.T) {
	const (
		arity      = "ERR wrong number of arguments for 'cf.reserve' command"
		outOfRange = "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"
	)
	for _, c := range []struct {
		line    string
		want    cuckooOptions
		problem string
	}{
		{"CF.RESERVE k 1000", cuckooOf(1000, 2, 20, 1, store.DefaultLayout), ""},
		{"CF.RESERVE k 4", cuckooOf(4, 2, 20, 1, store.DefaultLayout), ""},
		{"CF.RESERVE k 1073741824", cuckooOf(1<<30, 2, 20, 1, store.DefaultLayout), ""},
		{"CF.RESERVE k 1000 BUCKETSIZE 8 MAXITERATIONS 50 EXPANSION 4", cuckooOf(1000, 8, 50, 4, store.DefaultLayout), ""},
		{"cf.reserve k 1000 expansion 0 maxiterations 65535 bucketsize 255", cuckooOf(1000, 255, 65535, 0, store.DefaultLayout), ""},
		{"CF.RESERVE k 1000 COLOUR red", cuckooOf(1000, 2, 20, 1, store.DefaultLayout), ""},
		{"CF.RESERVE k 1000 COLOUR red BUCKETSIZE 1", cuckooOf(1000, 1, 20, 1, store.DefaultLayout), ""},
		{"CF.RESERVE BUCKETSIZE 100", cuckooOf(100, 100, 20, 1, store.DefaultLayout), outOfRange},
		{"CF.RESERVE EXPANSION 7", cuckooOf(7, 2, 20, 7, store.DefaultLayout), ""},
		{"CF.RESERVE k 1000 LAYOUT redisbloom", cuckooOf(1000, 2, 20, 1, store.LayoutRedisBloom), ""},
		{"CF.RESERVE LAYOUT 1000 layout seen", cuckooOf(1000, 2, 20, 1, store.LayoutSeen), ""},
		{"CF.RESERVE k 1000 LAYOUT other", cuckooOptions{}, badLayout},
		{"CF.RESERVE k 1000 5 LAYOUT", cuckooOptions{}, badLayout},

		{"CF.RESERVE", cuckooOptions{}, arity},
		{"CF.RESERVE k", cuckooOptions{}, arity},
		{"CF.RESERVE k 1000 BUCKETSIZE", cuckooOptions{}, arity},
		{"CF.RESERVE k x", cuckooOptions{}, "Bad capacity"},
		{"CF.RESERVE k 1.5", cuckooOptions{}, "Bad capacity"},
		{"CF.RESERVE k x BUCKETSIZE y", cuckooOptions{}, "Bad capacity"},
		{"CF.RESERVE k 3", cuckooOptions{}, outOfRange},
		{"CF.RESERVE k 0", cuckooOptions{}, outOfRange},
		{"CF.RESERVE k -1", cuckooOptions{}, outOfRange},
		{"CF.RESERVE k 1073741825", cuckooOptions{}, outOfRange},
		{"CF.RESERVE k 100 BUCKETSIZE 51", cuckooOptions{}, outOfRange},
		{"CF.RESERVE k 3 EXPANSION x", cuckooOptions{}, "Couldn't parse EXPANSION"},
		{"CF.RESERVE k 100 MAXITERATIONS x", cuckooOptions{}, "Couldn't parse MAXITERATIONS"},
		{"CF.RESERVE k 100 BUCKETSIZE x", cuckooOptions{}, "Couldn't parse BUCKETSIZE"},
		{"CF.RESERVE k 100 EXPANSION x BUCKETSIZE x MAXITERATIONS x", cuckooOptions{}, "Couldn't parse MAXITERATIONS"},
		{"CF.RESERVE k 100 EXPANSION x BUCKETSIZE x", cuckooOptions{}, "Couldn't parse BUCKETSIZE"},
		{"CF.RESERVE k 100 MAXITERATIONS 0", cuckooOptions{}, "MAXITERATIONS: value must be in the range [1, 65535]"},
		{"CF.RESERVE k 100 MAXITERATIONS 65536", cuckooOptions{}, "MAXITERATIONS: value must be in the range [1, 65535]"},
		{"CF.RESERVE k 100 MAXITERATIONS 0 BUCKETSIZE x", cuckooOptions{}, "MAXITERATIONS: value must be in the range [1, 65535]"},
		{"CF.RESERVE k 100 BUCKETSIZE 0", cuckooOptions{}, "BUCKETSIZE: value must be in the range [1, 255]"},
		{"CF.RESERVE k 1000 BUCKETSIZE 256", cuckooOptions{}, "BUCKETSIZE: value must be in the range [1, 255]"},
		{"CF.RESERVE k 100 EXPANSION -1", cuckooOptions{}, "EXPANSION: value must be in the range [0, 32768]"},
		{"CF.RESERVE k 100 EXPANSION 32769", cuckooOptions{}, "EXPANSION: value must be in the range [0, 32768]"},
		// An option word at the end of an odd number of words has no value.
		{"CF.RESERVE k 100 5 MAXITERATIONS", cuckooOptions{}, "Couldn't parse MAXITERATIONS"},
		{"CF.RESERVE k 100 5 BUCKETSIZE", cuckooOptions{}, "Couldn't parse BUCKETSIZE"},
		{"CF.RESERVE k 100 5 EXPANSION", cuckooOptions{}, "Couldn't parse EXPANSION"},
	} {
		var o cuckooOptions
		args, problem := takenWords(c.line)
		if problem == "" {
			o, problem = parseCuckooReserve(args, initialFilterDefaults())
		}
		if problem != c.problem {
			t.Errorf("%s: %q; want %q", c.line, problem, c.problem)
		} else if problem == "" && o != c.want {
			t.Errorf("%s: %+v; want %+v", c.line, o, c.want)
		}
	}
}

func TestParseCuckooInsert(t *testing.T) {
	const (
		arity      = "ERR wrong number of arguments for 'cf.insertnx' command"
		outOfRange = "Capacity must be in the range [cf-bucket-size * 2, 1073741824]"
	)
	for _, c := range []struct {
		line     string
		capacity uint64
		noCreate bool
		keysAt   int
		problem  string
	}{
		{"CF.INSERTNX k ITEMS a", 1024, false, 3, ""},
		{"CF.INSERTNX k i a b", 1024, false, 3, ""},
		{"CF.INSERTNX k NOCREATE ITEMS a", 1024, true, 4, ""},
		{"CF.INSERTNX k n i a", 1024, true, 4, ""},
		{"CF.INSERTNX k CAPACITY 4 ITEMS a", 4, false, 5, ""},
		{"CF.INSERTNX k c 5 nocreate items a b c", 5, true, 6, ""},

		{"CF.INSERTNX k ITEMS", 0, false, 0, arity},
		{"CF.INSERTNX k NOCREATE ITEMS", 0, false, 0, arity},
		{"CF.INSERTNX k NOCREATE NOCREATE", 0, false, 0, arity},
		{"CF.INSERTNX k NOCREATE CAPACITY", 0, false, 0, arity},
		{"CF.INSERTNX k a b", 0, false, 0, "Unknown argument received"},
		{"CF.INSERTNX k ERROR 0.1 ITEMS a", 0, false, 0, "Unknown argument received"},
		{"CF.INSERTNX k '' ITEMS a", 0, false, 0, "Unknown argument received"},
		{"CF.INSERTNX k CAPACITY x ITEMS a", 0, false, 0, "Bad capacity"},
		{"CF.INSERTNX k CAPACITY ITEMS a", 0, false, 0, "Bad capacity"},
		{"CF.INSERTNX k CAPACITY 3 ITEMS a", 0, false, 0, outOfRange},
		{"CF.INSERTNX k CAPACITY 1073741825 ITEMS a", 0, false, 0, outOfRange},
	} {
		var o cuckooOptions
		keysAt := 0
		args, problem := takenWords(c.line)
		if problem == "" {
			o, keysAt, problem = parseCuckooInsert(args, initialFilterDefaults())
		}
		if problem != c.problem || keysAt != c.keysAt {
			t.Errorf("%s: keys at %d, %q; want %d, %q", c.line, keysAt, problem, c.keysAt, c.problem)
			continue
		}
		want := cuckooOf(c.capacity, 2, 20, 1, store.DefaultLayout)
		want.noCreate = c.noCreate
		if problem == "" && o != want {
			t.Errorf("%s: %+v; want %+v", c.line, o, want)
		}
	}
}
