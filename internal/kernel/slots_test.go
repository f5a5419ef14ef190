package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// searches lists every way to search lines that this machine has; files for single
// processors add theirs.
var searches = map[string]func(found []bool, lines []*Slots, words []uint64){
	"reference": searchRef, "chosen": Search,
}

// randomSlots returns a line with n words.
func randomSlots(r *rand.Rand, n int) *Slots {
	s := new(Slots)
	for i := range n {
		// Some differ in one half only.
		s[i] = max(1, r.Uint64()>>(r.IntN(2)*32)<<(r.IntN(2)*32))
	}
	return s
}

func TestSearchEqualsModel(t *testing.T) {
	for name, search := range searches {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 1))
			for range 3000 {
				n := r.IntN(40)
				lines, words, want := make([]*Slots, n+1), make([]uint64, n), make([]bool, n+2)
				for i := range words {
					used := r.IntN(LineWords + 1)
					lines[i] = randomSlots(r, used)
					words[i] = max(1, r.Uint64()>>(r.IntN(2)*32))
					switch {
					case used > 0 && r.IntN(2) == 0:
						words[i] = lines[i][r.IntN(used)]
					case used > 0 && r.IntN(2) == 0: // nearly there
						words[i] = max(1, lines[i][r.IntN(used)]^1<<r.IntN(64))
					}
					want[i] = slices.Contains(lines[i][:], words[i])
				}
				found := make([]bool, n+2)
				found[n], want[n] = true, true // must stay
				if n > 0 {
					search(found, lines, words)
				}
				if !slices.Equal(found, want) {
					t.Fatalf("found %v of %v in %v, want %v", found, words, lines, want)
				}
			}
		})
	}
}

func TestSlots(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for n := range LineWords + 1 {
		s := randomSlots(r, n)
		if s.Used() != n || len(s.Words()) != n || s.Full() != (n == LineWords) {
			t.Errorf("a line with %d words has %d, %v, full %v", n, s.Used(), s.Words(), s.Full())
		}
		for _, w := range s.Words() {
			if !s.Has(w) {
				t.Errorf("%v does not have %d", s, w)
			}
		}
		if s.Has(0xdead_beef_dead_beef) {
			t.Errorf("%v has what it does not have", s)
		}
	}
}

// Search refuses fewer lines or answers than words, and the requests for lines
// change nothing, wherever the line behind one may be.
func TestSearchBounds(t *testing.T) {
	lines, words := []*Slots{new(Slots), new(Slots)}, []uint64{1, 2, 3}
	if !panics(func() { Search(make([]bool, 3), lines, words) }) || !panics(func() { Search(make([]bool, 2), append(lines, lines...), words) }) {
		t.Error("Search accepts fewer lines or answers than words")
	}
	Search(nil, nil, nil)
	for _, f := range []func([]*Slots){Fetch, FetchNext, func(lines []*Slots) { fetchRef(lines) }} {
		f(nil)
		f(lines)
	}
	if *lines[0] != (Slots{}) {
		t.Error("a request for a line changes it")
	}
}
