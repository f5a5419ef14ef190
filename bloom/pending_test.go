package bloom

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"seen/sizing"
)

// TestPendingAsk asks filters of all numbers of lines about batches of which they
// have none, some or all, and holds the answers against those of single questions.
func TestPendingAsk(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for lines := 1; lines <= 3; lines++ {
		for _, lanes := range []int{1, 8} { // nearly every first line has one lane
			p := sizing.Params{Shape: sizing.Blocked, M: uint64(40 * 512 * lines), Lines: lines, Lanes: lanes, K: lines * lanes}
			f, err := New(Config{Params: p})
			if err != nil {
				t.Fatal(err)
			}
			var keys []uint64
			for range 400 {
				keys = append(keys, r.Uint64())
			}
			f.AddHashes(nil, keys)
			for _, present := range []int{0, 1, 3, 5, 10} {
				for _, n := range []int{1, 2, 100, keyBatch} {
					t.Run(fmt.Sprintf("lines=%d/lanes=%d/present=%d/n=%d", lines, lanes, present, n), func(t *testing.T) {
						checkAsk(t, r, f, keys, n, present)
					})
				}
			}
		}
	}
}

// checkAsk asks f about n hashes, of which about so many tenths are in keys.
func checkAsk(t *testing.T, r *rand.Rand, f *Filter, keys []uint64, n, present int) {
	hs, answers := make([]uint64, n), make([]bool, n)
	var left []uint64
	want := make([]bool, n)
	for i := range hs {
		hs[i] = r.Uint64()
		if r.IntN(10) < present {
			hs[i] = keys[r.IntN(len(keys))]
		}
		if want[i] = f.HasHash(hs[i]); !want[i] {
			left = append(left, hs[i])
		}
	}
	p := getPending()
	defer p.release()
	p.start(answers, hs, true)
	p.ask(f)
	if !slices.Equal(p.hs[:p.n], left) {
		t.Errorf("%d hashes are left, want %d", p.n, len(left))
	}
	if p.rest(false); !slices.Equal(answers, want) {
		t.Error("a batch is answered in another way than its hashes")
	}
}
