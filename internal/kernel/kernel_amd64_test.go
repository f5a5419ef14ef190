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
	keyBatches["reference"] = batchesBy(reference)
	for _, v := range vectors {
		if !v.available {
			continue
		}
		implementations = append(implementations, tested{
			name: v.name,
			add:  func(l Layout, words []uint64, h uint64) bool { return preparedBy(v.by, l, words).AddHash(h) },
			has:  func(l Layout, words []uint64, h uint64) bool { return preparedBy(v.by, l, words).HasHash(h) },
			addBatch: func(l Layout, words []uint64, added []bool, hs []uint64) int {
				return l.batchBy(v.by, true, words, added, hs)
			},
			hasBatch: func(l Layout, words []uint64, found []bool, hs []uint64) int {
				return l.batchBy(v.by, false, words, found, hs)
			},
		})
		keyBatches[v.name] = batchesBy(v.by)
		guarders[v.name] = func(l Layout, words []uint64, stripes []Slots, perRegion int, taken *uint32) *Guarded {
			g := guarders["dispatched"](l, words, stripes, perRegion, taken)
			g.hashCode, g.keyCode = l.codeBy(v.by), l.codeBy(v.by)
			return g
		}
		searches[v.name] = func(found []bool, lines []*Slots, words []uint64) { searchBy(v.by, found, lines, words) }
		preparers[v.name] = func(l Layout, words []uint64) *Prepared { return preparedBy(v.by, l, words) }
	}
}

// preparedBy prepares an array for an implementation that need not be the chosen one.
func preparedBy(by implementation, l Layout, words []uint64) *Prepared {
	p := prepared(l, words)
	p.hashCode, p.keyCode = l.codeBy(by), l.codeBy(by)
	return p
}

// batchesBy does the operations for many keys by an implementation that need not be
// the chosen one.
func batchesBy(by implementation) keyBatch {
	return keyBatch{
		func(l Layout, words []uint64, added []bool, keys [][]byte) int {
			return keysBy(by, true, l, words, added, keys)
		},
		func(l Layout, words []uint64, found []bool, keys [][]byte) int {
			return keysBy(by, false, l, words, found, keys)
		},
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
	if chosen != best(hasAVX2, hasAVX512) {
		t.Errorf("implementation %d was chosen at the start", chosen)
	}
	defer func(was implementation) { chosen = was }(chosen)
	// One word is missing: the reference notices when it comes to the last line,
	// the assembly before it reads anything.
	l := Layout{RegionLines: 4, Lines: 1, Lanes: 8}
	full := make([]uint64, l.Words())
	short := full[1:]
	for _, v := range vectors {
		chosen = reference
		if p := prepared(l, full); p.hashCode != 0 || l.HasBatch(short, nil, []uint64{0}) != 0 {
			t.Error("the reference does not run where it is chosen")
		}
		if !v.available {
			continue
		}
		chosen = v.by
		if p := prepared(l, full); p.hashCode != l.codeBy(v.by) || p.keyCode != p.hashCode || p.hashCode == 0 {
			t.Errorf("with %s chosen, single calls run code %d", v.name, p.hashCode)
		}
		for name, call := range map[string]func(){
			"HasBatch": func() { l.HasBatch(short, nil, []uint64{0}) },
			"AddBatch": func() { l.AddBatch(short, nil, []uint64{0}) },
			"HasKeys":  func() { l.HasKeys(short, nil, [][]byte{nil}) },
			"AddKeys":  func() { l.AddKeys(short, nil, [][]byte{nil}) },
		} {
			if !panics(call) {
				t.Errorf("with %s chosen, %s did not run the assembly", v.name, name)
			}
		}
	}
}
