package kernel

import (
	"runtime"
	"testing"
)

// panics reports whether f panics as an index out of range does.
func panics(f func()) (yes bool) {
	defer func() {
		if r := recover(); r != nil {
			_, yes = r.(runtime.Error)
		}
	}()
	f()
	return false
}

// TestOutOfBounds gives arrays that are too short for their layout.
func TestOutOfBounds(t *testing.T) {
	for _, impl := range implementations {
		for _, l := range []Layout{
			{RegionLines: 4, Lines: 1, Lanes: 8},
			{RegionLines: 4, Lines: 3, Lanes: 5},
			{RegionLines: 1 << 61, Lines: 1, Lanes: 8},
			{RegionLines: 1<<61 + 3, Lines: 1, Lanes: 8},
			{RegionLines: 1, Lines: 9, Lanes: 8},
			{RegionLines: 0, Lines: 1, Lanes: 8},
			{RegionLines: 4, Lines: 1, Lanes: 9},
		} {
			length := min(l.Words(), 5*LineWords)
			if l.Lanes <= 8 && length > 0 {
				length--
			}
			words := make([]uint64, length)
			for i := range words {
				words[i] = ^uint64(0) // so that Has looks at every line
			}
			hs := []uint64{^uint64(0)}
			for name, call := range map[string]func(){
				"Add":      func() { impl.add(l, words, hs[0]) },
				"Has":      func() { impl.has(l, words, hs[0]) },
				"AddBatch": func() { impl.addBatch(l, words, nil, hs) },
				"HasBatch": func() { impl.hasBatch(l, words, nil, hs) },
			} {
				if !panics(call) {
					t.Errorf("%s: %s of %+v accepts an array of %d words", impl.name, name, l, length)
				}
			}
			if len(words) == 0 {
				continue
			}
			few := make([]bool, 2)
			if !panics(func() { impl.hasBatch(l, words, few, make([]uint64, 3)) }) {
				t.Errorf("%s: HasBatch of three hashes accepts two answers", impl.name)
			}
		}
	}
}
