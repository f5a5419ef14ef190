package cli

import (
	"math/rand/v2"
	"testing"
)

func TestVerdicts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 100 {
		b := make([]bool, n+1)
		want := 0
		for i := range b[:n] {
			if b[i] = rng.IntN(2) == 0; b[i] {
				want++
			}
		}
		before := append([]bool(nil), b...)
		if got := trues(b[:n]); got != want {
			t.Errorf("%v: %d true, want %d", b, got, want)
		}
		invert(b[:n])
		for i := range b[:n] {
			if b[i] == before[i] {
				t.Errorf("%v: number %d was not inverted", before, i)
			}
		}
		if b[n] {
			t.Error("what is behind was inverted")
		}
	}
}
