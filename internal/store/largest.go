package store

import (
	"cmp"
	"slices"
	"strings"
)

// Named is a value with its name.
type Named struct {
	Name  string
	Value Value
	bytes uint64 // when Largest looked
}

// Largest returns the values that take the most memory, at most n of them and only those
// whose names will do, and how many others there are. It holds no more than 2n at a time.
func (s *Store) Largest(n int, will func(name string) bool) (shown []Named, hidden int) {
	order := func(a, b Named) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), strings.Compare(a.Name, b.Name))
	}
	full := false // n are larger than whatever comes after the last of them in order
	shrink := func() {
		slices.SortFunc(shown, order)
		if len(shown) > n {
			hidden += len(shown) - n
			clear(shown[n:])
			shown = shown[:n]
			full = true
		}
	}
	for name, v := range s.Names() {
		if !will(name) {
			hidden++
			continue
		}
		next := Named{name, v, v.Bytes()}
		if full && order(next, shown[n-1]) > 0 {
			hidden++
			continue
		}
		shown = append(shown, next)
		if len(shown) >= 2*n {
			shrink()
		}
	}
	shrink()
	return shown, hidden
}
