//go:build !noasm

package split

import (
	"os"
	"testing"
)

// vectors lists the implementations in assembly. On a machine that is meant to
// have one, the environment variable makes its absence a failure.
var vectors = []struct {
	name      string
	by        implementation
	available bool
	required  string
	least     int // words that it stores for a chunk, whether they mean anything or not
}{
	{"AVX2", avx2, hasAVX2, "SEEN_REQUIRE_AVX2", 4},
	{"AVX512", avx512, hasAVX512, "SEEN_REQUIRE_AVX512", 16},
}

func init() {
	for _, v := range vectors {
		if v.available {
			f := finders[0]
			f.name = v.name
			f.find = func(ends []uint32, data []byte, from int, delimiter byte) (count, scanned int) {
				return findBy(v.by, ends, data, from, delimiter)
			}
			finders = append(finders, f)
		}
	}
	if hasAVX512 {
		nths["AVX512"] = func(data []byte, delimiter byte, number int) int {
			if len(data) == 0 {
				return 0
			}
			return nthAVX512(&data[0], len(data), delimiter, number)
		}
	}
}

func TestVectorsAvailable(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			if v.available {
				return
			}
			if os.Getenv(v.required) != "" {
				t.Fatalf("this machine lacks %s, which %s says it must have", v.name, v.required)
			}
			t.Skipf("this machine lacks %s: it is not tested here", v.name)
		})
	}
}

// TestDispatch looks at which implementation runs where.
func TestDispatch(t *testing.T) {
	for _, c := range []struct {
		hasAVX2, hasAVX512 bool
		want               implementation
	}{{false, false, reference}, {true, false, avx2}, {true, true, avx512}} {
		if got := best(c.hasAVX2, c.hasAVX512); got != c.want {
			t.Errorf("best(%v, %v) = %d, want %d", c.hasAVX2, c.hasAVX512, got, c.want)
		}
	}
	if chosen != best(hasAVX2, hasAVX512) {
		t.Errorf("implementation %d was chosen at the start", chosen)
	}
	// What they store behind the positions tells the implementations apart.
	defer func(was implementation) { chosen = was }(chosen)
	stored := func(by implementation) (n int) {
		chosen = by
		ends := make([]uint32, chunk)
		for i := range ends {
			ends[i] = 7
		}
		find(ends, make([]byte, chunk), 0, 1)
		for n < len(ends) && ends[n] != 7 {
			n++
		}
		return n
	}
	if n := stored(reference); n != 0 {
		t.Errorf("the reference stores %d words where there is no end", n)
	}
	for _, v := range vectors {
		if !v.available {
			continue
		}
		if n := stored(v.by); n != v.least {
			t.Errorf("with %s chosen, %d words were stored, want %d", v.name, n, v.least)
		}
	}
}
