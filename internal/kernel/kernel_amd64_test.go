//go:build !noasm

package kernel

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
}{
	{"AVX2", avx2, hasAVX2, "SEEN_REQUIRE_AVX2"},
	{"AVX512", avx512, hasAVX512, "SEEN_REQUIRE_AVX512"},
}

func init() {
	for _, v := range vectors {
		if !v.available {
			continue
		}
		implementations = append(implementations, tested{
			name: v.name,
			add:  func(l Layout, words []uint64, h uint64) bool { p := l.Prepare(); return p.addBy(v.by, words, h) },
			has:  func(l Layout, words []uint64, h uint64) bool { p := l.Prepare(); return p.hasBy(v.by, words, h) },
			addBatch: func(l Layout, words []uint64, added []bool, hs []uint64) int {
				return l.addBatchBy(v.by, words, added, hs)
			},
			hasBatch: func(l Layout, words []uint64, found []bool, hs []uint64) int {
				return l.hasBatchBy(v.by, words, found, hs)
			},
		})
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
			t.Skipf("this machine lacks %s: its kernels are not tested here", v.name)
		})
	}
}

// TestDispatch switches the implementation and looks at what runs.
func TestDispatch(t *testing.T) {
	for _, c := range []struct {
		hasAVX2, hasAVX512 bool
		want               implementation
	}{{false, false, reference}, {true, false, avx2}, {true, true, avx512}} {
		if got := best(c.hasAVX2, c.hasAVX512); got != c.want {
			t.Errorf("best(%v, %v) = %d, want %d", c.hasAVX2, c.hasAVX512, got, c.want)
		}
	}
	if avx512 != 2 {
		t.Errorf("avx512 is %d, which the generator has to know", avx512)
	}
	if chosen != best(hasAVX2, hasAVX512) {
		t.Errorf("implementation %d was chosen at the start", chosen)
	}
	defer func(was implementation) { chosen = was }(chosen)
	// One word is missing: the reference notices when it comes to the last line,
	// the assembly before it reads anything.
	l := Layout{RegionLines: 4, Lines: 1, Lanes: 8}
	words := make([]uint64, l.Words()-1)
	for _, v := range vectors {
		chosen = reference
		if Direct() || l.HasBatch(words, nil, []uint64{0}) != 0 {
			t.Error("the reference does not run where it is chosen")
		}
		if !v.available {
			continue
		}
		chosen = v.by
		// Every implementation also has to run the direct calls.
		whole := l.Prepare()
		if full := make([]uint64, l.Words()); !Direct() || !whole.AddDirect(full, 7) || !whole.HasDirect(full, 7) || whole.HasDirect(full, 8) {
			t.Errorf("with %s chosen, the direct calls do not work", v.name)
		}
		for name, call := range map[string]func(){
			"Has":      func() { l.Has(words, 0) },
			"Add":      func() { l.Add(words, 0) },
			"HasBatch": func() { l.HasBatch(words, nil, []uint64{0}) },
			"AddBatch": func() { l.AddBatch(words, nil, []uint64{0}) },
		} {
			if !panics(call) {
				t.Errorf("with %s chosen, %s did not run the assembly", v.name, name)
			}
		}
	}
}
