package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The atomic functions must do what the plain ones do, for every layout.
func TestAtomicEqualsPlain(t *testing.T) {
	for lines := 1; lines <= 3; lines++ {
		for lanes := 1; lanes <= LineWords; lanes++ {
			r := rand.New(rand.NewPCG(uint64(lines), uint64(lanes)))
			l := Layout{RegionLines: 50, Lines: lines, Lanes: lanes}
			plain := make([]uint64, l.Words())
			atomic := make([]uint64, l.Words())
			for i := range 3000 {
				h := r.Uint64()
				if a, b := l.HasAtomic(plain, h), l.hasRef(plain, h); a != b {
					t.Fatalf("%+v, key %d: HasAtomic says %v, the reference %v", l, i, a, b)
				}
				if a, b := l.AddAtomic(atomic, h), l.addRef(plain, h); a != b {
					t.Fatalf("%+v, key %d: AddAtomic says %v, the reference %v", l, i, a, b)
				}
				if !l.HasAtomic(atomic, h) {
					t.Fatalf("%+v, key %d is not there after AddAtomic", l, i)
				}
			}
			if !slices.Equal(plain, atomic) {
				t.Fatalf("%+v: AddAtomic sets other bits than the reference", l)
			}
		}
	}
}
